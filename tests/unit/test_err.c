/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>

#include "tap.h"

static void test_set(void)
{
	struct err e = { 0 };

	CHECK_INT(err_set(&e, -EINVAL, "line %d: no count", 2), -EINVAL);
	CHECK_INT(e.code, -EINVAL);
	CHECK_STR(e.msg, "line 2: no count");
}

static void test_wrap_adds_where(void)
{
	struct err e = { 0 };

	err_set(&e, -EFBIG, "too long");
	CHECK_INT(err_wrap(&e, "line %d", 7), -EFBIG);
	CHECK_INT(err_wrap(&e, "run.folded"), -EFBIG);
	CHECK_STR(e.msg, "run.folded: line 7: too long");
}

static void test_errno_is_said_in_words(void)
{
	struct err e = { 0 };

	errno = ENOENT;
	CHECK_INT(err_errno(&e, "%s", "missing.pb.gz"), -ENOENT);
	CHECK_STR(e.msg, "missing.pb.gz: No such file or directory");
}

static void test_out_of_memory(void)
{
	struct err e = { 0 };

	CHECK_INT(err_nomem(&e), -ENOMEM);
	CHECK_STR(e.msg, "out of memory");
}

static void test_long_texts_are_cut(void)
{
	struct err e = { 0 };
	char text[2 * sizeof e.msg];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	err_set(&e, -EINVAL, "%s", text);
	CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
	CHECK_INT(err_wrap(&e, "%s", text), -EINVAL);
	CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
}

static void test_one_line_without_controls(void)
{
	struct err e = { 0 };

	err_set(&e, -EINVAL, "'%s' is not a number", "1\n\x1b[2J\x7f\xc3\xa9");
	CHECK_STR(e.msg, "'1??[2J?\xc3\xa9' is not a number");
	err_wrap(&e, "a\tb");
	CHECK_STR(e.msg, "a?b: '1??[2J?\xc3\xa9' is not a number");
}

int main(void)
{
	TAP_CASE(test_set);
	TAP_CASE(test_wrap_adds_where);
	TAP_CASE(test_errno_is_said_in_words);
	TAP_CASE(test_out_of_memory);
	TAP_CASE(test_long_texts_are_cut);
	TAP_CASE(test_one_line_without_controls);
	return tap_done();
}
