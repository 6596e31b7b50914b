/* SPDX-License-Identifier: MIT */
/* What c++filt (binutils 2.40) makes of the same names, but where a comment says why not. */
#include "symbol/demangle/demangle.h"

#include <stdlib.h>

#include "tap.h"

struct row {
	const char *name;
	const char *want; /* NULL: not mangled */
};

static void check(const struct row *rows, size_t count)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < count; i++) {
		bool is_mangled;

		buf_clear(&out);
		buf_put_str(&out, "<");
		is_mangled = demangle(rows[i].name, &out);
		CHECK_INT(is_mangled, rows[i].want != NULL);
		CHECK_STR(out.data + 1, rows[i].want ? rows[i].want : "");
	}
	buf_fini(&out);
}

static void test_cxx_names(void)
{
	static const struct row rows[] = {
		{ "_Z1fv", "f()" },
		{ "_ZL1fi", "f(int)" },
		{ "_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()" },
		{ "_ZNK3FooIiE3barIdEEvT_", "void Foo<int>::bar<double>(double) const" },
		{ "_ZNKR1A1fEv", "A::f() const &" },
		{ "_ZN1AC2IiEET_", "A::A<int>(int)" },
		{ "_ZN1AD0Ev", "A::~A()" },
		{ "_ZNSt6vectorIiSaIiEED1Ev", "std::vector<int, std::allocator<int> >::~vector()" },
		{ "_ZN1A1fB5cxx11Ev", "A::f[abi:cxx11]()" },
		{ "_ZDC1a1bE", "[a, b]" },
		{ "_ZZ3fooIiEvT_E1x", "foo<int>(int)::x" },
		{ "_ZZN1A1fEvEs", "A::f()::string literal" },
		{ "_ZZ1fvEN1B1gEv", "f()::B::g()" },
		{ "_ZZ3fooIiEvT_ENKUlvE_clEv", "foo<int>(int)::{lambda()#1}::operator()() const" },
		{ "_ZZ1fiEd_NKUlvE_clEv",
		  "f(int)::{default arg#1}::{lambda()#1}::operator()() const" },
		{ "_ZZ4mainENKUlT_E_clIiEEDaS_",
		  "auto main::{lambda(auto:1)#1}::operator()<int>(int) const" },
		{ "_ZN1AUt_C1Ev", "A::{unnamed type#1}::{unnamed type#1}()" }, /* its own name */
		{ "_ZNSsC1Ev", "std::basic_string<char, std::char_traits<char>, "
			       "std::allocator<char> >::basic_string()" },
		{ "_Z1fSsSo", "f(std::string, std::ostream)" },
	};

	check(rows, ARRAY_LEN(rows));
}

static void test_cxx_operators(void)
{
	static const struct row rows[] = {
		{ "_ZN1AaSEOS_", "A::operator=(A&&)" },
		{ "_ZN1AltIiEEbT_", "bool A::operator< <int>(int)" },
		{ "_ZN1AcvPKcEv", "A::operator char const*()" },
		{ "_ZN3FoocvT_IiEEv", "Foo::operator int<int>()" },
		{ "_ZN1AcvRSaIiEEv", "A::operator std::allocator<int>&()" },
		{ "_ZN1XIfEcvT_IiEEv", "X<float>::operator int<int>()" },
		{ "_ZN1XIfEcvT_Ev", "X<float>::operator float()" },
		{ "_Zli2_sPKcm", "operator\"\" _s(char const*, unsigned long)" },
		{ "_Znwm", "operator new(unsigned long)" },
		{ "_ZdaPv", "operator delete[](void*)" },
		{ "_ZN1AclEv", "A::operator()()" },
		{ "_ZN1AssERKS_", "A::operator<=>(A const&)" },
	};

	check(rows, ARRAY_LEN(rows));
}

static void test_cxx_types(void)
{
	static const struct row rows[] = {
		{ "_Z1fRA5_Ki", "f(int const (&) [5])" },
		{ "_Z1fPA3_A2_i", "f(int (*) [3][2])" },
		{ "_Z1fPFviE", "f(void (*)(int))" },
		{ "_Z1fPFPFvcEiE", "f(void (*(*)(int))(char))" },
		{ "_Z3fooIiEPFvT_ES0_", "void (*foo<int>(int))(int)" },
		{ "_ZNK1A1fIiEEPA5_KiT_", "int const (*A::f<int>(int) const) [5]" },
		{ "_ZNR1A1fIiEERFviEv", "void (&A::f<int>() &)(int)" },
		{ "_Z1fM1AKFviE", "f(void (A::*)(int) const)" },
		{ "_Z1fM1Ai", "f(int A::*)" },
		{ "_Z1fPDoFvvE", "f(void (*)() noexcept)" },
		{ "_Z1fPVKvrPc", "f(void const volatile*, char* restrict)" },
		{ "_ZNK1av13fooEi", "a::operator foo(int) const" },
		{ "_Z1fDv4_f", "f(float __vector(4))" },
		{ "_Z1fDF16_", "f(_Float16)" },
		{ "_Z1fu6__bf16", "f(__bf16)" },
		{ "_Z1fPU3AS1i", "f(int AS1*)" },
		{ "_Z1fCd", "f(double _Complex)" },
		{ "_Z1fIRiEvOT_", "void f<int&>(int&)" },
		{ "_Z1fIOiEvRT_", "void f<int&&>(int&)" },
		{ "_Z1fIKiEvRKT_", "void f<int const>(int const&)" },
		{ "_Z1fiz", "f(int, ...)" },
		{ "_ZNSt8functionIFviEEC1Ev", "std::function<void (int)>::function()" },
		{ "_Z1fPFP1AS0_ES2_", "f(A* (*)(A*), A* (*)(A*))" },
	};

	check(rows, ARRAY_LEN(rows));
}

static void test_cxx_arguments(void)
{
	static const struct row rows[] = {
		{ "_Z1fIJiidEEvDpT_", "void f<int, int, double>(int, int, double)" },
		{ "_Z1gIJEiEvDpT_T0_", "void g<int>(int)" }, /* no lonely commas */
		{ "_Z1fIJiiEEvR1AIXsZT_EE", "void f<int, int>(A<2>&)" },
		{ "_Z1fILb1ELi5ELj5ELl5ELm5ELc97ELin3EEvv",
		  "void f<true, 5, 5u, 5l, 5ul, (char)97, -3>()" },
		{ "_Z1fIL1E1EEvv", "void f<(E)1>()" },
		{ "_Z1fILDn0EEvv", "void f<nullptr>()" }, /* as it is written */
		{ "_ZN1AIXadL_ZN1B1fEvEEE1gEv", "A<&B::f>::g()" },
		{ "_ZN1AIXadL_Z1fvEEE1gEv", "A<&f>::g()" }, /* the same for all functions */
		{ "_Z1fIiEDTplfp_fp_ET_", "decltype ({parm#1}+{parm#1}) f<int>(int)" },
		{ "_Z1fIiEDTcmcvv_Ecl1gfp_EET_",
		  "decltype (((void)()),(g({parm#1}))) f<int>(int)" },
		{ "_Z1fIiEDTcvSaIT_Efp_ES1_",
		  "decltype ((std::allocator<int>){parm#1}) f<int>(std::allocator<int>)" },
		{ "_Z1fIXgtLi1ELi2EEEvv", "void f<((1)>(2))>()" },
		{ "_Z1fIXquLb1ELi1ELi2EEEvv", "void f<(true)?(1) : (2)>()" },
		{ "_Z1fIiEvNSt9enable_ifIXsr7is_sameIT_iE5valueEvE4typeE",
		  "void f<int>(std::enable_if<is_same<int, int>::value, void>::type)" },
		{ "_ZN4llvm10checkedAddIiEENSt9enable_ifIXsr3std9is_signedIT_EE5valueENS_8OptionalI"
		  "S2_EEE4typeES2_S2_",
		  "std::enable_if<std::is_signed<int>::value, llvm::Optional<int> >::type "
		  "llvm::checkedAdd<int>(int, int)" },
		{ "_ZN1AIXclsr3std9is_signedIiEE5valuefp_EEE1fEv",
		  "A<std::is_signed<int>::value({parm#1})>::f()" },
		{ "_ZN1AIXsr3std9is_signedIiEE5valueEEC1Ev", "A<std::is_signed<int>::value>::A()" },
	};

	check(rows, ARRAY_LEN(rows));
}

static void test_cxx_made(void)
{
	static const struct row rows[] = {
		{ "_ZTV3Foo", "vtable for Foo" },
		{ "_ZTCN1A1BE0_1C", "construction vtable for C-in-A::B" },
		{ "_ZGVZ4mainE1x", "guard variable for main::x" },
		{ "_ZThn8_N1A1fEv", "non-virtual thunk to A::f()" },
		{ "_ZTv0_n24_N1A1fEv", "virtual thunk to A::f()" },
		{ "_ZTchn8_h8_N1A1fEv", "covariant return thunk to A::f()" },
		{ "_Z1fv.cold", "f() [clone .cold]" },
		{ "_Z1fv.constprop.0.cold", "f() [clone .constprop.0] [clone .cold]" },
	};

	check(rows, ARRAY_LEN(rows));
}

static void test_rust(void)
{
	static const struct row rows[] = {
		{ "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place" },
		{ "_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h012"
		  "3456789abcdefE",
		  "<alloc::vec::Vec<T> as core::clone::Clone>::clone" },
		{ "_ZN3foo3bar17h0123456789abcdefE.llvm.1234567", "foo::bar" },
		{ "_ZN3foo3bar17h0123456789abcdefE.cold", "foo::bar.cold" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}" },
		{ "_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_E"
		  "Cs1iopQbuBiw2_3std",
		  "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>" },
		{ "_RNvMC0TRu3fooE3bar", NULL }, /* a crate needs a name that can be read */
		{ "_RINvC1c1fKb1_Kc27_Kl0_Kan5_E", "c::f::<true, '\\'', 0, -5>" },
		{ "_RINvC1c1fFUKCEuE", "c::f::<unsafe extern \"C\" fn()>" },
		{ "_RINvC1c1fFG_RL0_hEuE", "c::f::<for<'a> fn(&'a u8)>" },
		{ "_RINvC1c1fTAbj3_QeSmEE", "c::f::<([bool; 3], &mut str, [u32])>" },
		{ "_RNvC1cu8grne_6qa", "c::gr\xc3\xb6ne" },
		{ "_RNvB_1f", NULL },
	};

	check(rows, ARRAY_LEN(rows));
}

static void test_others(void)
{
	static const struct row rows[] = {
		{ "", NULL },
		{ "main", NULL },
		{ "_start", NULL },
		{ "_Z", NULL },
		{ "_Z1", NULL },
		{ "_Z5ab", NULL },
		{ "_ZN", NULL },
		{ "_ZN1A", NULL },
		{ "_Z1fv@plt", NULL },
		{ "_Z1fS5_", NULL },
		{ "_Z1fT_", NULL },
		{ "_R", NULL },
		{ "_Z99999999999999999999f", NULL },
	};

	check(rows, ARRAY_LEN(rows));
}

/* More than 1,024 characters are common in template libraries. */
static void test_long(void)
{
	struct buf name = { 0 }, out = { 0 };

	buf_put_str(&name, "_Z1f");
	for (int i = 0; i < 1000; i++)
		buf_put_str(&name, "5abcde");
	CHECK(demangle(name.data, &out));
	CHECK_INT(out.len, 1000 * 7 + 1); /* "f(abcde, abcde, ...)" */
	buf_fini(&name);
	buf_fini(&out);
}

/* Each further argument doubles what the name stands for. */
static void test_grows(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct buf name = { 0 }, out = { 0 };

	buf_put_str(&name, "_Z1fI1AE1BIS_S_E");
	for (int i = 1; i < 30; i++)
		buf_printf(&name, "1CIS%c_S%c_E", digits[i], digits[i]);
	demangle(name.data, &out);
	CHECK(out.len <= DEMANGLE_MAX);
	buf_fini(&name);
	buf_fini(&out);
}

/* What contains itself, over and over. */
static void test_deep(void)
{
	static const struct {
		const char *begin, *again, *end;
	} rows[] = {
		{ "_Z1f", "P", "i" },   { "_Z1fI", "Xng", "Li1EEEvv" }, { "_Z", "Z", "1f" },
		{ "_Z1f", "1AI", "E" }, { "_RINvC1c1f", "T", "hE" },    { "_R", "NvM", "C1c" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf name = { 0 }, out = { 0 };

		buf_put_str(&name, rows[i].begin);
		for (int n = 0; n < 20000; n++)
			buf_put_str(&name, rows[i].again);
		buf_put_str(&name, rows[i].end);
		CHECK(!demangle(name.data, &out));
		CHECK_INT(out.len, 0);
		buf_fini(&name);
		buf_fini(&out);
	}
}

int main(void)
{
	TAP_CASE(test_cxx_names);
	TAP_CASE(test_cxx_operators);
	TAP_CASE(test_cxx_types);
	TAP_CASE(test_cxx_arguments);
	TAP_CASE(test_cxx_made);
	TAP_CASE(test_rust);
	TAP_CASE(test_others);
	TAP_CASE(test_long);
	TAP_CASE(test_grows);
	TAP_CASE(test_deep);
	return tap_done();
}
