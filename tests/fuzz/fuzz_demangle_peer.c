/* SPDX-License-Identifier: MIT */
/*
 * A mangled name, C++ or Rust, which the input chooses byte by byte from a grammar: where GNU's
 * demanglers understand it too, they say the same. Bytes of any kind would be no name that a
 * compiler makes; theirs accept many of those.
 *
 * Not in the grammar is what is said differently on purpose: a function as an argument ("&f", not
 * "&(f())"), nullptr (not "(decltype(nullptr))0"), the constructor of a type without a name (its
 * own, not of what it is in), Rust's quote (with its backslash), and what a compiler put behind an
 * old name of Rust (".cold", which theirs drop).
 */
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "fuzz.h"
#include "symbol/demangle/demangle.h"

/* Of libiberty, inside of binutils' libbfd; what it returns is the caller's. As c++filt calls it,
 * but for DMGL_VERBOSE, which shows the hashes of Rust. Source: binutils 2.40, demangle.h. */
char *cplus_demangle(const char *mangled, int options);

enum { DMGL_PARAMS = 1, DMGL_ANSI = 2, DMGL_AUTO = 1 << 8 };

#define NAME_MAX_BYTES 400 /* a longer name is cut, and not looked at */

/* What a letter behind '%' stands for: one of these, the first when the input is over. Source:
 * Itanium C++ ABI, 5.1; RFC 2603 of Rust. */
static const struct {
	char letter;
	const char *choices[32];
} grammar[] = {
	/* a name */
	{ 'Z', { "_Z%E", "_Z%E", "_Z%E", "_R%p", "_RNv%p%c", "_RINv%p%c%gE" } },
	/* C++: an encoding, what it is made for, a name with its scopes, the scopes */
	{ 'E',
	  { "%i%P", "N%q%S%iE%P", "N%q%S%iI%AEE%R%P", "%iI%AE%R%P", "N%S%kE%P", "N%q%S%oE%P",
	    "Z%EE%i", "Z%EENKUl%sE_clE%P", "TV%C", "TI%C", "TS%C", "GV%N", "Thn8_%E", "%N",
	    "St%i%P", "N%S%iI%AEC2E%P", "L%i%P", "%o%P", "N%S%iB3abiE%P" } },
	{ 'N', { "%i", "N%S%iE", "St%i", "Z%EE%i", "Z%EE%i_0" } },
	{ 'S', { "%i", "%i%S", "St%i", "%iI%AE", "12_GLOBAL__N_1%i", "Sa%i", "%i%iI%AE" } },
	{ 's', { "v", "i", "RKSs", "T_", "iPKc" } },
	{ 'i', { "1a", "3foo", "6vector", "1_", "5abcde" } },
	{ 'k', { "C1", "C2", "D0", "D1", "D2" } },
	{ 'q', { "", "K", "V", "R", "KO", "VK" } },
	{ 'o',
	  { "pl", "aS", "ix", "cl", "eq", "lt", "ls", "cv%T", "nw", "da", "ss", "li2_s", "pp",
	    "pt" } },
	/* parameters, types, classes, arguments of templates, expressions */
	{ 'P', { "v", "%T", "%T%T", "%T%T%T", "%Tz" } },
	{ 'T',
	  { "%U", "i", "R%U", "RK%B", "O%U", "P%U", "PK%B", "RA5_i", "PA5_K%C", "RFv%PE", "T_",
	    "DpT_", "S%d" } },
	{ 'U', { "%B", "K%B", "V%B" } },
	{ 'B', { "i",   "c",     "b",     "x",       "m",         "f",          "d",  "%C",
		 "P%U", "PK%B",  "M%C%B", "PF%R%PE", "M%CF%R%PE", "M%CKF%R%PE", "T_", "T0_",
		 "Ss",  "DT%XE", "DF16_", "Dv4_f",   "Cd",        "So" } },
	{ 'R', { "v", "i", "%C", "R%U", "P%U" } },
	{ 'C', { "%i", "N%S%iE", "%iI%AE", "N%S%iI%AEE", "St%i", "Ss", "SaI%TE", "NSt%i%iE" } },
	{ 'A', { "%T", "%T%A", "%L", "%L%A", "J%jE", "JE", "X%XE", "%T%T" } },
	{ 'j', { "%T", "%T%T", "%L%L", "%T%T%T" } },
	{ 'L', { "Lb1E", "Li5E", "Lj5E", "Lin3E", "Lm7E", "Lc97E", "L3foo3E", "Lb0E", "Lx9E" } },
	{ 'X',
	  { "fp_", "pl%X%X", "ng%X", "sr3std9is_signedIiEE5value", "st%C", "fp0_", "%L", "cl%X%XE",
	    "dt%X%i", "qu%X%X%X", "cv%C%X", "ix%X%X", "pt%X%i", "gt%X%X" } },
	{ 'd', { "_", "0_", "1_", "2_", "3_", "t3foo" } },
	/* Rust: a path, an identifier, arguments, a type */
	{ 'p',
	  { "C%c", "Nv%p%c", "Nt%p%c", "NC%p0", "I%p%gE", "MC%c%t", "XC%c%t%p", "Y%t%p", "B%b",
	    "NC%ps_0" } },
	{ 'c', { "1a", "3foo", "s_3bar", "s0_1x", "u8grne_6qa", "3_12", "9_123abcde" } },
	{ 'g', { "%t", "%t%g", "L_", "Kj3_", "Kb1_", "Kan5_", "Kp", "Kha_", "" } },
	{ 't',
	  { "h",    "b",     "c",         "e",          "j",   "u",           "z",      "R%t",
	    "Q%t",  "RL_%t", "P%t",       "O%t",        "S%t", "A%tj3_",      "T%t%tE", "TE",
	    "T%tE", "F%tEu", "FUKC%tE%t", "DNt%p%cEL_", "%p",  "FG_RL0_%tEu", "B%b",    "DEL_" } },
	{ 'b', { "_", "0_", "1_", "2_", "5_", "a_" } },
};

static const char *choose(char letter, struct cursor *in)
{
	size_t row = 0, count = 0;

	while (grammar[row].letter != letter)
		row++;
	while (count < ARRAY_LEN(grammar[row].choices) && grammar[row].choices[count])
		count++;
	return grammar[row].choices[cursor_u8(in) % count];
}

static void expand(const char *text, struct cursor *in, struct buf *out)
{
	for (; *text && out->len < NAME_MAX_BYTES; text++)
		if (*text == '%')
			expand(choose(*++text, in), in, out);
		else
			buf_put_byte(out, (unsigned char)*text);
}

/* An expansion of what is no pack. */
static bool expands_nothing(const char *text)
{
	for (const char *at = text; (at = strstr(at, "...")); at += 3)
		if (at > text && !strchr(" (", at[-1]))
			return true;
	return false;
}

/* An argument that is a pack, and does not get expanded: T_ without Dp, or what stands for it. */
static bool has_loose_pack(const char *name)
{
	for (const char *at = name; strchr(name, 'J') && (at = strpbrk(at, "TS")); at++)
		if (strchr("_0123", at[1]) && at[1] && strncmp(at - 2, "Dp", 2) != 0)
			return true;
	return false;
}

/* Theirs sets blanks elsewhere, leaves the commas of elements that are empty packs, and has
 * parentheses around the callee in an expression and around a function that returns an array. */
static bool is_noise(const char *at, char last, bool has_parentheses)
{
	if (*at == '(' || *at == ')')
		return !has_parentheses;
	return *at == ' ' ||
	       (*at == ',' && (strchr("<(", last) || strchr(">),", at[1 + (at[1] == ' ')])));
}

static void put_canonical(const char *text, bool has_parentheses, struct buf *out)
{
	for (char last = '\0'; *text; text++) {
		if (!is_noise(text, last, has_parentheses))
			buf_put_byte(out, (unsigned char)*text);
		if (*text != ' ' && !(*text == ',' && strchr("<(", last)))
			last = *text;
	}
}

static void compare(const char *name, const char *ours, const char *theirs)
{
	CLEANUP(buf_fini) struct buf a = { 0 }, b = { 0 };
	bool has_parentheses = !strstr(name, "cl") && !strstr(ours, " [");

	put_canonical(ours, has_parentheses, &a);
	put_canonical(theirs, has_parentheses, &b);
	if (a.len == b.len && memcmp(a.data, b.data, a.len) == 0)
		return;
	fprintf(stderr, "%s\nours:   %s\ntheirs: %s\n", name, ours, theirs);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf name = { 0 }, ours = { 0 };
	struct cursor in = cursor_make(data, size);
	char *theirs;

	expand("%Z", &in, &name);
	if (name.len >= NAME_MAX_BYTES || has_loose_pack(name.data))
		return 0;
	if (!demangle(name.data, &ours) || expands_nothing(ours.data) ||
	    strstr(ours.data, "const const"))
		return 0;
	theirs = cplus_demangle(name.data, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	if (theirs)
		compare(name.data, ours.data, theirs);
	free(theirs);
	return 0;
}
