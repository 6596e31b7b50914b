/* SPDX-License-Identifier: MIT */
#include "model/prune.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "tap.h"

static uint32_t function(struct profile *p, const char *name)
{
	uint32_t id = profile_str(p, name);

	return profile_add_function(p, &(struct function){ .name = id, .system_name = id });
}

/* "main;f>g;h": frames, root first; ">" is what is inlined there. */
static uint32_t stack(struct profile *p, const char *text)
{
	uint32_t node = 0;
	char copy[256], *rest = NULL;

	snprintf(copy, sizeof copy, "%s", text);
	for (char *frame = strtok_r(copy, ";", &rest); frame; frame = strtok_r(NULL, ";", &rest)) {
		struct line lines[8];
		uint32_t count = 0;
		char *at = frame + strlen(frame);
		struct location l = { .lines = lines };

		for (char *inner; (inner = strrchr(frame, '>')) && inner < at; at = inner) {
			lines[count++] = (struct line){ .function = function(p, inner + 1) };
			*inner = '\0';
		}
		lines[count++] = (struct line){ .function = function(p, frame) };
		l.line_count = count;
		node = profile_push(p, node, profile_add_location(p, &l));
	}
	return node;
}

static void put_frame(struct buf *out, const struct profile *p, uint32_t node)
{
	struct stack_node at = profile_get_node(p, node);
	struct location l = profile_get_location(p, at.location);

	if (at.parent) {
		put_frame(out, p, at.parent);
		buf_put_byte(out, ';');
	}
	for (uint32_t i = l.line_count; i > 0; i--) {
		const struct function *f = profile_get_function(p, l.lines[i - 1].function);

		buf_printf(out, "%s%s", i < l.line_count ? ">" : "", profile_text(p, f->name));
	}
}

static struct profile *profile_of(const char *text, const char *drop, const char *keep)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "nanoseconds");
	profile_info(p)->drop_frames = profile_str(p, drop);
	profile_info(p)->keep_frames = profile_str(p, keep);
	profile_add(p, stack(p, text), 0, (int64_t[]){ 7 });
	return p;
}

static void test_rules(void)
{
	static const struct {
		const char *text, *drop, *keep, *want;
	} rows[] = {
		{ "main;malloc;lock", "", "", "main;malloc;lock" },
		{ "main;malloc;lock", "malloc|free", "", "main" },
		{ "main;malloc;lock", "mall", "", "main;malloc;lock" }, /* the whole name */
		{ "main;malloc;lock", "m.*", "main", "main" },
		{ "main;malloc;lock", ".*", "malloc", "main;malloc" },
		{ "malloc;main;malloc", "malloc", "", "malloc;main" }, /* before the first other */
		{ "malloc;lock", ".*", "", "malloc;lock" },
		{ "main;f>malloc;lock", "malloc", "", "main;f" },
		{ "main;malloc>f;lock", "malloc", "", "main" },
		{ "main;f>malloc>g>malloc>h;lock", "malloc", "", "main;f" },
		{ "main;alloc(int);lock", "alloc", "", "main" },
		{ "main;(anonymous namespace)::alloc(int)", ".*::alloc", "", "main" },
		{ "main;A::operator()(int)", ".*operator\\(\\)", "", "main" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile *p = profile_of(rows[i].text, rows[i].drop, rows[i].keep);
		CLEANUP(buf_fini) struct buf got = { 0 };
		struct sample s;
		struct err e;

		CHECK_INT(profile_prune(&p, &e), 0);
		s = profile_get_sample(p, 0);
		put_frame(&got, p, s.node);
		CHECK_STR(got.data, rows[i].want);
		CHECK_INT(s.values[0], 7);
		profile_free(p);
	}
}

static void test_bad_pattern(void)
{
	struct profile *p = profile_of("main;f", "(", ""), *before = p;
	struct err e;

	CHECK_INT(profile_prune(&p, &e), -EINVAL);
	CHECK(strncmp(e.msg, "drop_frames: ", 13) == 0);
	CHECK(p == before);
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_rules);
	TAP_CASE(test_bad_pattern);
	return tap_done();
}
