/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include "tap.h"

static struct {
	int count;
	enum log_level level;
	char domain[16], text[2000];
} seen;

static void keep(enum log_level level, const char *domain, const char *text)
{
	seen.count++;
	seen.level = level;
	snprintf(seen.domain, sizeof seen.domain, "%s", domain);
	snprintf(seen.text, sizeof seen.text, "%s", text);
}

static void test_without_a_sink_nothing_happens(void)
{
	log_open(NULL, "*=debug");
	log_msg(LOG_WARN, "cpu", "lost %d samples", 3);
	CHECK_INT(seen.count, 0);
}

static void test_message_arrives(void)
{
	log_open(keep, NULL);
	log_msg(LOG_WARN, "cpu", "lost %d samples", 3);
	CHECK_INT(seen.count, 1);
	CHECK_INT(seen.level, LOG_WARN);
	CHECK_STR(seen.domain, "cpu");
	CHECK_STR(seen.text, "lost 3 samples");
}

static void test_one_line(void)
{
	char text[1500];

	log_open(keep, NULL);
	log_msg(LOG_WARN, "cpu", "cannot read %s", "a\nb\x1b[1m");
	CHECK_STR(seen.text, "cannot read a?b?[1m");
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	log_msg(LOG_WARN, "cpu", "%s", text);
	CHECK(strlen(seen.text) < sizeof text - 1);
}

static void test_spec(void)
{
	static const struct {
		const char *spec;
		enum log_level cpu; /* the last level that passes for domain cpu */
	} rows[] = {
		{ NULL, LOG_WARN },
		{ "", LOG_WARN },
		{ "cpu=debug", LOG_DEBUG },
		{ "cpu=info", LOG_INFO },
		{ "cpu=warn", LOG_WARN },
		{ "heap=debug", LOG_WARN },
		{ "cp=debug", LOG_WARN },
		{ "cpux=debug", LOG_WARN },
		{ "heap=debug,cpu=info", LOG_INFO },
		{ "*=debug", LOG_DEBUG },
		{ "*=debug,cpu=warn", LOG_WARN },
		{ "cpu=debug,*=info", LOG_INFO }, /* the last word counts */
		{ "cpu", LOG_WARN },
		{ "cpu=", LOG_WARN },
		{ "cpu=d", LOG_WARN },
		{ "cpu=debugging", LOG_WARN },
		{ ",,=,*,cpu=debug,", LOG_DEBUG },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		log_open(keep, rows[i].spec);
		for (int level = LOG_WARN; level <= LOG_DEBUG; level++) {
			seen.count = 0;
			log_msg((enum log_level)level, "cpu", "x");
			if (!CHECK_INT(seen.count, level <= (int)rows[i].cpu))
				fprintf(stderr, "in row %zu\n", i);
		}
	}
}

int main(void)
{
	TAP_CASE(test_without_a_sink_nothing_happens);
	TAP_CASE(test_message_arrives);
	TAP_CASE(test_one_line);
	TAP_CASE(test_spec);
	return tap_done();
}
