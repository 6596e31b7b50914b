/* SPDX-License-Identifier: MIT */
#include "view/shorten.h"

#include "base/buf.h"
#include "base/macros.h"
#include "tap.h"

static void check_name(const char *name, size_t columns, const char *want)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	bool has_fitted = shorten_name(&out, name, strlen(name), columns, "..");

	buf_put_byte(&out, 0);
	CHECK_STR(out.data, want ? want : "");
	CHECK(has_fitted == (want != NULL));
}

static void test_without_arguments(void)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "void std::sort<int*>(int*, int*)", "std::sort.." },
		{ "std::_Tree<int, std::less<int> >::find(int const&) const",
		  "std::_Tree::find.." },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f.." },
		{ "main::{lambda(int)#1}::operator()(int) const",
		  "main::{lambda(int)#1}::operator().." },
		{ "f(int)::{lambda()#1}::operator()<int>() const",
		  "f::{lambda()#1}::operator().." },
		{ "std::ostream& std::operator<< <char>(std::ostream&, char)",
		  "std::operator<<.." },
		{ "bool operator< <int>(int)", "operator<.." },
		{ "A::operator->() const", "A::operator->.." },
		{ "operator new[](unsigned long)", "operator new[].." },
		{ "B::operator unsigned long() const", "B::operator unsigned long.." },
		{ "my_operator(int)", "my_operator.." },
		{ "decltype (f(1)) g<int>(int)", "g.." },
		{ "std::to_string[abi:cxx11](int)", "std::to_string[abi:cxx11].." },
		{ "void f(int) [clone .cold]", "f.." },
		{ "main.(*T).run(x)", "main.(*T).run.." },
		{ "core::ptr::drop_in_place<[u8]>", "core::ptr::drop_in_place.." },
		{ "<T as core::Trait<U>>::method::<V>(T)", "<T as core::Trait<U>>::method::<V>.." },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_name(rows[i].name, strlen(rows[i].want), rows[i].want);
}

/* As many scopes as there is room for, and of the last name its start. */
static void test_scopes(void)
{
	static const char *const name = "void a::bc<int>::def(int)";

	check_name(name, 14, "a::bc::def..");
	check_name(name, 12, "a::bc::def..");
	check_name(name, 11, "bc::def..");
	check_name(name, 8, "def..");
	check_name(name, 4, "de..");
	check_name(name, 2, "..");
	check_name("a::bc::def", 9, "bc::def");
	check_name("a::bc::define", 4, "de..");
	check_name("(anonymous namespace)::f(int)", 10, "f(int)");
	check_name("<T as A::B>::method", 12, "method");
	check_name("a::def\xc3\xa9", 4, "def\xc3\xa9");
}

/* What there is room for. */
static void test_room(void)
{
	static const char *const name = "void a::sort<int>(int, char)";

	check_name(name, 27, "a::sort<int>(int, char)");
	check_name(name, 23, "a::sort<int>(int, char)");
	check_name(name, 22, "a::sort<int>(int, ch..");
	check_name(name, 9, "a::sort..");
	check_name(name, 8, "sort<i..");
}

/* Paths, broken names, and what has no parts. */
static void test_others(void)
{
	static const char *const names[] = {
		"",
		"main",
		"My Documents",
		"a (1).txt",
		"[libc.so.6+0x1234]",
		"f(int",
		"f<int",
		"a > b",

		"vtable for X",
		"a::",
		"::",
		"<module>",
		"operator",
		"operator new",
		"f)(int",
		"x <a (b> c) d",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		check_name(names[i], 3, NULL);
}

int main(void)
{
	TAP_CASE(test_without_arguments);
	TAP_CASE(test_scopes);
	TAP_CASE(test_room);
	TAP_CASE(test_others);
	return tap_done();
}
