/* SPDX-License-Identifier: MIT */
#include "cachefs/rights/answers.h"

#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

static const gid_t groups[FSUSER_GROUPS + 1] = { 7, 8 };

static void test_credentials(void)
{
	struct credentials *a = credentials_new(1, 2, groups, 2);
	struct credentials *same = credentials_new(1, 2, groups, 2);
	struct credentials *fewer = credentials_new(1, 2, groups, 1);
	struct credentials *ours = credentials_new(geteuid(), 2, NULL, 0);

	if (CHECK(a && same && fewer && ours)) {
		CHECK(credentials_are_same(a, same));
		CHECK(!credentials_are_same(a, fewer));
		CHECK(!credentials_are_same(a, NULL));
		CHECK(credentials_are_same(NULL, NULL));
		CHECK(credentials_are_ours(ours));
		CHECK(credentials_are_ours(NULL));
		CHECK(credentials_ref(a) == a);
		credentials_unref(a);
	}
	CHECK(!credentials_new(1, 2, groups, FSUSER_GROUPS + 1));
	credentials_unref(a);
	credentials_unref(same);
	credentials_unref(fewer);
	credentials_unref(ours);
	credentials_unref(NULL);
}

static void check_answers(struct answers *t, struct credentials *who, struct credentials *other)
{
	struct stat attr = { .st_dev = 1, .st_ino = 2, .st_ctim.tv_sec = 3 };
	struct stat changed = { .st_dev = 1, .st_ino = 2, .st_ctim.tv_sec = 4 };

	CHECK_INT(answers_find(t, who, &attr, R_OK, 0), ANSWER_UNKNOWN);
	answers_put(t, who, &attr, R_OK, true, 100);
	answers_put(t, other, &attr, R_OK, false, 100);
	CHECK_INT(answers_find(t, who, &attr, R_OK, 99), ANSWER_YES);
	CHECK_INT(answers_find(t, other, &attr, R_OK, 99), ANSWER_NO);
	CHECK_INT(answers_find(t, who, &attr, R_OK, 100), ANSWER_UNKNOWN);
	CHECK_INT(answers_find(t, who, &attr, X_OK, 0), ANSWER_UNKNOWN);
	CHECK_INT(answers_find(t, who, &changed, R_OK, 0), ANSWER_UNKNOWN);
	answers_put(t, who, &attr, R_OK, false, 200);
	CHECK_INT(answers_find(t, who, &attr, R_OK, 150), ANSWER_NO);
	answers_clear(t);
	CHECK_INT(answers_find(t, who, &attr, R_OK, 0), ANSWER_UNKNOWN);
}

/* More than it has places for: the last ones are there, none is wrong. */
static void check_full(struct answers *t, struct credentials *who)
{
	struct stat attr = { .st_dev = 1 };
	enum answer last = ANSWER_UNKNOWN;
	int wrong = 0;

	for (ino_t i = 1; i <= 3 * ANSWERS_MAX; i++) {
		attr.st_ino = i;
		answers_put(t, who, &attr, R_OK, i % 2, INT64_MAX);
		last = answers_find(t, who, &attr, R_OK, 0);
		wrong += last != (i % 2 ? ANSWER_YES : ANSWER_NO);
	}
	for (ino_t i = 1; i <= 3 * ANSWERS_MAX; i++) {
		attr.st_ino = i;
		last = answers_find(t, who, &attr, R_OK, 0);
		wrong += last != ANSWER_UNKNOWN && last != (i % 2 ? ANSWER_YES : ANSWER_NO);
	}
	CHECK_INT(wrong, 0);
}

static void test_answers(void)
{
	struct answers *t = answers_new();
	struct credentials *who = credentials_new(1, 2, groups, 2);
	struct credentials *other = credentials_new(1, 2, groups, 1);

	if (CHECK(t && who && other)) {
		check_answers(t, who, other);
		check_full(t, who);
	}
	credentials_unref(who);
	credentials_unref(other);
	answers_free(t);
	answers_free(NULL);
}

int main(void)
{
	TAP_CASE(test_credentials);
	TAP_CASE(test_answers);
	return tap_done();
}
