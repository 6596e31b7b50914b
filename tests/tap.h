/* SPDX-License-Identifier: MIT */
/*
 * tap: the whole test framework. Cases are functions; a failed check goes on, so that
 * cleanup runs and the leak checker stays quiet. TAP on stdout, reasons on stderr.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under ASan or TSan, which need memory and mappings of their own. */
#ifdef __SANITIZE_ADDRESS__
#define TAP_UNDER_ASAN true
#elif defined __has_feature
#define TAP_UNDER_ASAN __has_feature(address_sanitizer)
#else
#define TAP_UNDER_ASAN false
#endif
#ifdef __SANITIZE_THREAD__
#define TAP_UNDER_TSAN true
#elif defined __has_feature
#define TAP_UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define TAP_UNDER_TSAN false
#endif

static struct {
	int cases, failed_cases;
	bool is_failed;      /* the running case */
	const char *skipped; /* reason, NULL: not skipped */
} tap;

#define TAP_USED __attribute__((unused))

TAP_USED static bool tap_check(bool ok, const char *file, int line, const char *text)
{
	if (!ok) {
		tap.is_failed = true;
		fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
	}
	return ok;
}

TAP_USED static bool tap_check_int(long long got, long long want, const char *file, int line,
				   const char *text)
{
	if (got != want)
		fprintf(stderr, "got %lld, want %lld\n", got, want);
	return tap_check(got == want, file, line, text);
}

TAP_USED static bool tap_check_str(const char *got, const char *want, const char *file, int line,
				   const char *text)
{
	bool ok = got && want ? strcmp(got, want) == 0 : got == want;

	if (!ok)
		fprintf(stderr, "got \"%s\", want \"%s\"\n", got ? got : "(null)",
			want ? want : "(null)");
	return tap_check(ok, file, line, text);
}

TAP_USED static void tap_case(void (*run)(void), const char *name)
{
	tap.is_failed = false;
	tap.skipped = NULL;
	run();
	tap.cases++;
	tap.failed_cases += tap.is_failed;
	printf("%sok %d - %s%s%s\n", tap.is_failed ? "not " : "", tap.cases, name,
	       tap.skipped ? " # SKIP " : "", tap.skipped ? tap.skipped : "");
	fflush(stdout);
}

TAP_USED static int tap_done(void)
{
	printf("1..%d\n", tap.cases);
	return tap.failed_cases > 0;
}

/* A pattern for mkdtemp() or mkstemp(), which make something of the test's own below TMPDIR. */
TAP_USED static char *tap_pattern(char *path, size_t size)
{
	const char *folder = getenv("TMPDIR");

	snprintf(path, size, "%s/auger-test-XXXXXX", folder ? folder : "/tmp");
	return path;
}

#define CHECK(condition) tap_check((condition), __FILE__, __LINE__, #condition)
#define CHECK_INT(got, want) \
	tap_check_int((long long)(got), (long long)(want), __FILE__, __LINE__, #got " == " #want)
#define CHECK_STR(got, want) tap_check_str((got), (want), __FILE__, __LINE__, #got " == " #want)
#define SKIP(reason) (tap.skipped = (reason)) /* then return from the case */
#define TAP_CASE(run) tap_case((run), #run)

#endif
