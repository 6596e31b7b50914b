/* SPDX-License-Identifier: MIT */
#include "symbol/lookup/symbols.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/dwarf/abbrev.h"
#include "symbol/elf/symtab.h"
#include "tap.h"

static const struct {
	uint64_t start, size, section_end; /* size 0: unsized */
	const char *name;
	enum symbol_rank rank;
} table[] = {
	/* aliases */
	{ 0x100, 0x20, 0, "puts", SYMBOL_WEAK },
	{ 0x100, 0x20, 0, "_IO_puts", SYMBOL_GLOBAL },
	{ 0x100, 0x20, 0, "aaa", SYMBOL_LOCAL },
	{ 0x200, 0x20, 0, "__libc_malloc", SYMBOL_GLOBAL },
	{ 0x200, 0x20, 0, "malloc", SYMBOL_GLOBAL },
	{ 0x200, 0x20, 0, "__malloc", SYMBOL_GLOBAL },
	{ 0x300, 0x20, 0, "second", SYMBOL_GLOBAL },
	{ 0x300, 0x20, 0, "first", SYMBOL_GLOBAL },
	{ 0x300, 0x20, 0, "thing", SYMBOL_GLOBAL },
	/* a label without size loses to a function with one */
	{ 0x400, 0, 0x500, "label", SYMBOL_GLOBAL },
	{ 0x400, 0x20, 0, "function", SYMBOL_LOCAL },
	/* labels hold up to the next symbol, or the end of their section */
	{ 0x600, 0, 0x700, "loop", SYMBOL_UNTYPED },
	{ 0x640, 0x10, 0, "between", SYMBOL_LOCAL },
	{ 0x680, 0, 0x700, "tail", SYMBOL_UNTYPED },
	/* one function within another */
	{ 0x800, 0x100, 0, "outer", SYMBOL_GLOBAL },
	{ 0x840, 0x10, 0, "inner", SYMBOL_LOCAL },
};

static const struct {
	uint64_t address;
	const char *name; /* NULL: none */
} rows[] = {
	{ 0xff, NULL },      { 0x100, "_IO_puts" }, { 0x11f, "_IO_puts" }, { 0x120, NULL },
	{ 0x210, "malloc" }, { 0x300, "first" },    { 0x400, "function" }, { 0x420, NULL },
	{ 0x600, "loop" },   { 0x63f, "loop" },     { 0x640, "between" },  { 0x650, NULL },
	{ 0x680, "tail" },   { 0x6ff, "tail" },     { 0x700, NULL },       { 0x83f, "outer" },
	{ 0x840, "inner" },  { 0x850, "outer" },    { 0x8ff, "outer" },    { 0x900, NULL },
};

static void check_all(bool is_backwards)
{
	uint64_t wanted[ARRAY_LEN(rows)];
	struct symbol got[ARRAY_LEN(rows)];
	struct symbols symbols;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		wanted[i] = rows[i].address;
	if (!CHECK_INT(symbols_init(&symbols, wanted, ARRAY_LEN(rows)), 0))
		return;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		size_t at = is_backwards ? ARRAY_LEN(table) - 1 - i : i;
		struct symbol s = {
			.start = table[at].start,
			.end = table[at].size ? table[at].start + table[at].size
					      : table[at].section_end,
			.name = table[at].name,
			.rank = table[at].rank,
			.is_sized = table[at].size != 0,
		};

		symbols_offer(&symbols, &s);
	}
	if (CHECK_INT(symbols_resolve(&symbols, got), 0))
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			CHECK_STR(got[i].name, rows[i].name);
	symbols_fini(&symbols);
}

static void test_in_order(void)
{
	check_all(false);
}

static void test_backwards(void)
{
	check_all(true);
}

static void test_versions(void)
{
	static const struct {
		const char *name;
		size_t len;
	} names[] = {
		{ "read", 4 },
		{ "read@@GLIBC_2.2.5", 4 },
		{ "read@GLIBC_2.2.5", 4 },
		{ "read@plt", 8 },
		{ "@odd", 4 },
		{ "", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		CHECK_INT(symbol_name_length(names[i].name), names[i].len);
}

/* Two pages, of which the second cannot be read. NULL: no memory. */
static char *map_guarded(size_t *ret_page)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + 2 * page, page, PROT_NONE) < 0)
		return NULL;
	*ret_page = 2 * page;
	return at;
}

/* Of names without an end only a bounded part is compared, so that time is linear in symbols. */
static void test_long_names(void)
{
	const uint64_t wanted = 0x1000;
	struct symbols symbols;
	struct symbol got;
	size_t size;
	char *text = map_guarded(&size);

	if (!CHECK(text != NULL) || !CHECK_INT(symbols_init(&symbols, &wanted, 1), 0))
		return;
	memset(text, '_', size);
	for (size_t i = 0; i < 100; i++)
		symbols_offer(&symbols, &(struct symbol){ .start = 0x1000,
							  .end = 0x1010,
							  .name = text + i,
							  .is_sized = true });
	CHECK_INT(symbols_resolve(&symbols, &got), 0);
	CHECK(got.name == text || got.name == text + 99);
	symbols_fini(&symbols);
	munmap(text, size + size / 2);
}

/* Units that share a table of shapes cannot make us read it over and over. */
static void test_budget_of_shapes(void)
{
	size_t size, used = 0;
	char *text = map_guarded(&size);
	struct dwarf d = { .is_loaded = { [DWARF_ABBREV] = true }, .budget = 1000 };
	struct cursor c;
	unsigned tag;

	if (!CHECK(text != NULL))
		return;
	for (; used + 5 <= size; used += 5)
		memcpy(text + used, "\x01\x11\x00\x00", 5); /* code 1 without attributes */
	d.sections[DWARF_ABBREV].data = (void *)text;
	d.sections[DWARF_ABBREV].len = size + size / 2;
	for (int i = 0; i < 100; i++)
		CHECK(!abbrev_seek(&d, 0, 2, &tag, &c));
	CHECK_INT(d.budget, 0);
	munmap(text, size + size / 2);
}

int main(void)
{
	TAP_CASE(test_in_order);
	TAP_CASE(test_backwards);
	TAP_CASE(test_versions);
	TAP_CASE(test_long_names);
	TAP_CASE(test_budget_of_shapes);
	return tap_done();
}
