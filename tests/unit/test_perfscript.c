/* SPDX-License-Identifier: MIT */
#include "format/perfscript/perfscript.h"

#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/log.h"
#include "format/text_cache.h"
#include "tap.h"

static struct buf warnings;

static void keep_warning(enum log_level level, const char *domain, const char *text)
{
	(void)domain;
	if (level == LOG_WARN)
		buf_printf(&warnings, "%s\n", text);
}

static void free_profile(struct profile **p)
{
	profile_free(*p);
}

static int read_text(const char *text, struct profile **ret, struct err *e)
{
	*e = (struct err){ 0 };
	*ret = profile_new();
	buf_clear(&warnings);
	buf_put_str(&warnings, "");
	return perfscript_read(*ret, (const unsigned char *)text, strlen(text), e);
}

/* "name{file:line}", for inlined functions with "<" before, and "@dso" behind the frame. */
static void put_location(const struct profile *p, struct location l, struct buf *out)
{
	const char *dso = profile_text(p, profile_get_mapping(p, l.mapping)->path);

	buf_printf(out, ";%" PRIx64 "=", l.address);
	for (uint32_t i = l.line_count; i-- > 0;) {
		const struct function *f = profile_get_function(p, l.lines[i].function);

		buf_printf(out, "%s%s", i + 1 < l.line_count ? "<" : "", profile_text(p, f->name));
		if (l.lines[i].line)
			buf_printf(out, "{%s:%" PRId64 "}", profile_text(p, f->file),
				   l.lines[i].line);
	}
	if (*dso)
		buf_printf(out, "@%s", dso);
}

static void put_stack(const struct profile *p, uint32_t node, struct buf *out)
{
	if (!node)
		return;
	put_stack(p, profile_get_node(p, node).parent, out);
	put_location(p, profile_get_location(p, profile_get_node(p, node).location), out);
}

static void put_sample(const struct profile *p, struct sample s, struct buf *out)
{
	size_t count;
	const struct label *labels = profile_get_labels(p, s.labels, &count);

	for (size_t i = 0; i < count; i++) {
		buf_printf(out, "%s=", profile_text(p, labels[i].key));
		if (labels[i].str)
			buf_printf(out, "%s ", profile_text(p, labels[i].str));
		else
			buf_printf(out, "%" PRId64 " ", labels[i].num);
	}
	put_stack(p, s.node, out);
	for (size_t i = 0; i < profile_type_count(p); i++)
		buf_printf(out, " %" PRId64, s.values[i]);
	buf_put_str(out, "\n");
}

/* Everything a reader tells, as text. */
static void put_profile(const struct profile *p, struct buf *out)
{
	for (size_t i = 0; i < profile_type_count(p); i++) {
		struct value_type type = profile_get_type(p, i);

		buf_printf(out, "%s%s/%s", i ? " " : "", profile_text(p, type.type),
			   profile_text(p, type.unit));
	}
	buf_put_str(out, "\n");
	for (size_t i = 0; i < profile_sample_count(p); i++)
		put_sample(p, profile_get_sample(p, i), out);
}

struct row {
	const char *what, *text, *want;
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP(free_profile) struct profile *p;
		CLEANUP(buf_fini) struct buf got = { 0 };
		struct err e;

		if (!CHECK_INT(read_text(rows[i].text, &p, &e), 0))
			fprintf(stderr, "%s: %s\n", rows[i].what, e.msg);
		put_profile(p, &got);
		if (!CHECK_STR(got.data, rows[i].want) || !CHECK_STR(warnings.data, ""))
			fprintf(stderr, "%s\n", rows[i].what);
	}
}

#define STACK "\t    10 f+0x1 (/bin/x)\n\n"

static void test_heads(void)
{
	static const struct row rows[] = {
		{ "the default of perf 6.1", "x 7 [001]  1.000002:     99 cycles:ppp: \n" STACK,
		  "samples/count cycles/count\ncomm=x cpu=1 tid=7 ;10=f@/bin/x 1 99\n" },
		{ "no cpu, no period", "x 7 1.000002: cycles: \n" STACK,
		  "samples/count cycles/samples\ncomm=x tid=7 ;10=f@/bin/x 1 1\n" },
		{ "pid and tid", "x     7/8       1.000002:     99 cpu-clock:u: \n" STACK,
		  "samples/count cpu/nanoseconds\ncomm=x pid=7 tid=8 ;10=f@/bin/x 1 99\n" },
		{ "nanoseconds", "x 7 1.000000002: 5 cycles: \n" STACK,
		  "samples/count cycles/count\ncomm=x tid=7 ;10=f@/bin/x 1 5\n" },
		{ "a name of blanks, digits, signs",
		  "kworker/0:1-ev 12 [0] 77 [000] 1.000002: 5 cycles: \n" STACK,
		  "samples/count cycles/count\n"
		  "comm=kworker/0:1-ev 12 [0] cpu=0 tid=77 ;10=f@/bin/x 1 5\n" },
		{ "no time", "V8 Worker 7 [002] 5 cycles:ppp: \n" STACK,
		  "samples/count cycles/count\ncomm=V8 Worker cpu=2 tid=7 ;10=f@/bin/x 1 5\n" },
		{ "no time, no period", "V8 Worker 7 cycles: \n" STACK,
		  "samples/count cycles/samples\ncomm=V8 Worker tid=7 ;10=f@/bin/x 1 1\n" },
		{ "comm and tid", "a b 7 \n" STACK,
		  "samples/count\ncomm=a b tid=7 ;10=f@/bin/x 1\n" },
		{ "comm", "a b \n" STACK, "samples/count\ncomm=a b ;10=f@/bin/x 1\n" },
		{ "tid", "7 \n" STACK, "samples/count\ntid=7 ;10=f@/bin/x 1\n" },
		{ "tid behind blanks", " 3726 \n" STACK " 3726 \n" STACK,
		  "samples/count\ntid=3726 ;10=f@/bin/x 2\n" },
		{ "time", " 1.000002: \n" STACK, "samples/count\n;10=f@/bin/x 1\n" },
		{ "event", "cycles:u: \n" STACK,
		  "samples/count cycles/samples\n;10=f@/bin/x 1 1\n" },
		{ "nothing", "\n" STACK "\n" STACK, "samples/count\n;10=f@/bin/x 2\n" },
		{ "misc", "x 7 [000] KH   1.000002: 5 cycles: \n" STACK,
		  "samples/count cycles/count\ncomm=x cpu=0 tid=7 ;10=f@/bin/x 1 5\n" },
		{ "tracepoint",
		  "x 7 [000] 1.000002: sched:sched_switch: prev_comm=x ==> y:7\n" STACK,
		  "samples/count sched:sched_switch/count\n"
		  "comm=x cpu=0 tid=7 ;10=f@/bin/x 1 1\n" },
		{ "no pid known", ":-1 -1 [000] 1.000002: 5 cycles: \n" STACK,
		  "samples/count cycles/count\ncomm=:-1 cpu=0 tid=-1 ;10=f@/bin/x 1 5\n" },
		{ "no stack", "x 7 1.000002: 5 cycles: \n\nx 7 1.000003: 6 cycles: \n\n",
		  "samples/count cycles/count\ncomm=x tid=7  2 11\n" },
		{ "no stacks at all", "  x 7 1.000002: cycles: \n  x 7 1.000003: cycles: \n",
		  "samples/count cycles/samples\ncomm=x tid=7  2 2\n" },
	};

	check_rows(rows, ARRAY_LEN(rows));
}

#define HEAD "x 7 1.000002: 5 cycles: \n"
#define WANT "samples/count cycles/count\ncomm=x tid=7 "

static void test_frames(void)
{
	static const struct row rows[] = {
		{ "leaf first", HEAD "\t 10 f+0x1 (/x)\n\t 20 g+0x1f (/x)\n\t 30 h (/y)\n\n",
		  WANT ";30=h@/y;20=g@/x;10=f@/x 1 5\n" },
		{ "unknown", HEAD "\t 10 [unknown] (/x)\n\t 20 [unknown] ([unknown])\n\n",
		  WANT ";20=;10=@/x 1 5\n" },
		{ "kernel",
		  HEAD "\tffffffff821e5ae3 xas_load+0x53 ([kernel.kallsyms])\n"
		       "\tffffffff81aebbfe start_kernel ([kernel.kallsyms].init.text)\n\n",
		  WANT ";ffffffff81aebbfe=start_kernel@[kernel.kallsyms].init.text"
		       ";ffffffff821e5ae3=xas_load@[kernel.kallsyms] 1 5\n" },
		{ "C++",
		  HEAD "\t 10 std::function<int (long)>::operator()(long)+0x1 (/w prog)\n"
		       "\t 20 (anonymous namespace)::run(int)+0x2 (/w prog)\n\n",
		  WANT ";20=(anonymous namespace)::run(int)@/w prog"
		       ";10=std::function<int (long)>::operator()(long)@/w prog 1 5\n" },
		{ "paths", HEAD "\t 10 f (/a (b)/x)\n\t 20 g (/a)b/x)\n\t 30 h (/x (deleted))\n\n",
		  WANT ";30=h@/x;20=g@/a)b/x;10=f@/a (b)/x 1 5\n" },
		{ "odd modules",
		  HEAD "\t 10 f ([vdso])\n\t 20 g ([guest.kernel.kallsyms.7])\n"
		       "\t 30 h ([nf_conntrack])\n\t 40 i (//anon)\n\n",
		  WANT ";40=i@//anon;30=h@[nf_conntrack];20=g@[guest.kernel.kallsyms.7]"
		       ";10=f@[vdso] 1 5\n" },
		{ "an offset in the file", HEAD "\t 10 f+0x1 (/x+0x1010)\n\n",
		  WANT ";10=f@/x 1 5\n" },
		{ "no symbol", HEAD "\t 10 (/x)\n\t 20  (/y)\n\n", WANT ";20=@/y;10=@/x 1 5\n" },
		{ "no dso", HEAD "\t 10 f\n\t 20 operator()(int)\n\n",
		  WANT ";20=operator()(int);10=f 1 5\n" },
		{ "addresses only", HEAD "\t 10\n\t 20\n\n", WANT ";20=;10= 1 5\n" },
		{ "Java",
		  HEAD "\t 10 Ljava/lang/Foo;::bar (/tmp/perf-7.map)\n"
		       "\t 20 a->b->c (/tmp/perf-7.map)\n\t 30 p->q (/x)\n\n",
		  WANT ";30=p->q@/x;20=a<b<c@/tmp/perf-7.map"
		       ";10=Ljava/lang/Foo;::bar@/tmp/perf-7.map 1 5\n" },
		{ "Go", HEAD "\t 10 regexp/syntax.(*parser).push+0xa6 (/go)\n\n",
		  WANT ";10=regexp/syntax.(*parser).push@/go 1 5\n" },
		{ "inlined",
		  HEAD "\t 10 a+0x1 (inlined)\n\t 10 b+0x1 (inlined)\n\t 10 c+0x1 (/x)\n"
		       "\t 20 d (inlined)\n\t 30 e (/x)\n\n",
		  WANT ";30=e@/x;20=d;10=c<b<a@/x 1 5\n" },
		{ "positions",
		  HEAD "\t 10 a\n  a.h:3 (inlined)\n\t 10 c+0x1 (/x)\n  c.c:4\n"
		       "\t 20 d (/x)\n  ??:0\n\t 30 e (/x)\n  x[30]\n\n",
		  WANT ";30=e@/x;20=d@/x;10=c{c.c:4}<a{a.h:3}@/x 1 5\n" },
		{ "blanks for tabs", HEAD "        10 f+0x1 (/x)\n        dd g (/x)\n\n",
		  WANT ";dd=g@/x;10=f@/x 1 5\n" },
		{ "CRLF", "x 7 1.000002: 5 cycles: \r\n\t 10 f (/x)\r\n\t 20 g (/x)\r\n\r\n",
		  WANT ";20=g@/x;10=f@/x 1 5\n" },
		{ "no empty line at the end", HEAD "\t 10 f (/x)\n", WANT ";10=f@/x 1 5\n" },
		{ "no line end at the end", HEAD "\t 10 f (/x)", WANT ";10=f@/x 1 5\n" },
	};

	check_rows(rows, ARRAY_LEN(rows));
}

static void test_flat(void)
{
	static const struct row rows[] = {
		{ "frame behind the event",
		  "               x 7 1.000002:          5 cycles:      7fb8 f+0x4 (/x)\n"
		  "              dd 7 1.000003:          6 cycles:      7fb8 f+0x4 (/x)\n"
		  "  fourteen_chars 7 1.000004:          6 cycles:      7fb8 f+0x4 (/x)\n",
		  "samples/count cycles/count\ncomm=x tid=7 ;7fb8=f@/x 1 5\n"
		  "comm=dd tid=7 ;7fb8=f@/x 1 6\ncomm=fourteen_chars tid=7 ;7fb8=f@/x 1 6\n" },
		{ "no time", "   x 7 cycles:  7fb85a f (/x)\n",
		  "samples/count cycles/samples\ncomm=x tid=7 ;7fb85a=f@/x 1 1\n" },
		{ "tracepoint with a frame",
		  "x 7 1.000002: sched:sched_switch: a=b next_prio=0 ffffffff821f8b58 "
		  "__schedule+0x618 ([kernel.kallsyms])\n",
		  "samples/count sched:sched_switch/count\n"
		  "comm=x tid=7 ;ffffffff821f8b58=__schedule@[kernel.kallsyms] 1 1\n" },
		{ "tracepoint without",
		  "x 7 1.000002: raw_syscalls:sys_enter: NR 257 (ffffffff9c, 7ff)\n",
		  "samples/count raw_syscalls:sys_enter/count\ncomm=x tid=7  1 1\n" },
	};

	check_rows(rows, ARRAY_LEN(rows));
}

static void test_events(void)
{
	static const struct row rows[] = {
		{ "two", HEAD STACK "x 7 1.000002: 7 faults: \n" STACK HEAD STACK,
		  "samples/count cycles/count faults/count\ncomm=x tid=7 ;10=f@/bin/x 2 10 7\n" },
		{ "records are no samples",
		  HEAD STACK "x 7 1.000002: PERF_RECORD_COMM exec: x:7/7\n"
			     "PERF_RECORD_FINISHED_ROUND\n"
			     "x 7 [000] 1.000003: PERF_RECORD_SWITCH OUT preempt\n",
		  WANT ";10=f@/bin/x 1 5\n" },
		{ "lost samples",
		  HEAD STACK "x 7 1.000002: PERF_RECORD_LOST lost 10\n"
			     "x 7 1.000003: PERF_RECORD_LOST lost 2\n",
		  WANT ";10=f@/bin/x 1 5\n;0=[lost] 12 0\n" },
	};

	check_rows(rows, ARRAY_LEN(rows));
}

static void test_more_events_than_types(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(free_profile) struct profile *p;
	struct err e;
	int64_t sum = 0;

	for (int i = 0; i < 100; i++)
		buf_printf(&text, "x 7 1.000002: syscalls:event_%d: \n" STACK, i);
	if (!CHECK_INT(read_text(text.data, &p, &e), 0))
		return;
	CHECK_INT(profile_type_count(p), PROFILE_MAX_TYPES);
	CHECK_STR(profile_text(p, profile_get_type(p, PROFILE_MAX_TYPES - 1).type), "events");
	for (size_t i = 0; i < profile_sample_count(p); i++)
		for (size_t k = 1; k < PROFILE_MAX_TYPES; k++)
			sum += profile_get_sample(p, i).values[k];
	CHECK_INT(sum, 100);
	CHECK_INT(profile_sample_count(p), 1 + 100 - (PROFILE_MAX_TYPES - 2));
}

static void test_info(void)
{
	static const char text[] =
		"# ========\n"
		"# captured on    : Sat Nov 21 22:52:55 2026\n"
		"# hostname : vm\n"
		"# os release : 6.18.44\n"
		"# cmdline : /usr/bin/perf record -g -- sleep 1 \n"
		"#\n"
		"x 7 2.500000: 5 cycles: \n" STACK "x 7 1.000002: 5 cycles: \n" STACK;
	CLEANUP(free_profile) struct profile *p;
	struct err e;

	if (!CHECK_INT(read_text(text, &p, &e), 0))
		return;
	CHECK_INT(profile_comment_count(p), 3);
	CHECK_STR(profile_get_comment(p, 0), "host: vm");
	CHECK_STR(profile_get_comment(p, 1), "kernel: 6.18.44");
	CHECK_STR(profile_get_comment(p, 2), "command: /usr/bin/perf record -g -- sleep 1");
	CHECK_INT(profile_get_info(p)->duration_ns, 1499998000);
	CHECK_INT(profile_get_info(p)->period, 5);
	CHECK_STR(profile_text(p, profile_get_info(p)->default_type), "cycles");
	CHECK(profile_get_mapping(p, 1)->has_functions);
}

static void test_what_is_skipped(void)
{
	static const struct {
		const char *text, *want, *warning;
	} rows[] = {
		{ "Warning:\n" HEAD "\tno frame\n\t 10 f (/x)\n\nlost 7 chunks!\n",
		  WANT ";10=f@/x 1 5\n",
		  "lines that are no part of a sample and are skipped: 3, the first is line 1\n" },
		{ HEAD "\t 10 f (/x)\n\n" HEAD "\t 10 f (/x", WANT ";10=f@/x 1 5\n",
		  "the text ends within a sample, which is left out\n" },
		{ HEAD "\t 10 f (/x)\n\nx 7 1.0000", WANT ";10=f@/x 1 5\n",
		  "lines that are no part of a sample and are skipped: 1, the first is line 4\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free_profile) struct profile *p;
		CLEANUP(buf_fini) struct buf got = { 0 };
		struct err e;

		CHECK_INT(read_text(rows[i].text, &p, &e), 0);
		put_profile(p, &got);
		CHECK_STR(got.data, rows[i].want);
		CHECK_STR(warnings.data, rows[i].warning);
	}
}

static void test_errors(void)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "", "no sample in this text of perf script" },
		{ "# cmdline : perf\n\n", "no sample in this text of perf script" },
		{ "\n\nHello, world\n", "line 3: neither a sample nor a frame of one" },
		{ "\tHello\n", "line 1: neither a sample nor a frame of one" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free_profile) struct profile *p;
		struct err e;

		CHECK(read_text(rows[i].text, &p, &e) < 0);
		CHECK_STR(e.msg, rows[i].message);
	}
}

static void test_detection(void)
{
	static const struct {
		const char *text;
		bool want;
	} rows[] = {
		{ HEAD STACK, true },
		{ "# ========\n#\n" HEAD STACK, true },
		{ "   x 7 1.000002: 5 cycles:   7fb8 f (/x)\n", true },
		{ "\n\t  10 f\n\t  20 g\n", true },
		{ "a b \n" STACK, true },
		{ "main;read_input;parse 12\n", false },
		{ "a;b 1\nc 2\n", false },
		{ "a;b 1\n\tc;d 2\nc 3\n", false },
		{ "a;b 1\n  beef 2\nc 3\n", false },
		{ " add 1\n bad 2\n", false },
		{ "3726\n\t  401136\n", true },
		{ "{ \"a\": 1 }\n", false },
		{ "", false },
		{ "Hello\nworld\n", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(perfscript_detect((const unsigned char *)rows[i].text,
					    strlen(rows[i].text)),
			  rows[i].want);
}

/* Millions of bytes in one name, and thousands of frames. */
static void test_large(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(free_profile) struct profile *p;
	struct err e;

	buf_put_str(&text, HEAD "\t 10 ");
	for (int i = 0; i < 1 << 20; i++)
		buf_put_str(&text, "ab()");
	buf_put_str(&text, " (/x)\n");
	for (int i = 0; i < 10000; i++)
		buf_printf(&text, "\t %x f%d (/x)\n", i, i);
	buf_put_str(&text, "\n");
	if (!CHECK_INT(read_text(text.data, &p, &e), 0))
		return;
	CHECK_INT(profile_node_count(p), 1 + 10001);
	CHECK_INT(profile_get_str(p, profile_get_function(p, 10001)->name).len, 4 << 20);
}

static void test_textmemo(void)
{
	struct text_cache m = { 0 };
	char text[80];

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 100000; i++) {
			int len = snprintf(text, sizeof text, "%*u", 1 + (int)i % 70, i);
			uint32_t *value = text_cache_at(&m, text_cache_hash(text, (size_t)len));

			if (!CHECK(value && *value == (round ? i : TEXT_CACHE_NEW)))
				return;
			*value = i;
		}
	CHECK_INT(m.count, 100000);
	text_cache_fini(&m);
}

int main(void)
{
	log_open(keep_warning, NULL);
	TAP_CASE(test_heads);
	TAP_CASE(test_frames);
	TAP_CASE(test_flat);
	TAP_CASE(test_events);
	TAP_CASE(test_more_events_than_types);
	TAP_CASE(test_info);
	TAP_CASE(test_what_is_skipped);
	TAP_CASE(test_errors);
	TAP_CASE(test_detection);
	TAP_CASE(test_large);
	TAP_CASE(test_textmemo);
	buf_fini(&warnings);
	return tap_done();
}
