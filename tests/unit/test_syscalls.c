/* SPDX-License-Identifier: MIT */
#include "model/syscalls.h"

#include <errno.h>
#include <stdlib.h>

#include "tap.h"
#include "view/tables/syscalls_slowest.h"
#include "view/tables/syscalls_table.h"
#include "view/tables/syscalls_trace.h"

static uint32_t name(struct syscalls *s, const char *text)
{
	return syscalls_str(s, text, strlen(text));
}

static void check_table(struct syscalls *s, const struct syscalls_table *t, const char *want)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct err e = { 0 };

	CHECK_INT(syscalls_put_table(&(struct emit_opts){ .format = EMIT_CSV }, s, t, &text, &e),
		  0);
	CHECK_STR(text.data, want);
}

static const struct syscalls_table plain = { .target = "x", .method = "test" };

static void test_cells(void)
{
	struct syscalls s;

	CHECK_INT(syscalls_init(&s, SYSCALLS_BY_CALL), 0);
	syscalls_add(&s, 0, name(&s, "read"), 0, 100);
	syscalls_add(&s, 0, name(&s, "read"), 0, 300);
	syscalls_add(&s, 0, name(&s, "read"), EAGAIN, 50);
	syscalls_add(&s, 0, name(&s, "exit"), 0, -1);
	s.wall_ns = 1000;
	CHECK_INT(s.cells.count, 3);
	CHECK_INT(syscalls_cell(&s, 0, name(&s, "read"), 0)->count, 2);
	CHECK_INT(syscalls_error(&s), 0);
	check_table(
		&s, &plain,
		"call,calls,errors,total_ns,time_percent,wall_percent,min_ns,mean_ns,p50_ns,p99_ns,max_"
		"ns,errnos\n"
		"read,3,1,450,100.0000,45.0000,50,150,100,300,300,EAGAIN 1\n"
		"exit,1,0,,0.0000,0.0000,,,,,,\n");
	check_table(
		&s,
		&(struct syscalls_table){ .target = "x", .method = "test", .is_histogram = true },
		"call,from_ns,below_ns,calls\nread,32,64,1\nread,64,128,1\nread,128,256,0\n"
		"read,256,512,1\n");
	syscalls_fini(&s);
}

static void test_subjects(void)
{
	struct syscalls s;
	uint32_t one, two;

	CHECK_INT(syscalls_init(&s, SYSCALLS_BY_THREAD), 0);
	one = syscalls_add_subject(
		&s, &(struct syscalls_subject){
			    .pid = 7, .tid = 8, .name = name(&s, "a"), .wall_ns = 100 });
	two = syscalls_add_subject(
		&s, &(struct syscalls_subject){
			    .pid = 7, .tid = 9, .name = name(&s, "b"), .wall_ns = 400 });
	syscalls_add(&s, one, name(&s, "read"), 0, 10);
	syscalls_add(&s, two, name(&s, "read"), 0, 30);
	check_table(
		&s, &plain,
		"tid,pid,comm,call,calls,errors,total_ns,time_percent,wall_percent,min_ns,mean_ns,p50_"
		"ns,p99_ns,max_ns,errnos\n"
		"9,7,b,read,1,0,30,75.0000,7.5000,30,30,30,30,30,\n"
		"8,7,a,read,1,0,10,25.0000,10.0000,10,10,10,10,10,\n");
	syscalls_fini(&s);
}

static void test_paths_that_were_missing_are_first(void)
{
	struct syscalls s;
	uint32_t found, missing;

	CHECK_INT(syscalls_init(&s, SYSCALLS_BY_PATH), 0);
	found = syscalls_add_subject(&s, &(struct syscalls_subject){ .name = name(&s, "/found") });
	missing = syscalls_add_subject(&s,
				       &(struct syscalls_subject){ .name = name(&s, "/missing") });
	syscalls_add(&s, found, name(&s, "open"), 0, 1000);
	syscalls_add(&s, found, name(&s, "open"), EACCES, 1000);
	syscalls_add(&s, missing, name(&s, "open"), ENOENT, 10);
	syscalls_add(&s, missing, name(&s, "stat"), ENOENT, 10);
	check_table(&s, &plain,
		    "calls,missing,other_errors,total_ns,by,path\n"
		    "2,2,0,20,\"open ENOENT 1, stat ENOENT 1\",/missing\n"
		    "2,0,1,2000,\"open 1, open EACCES 1\",/found\n");
	syscalls_fini(&s);
}

static void add_slow(struct syscalls *s, int64_t start_ns, int64_t took_ns, const char *error)
{
	syscalls_add_slow(s, &(struct syscall_decoded){ .pid = 7,
							.tid = 8,
							.comm = "a",
							.call = "read",
							.args = "3</x, y>",
							.has_end = true,
							.ret = -1,
							.result = error ? "-1 EIO" : "9",
							.error = error,
							.start_ns = start_ns,
							.end_ns = start_ns + took_ns });
}

static void test_the_slowest_calls_are_kept(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct err e = { 0 };
	struct syscalls s;

	CHECK_INT(syscalls_init(&s, SYSCALLS_BY_CALL), 0);
	CHECK(!syscalls_is_slow(&s, 5));
	add_slow(&s, 0, 5, NULL);
	CHECK_INT(s.slow_count, 0);
	s.wants_slowest = true;
	s.start_ns = 1000;
	for (int i = 0; i < 3 * SYSCALLS_SLOWEST; i++)
		add_slow(&s, 1000 + i, i % SYSCALLS_SLOWEST * 10 + i, NULL);
	add_slow(&s, 5000, 500, "EIO");
	CHECK_INT(s.slow_count, SYSCALLS_SLOWEST);
	CHECK(!syscalls_is_slow(&s, s.slowest[SYSCALLS_SLOWEST - 1].took_ns));
	CHECK(syscalls_is_slow(&s, s.slowest[SYSCALLS_SLOWEST - 1].took_ns + 1));
	for (size_t i = 1; i < s.slow_count; i++)
		CHECK(s.slowest[i - 1].took_ns >= s.slowest[i].took_ns);
	CHECK_INT(syscalls_put_slowest(&(struct emit_opts){ .format = EMIT_CSV }, &s,
				       &(struct syscalls_table){ .target = "x", .limit = 2 }, &text,
				       &e),
		  0);
	CHECK_STR(text.data, "took_ns,start_ns,pid,tid,comm,call,errno,result,args\n"
			     "500,4000,7,8,a,read,EIO,\"'-1 EIO\",\"3</x, y>\"\n"
			     "119,29,7,8,a,read,,9,\"3</x, y>\"\n");
	CHECK_INT(syscalls_error(&s), 0);
	syscalls_fini(&s);
}

static void test_traces(void)
{
	struct syscalls_trace t = { .format = EMIT_TABLE };
	struct syscall_decoded call = { .pid = 7,
					.tid = 8,
					.comm = "a",
					.call = "read",
					.args = "3",
					.has_end = true,
					.result = "0",
					.start_ns = 5000000000,
					.end_ns = 5000000009 };
	const struct syscall_decoded killed = { .pid = 7,
						.tid = 8,
						.comm = "a",
						.event = "exit",
						.result = "killed by SIGKILL",
						.start_ns = 6500000000,
						.end_ns = -1 };

	syscalls_trace_put(&t, &call);
	call.start_ns -= 1000;
	syscalls_trace_put(&t, &call);
	syscalls_trace_put(&t, &killed);
	CHECK_STR(t.lines.data, "0.000000000 8 a read(3) = 0 <0.000000009>\n"
				"-0.000001000 8 a read(3) = 0 <0.000001009>\n"
				"1.500000000 8 a +++ killed by SIGKILL +++\n");
	buf_clear(&t.lines);
	t.format = EMIT_JSON;
	syscalls_trace_put(&t, &killed);
	CHECK_STR(t.lines.data,
		  "{\"start_ns\": 1500000000, \"duration_ns\": null, \"pid\": 7, \"tid\": 8, "
		  "\"comm\": \"a\", \"event\": \"exit\", \"call\": null, \"args\": null, "
		  "\"ret\": null, \"errno\": null, \"result\": \"killed by SIGKILL\"}\n");
	buf_clear(&t.lines);
	t.format = EMIT_CSV;
	syscalls_trace_put(&t, &killed);
	CHECK_STR(t.lines.data, "1500000000,,7,8,\"a\",,\"\",,,\"killed by SIGKILL\"\n");
	buf_fini(&t.lines);
}

/* Of a function that is inlined in another, and of a script's. */
static uint32_t make_stack(struct profile *p)
{
	struct mapping m = { .start = 0x1000, .limit = 0x2000, .path = profile_str(p, "/bin/a\n") };
	struct function inner = { .name = profile_str(p, "inner"), .file = profile_str(p, "a.c") };
	struct function outer = { .name = profile_str(p, "outer") };
	struct function script = { .name = profile_str(p, "f"), .file = profile_str(p, "s.py") };
	struct line lines[] = { { profile_add_function(p, &inner), 12 },
				{ profile_add_function(p, &outer), 0 } };
	struct line of_script = { profile_add_function(p, &script), 3 };
	struct location native = { .mapping = profile_add_mapping(p, &m),
				   .address = 0x1234,
				   .lines = lines,
				   .line_count = 2 };
	struct location nameless = { .mapping = native.mapping, .address = 0x1300 };
	struct location own = { .lines = &of_script, .line_count = 1 };
	uint32_t node = profile_push(p, 0, profile_add_location(p, &nameless));

	node = profile_push(p, node, profile_add_location(p, &own));
	return profile_push(p, node, profile_add_location(p, &native));
}

static void check_stack_trace(const struct profile *p, uint32_t stack, enum emit_format format,
			      const char *want)
{
	struct syscalls_trace t = { .format = format, .stacks = p };
	const struct syscall_decoded call = { .pid = 7,
					      .tid = 8,
					      .comm = "a",
					      .call = "read",
					      .args = "3",
					      .result = "0",
					      .start_ns = 5000000000,
					      .end_ns = 5000000009,
					      .stack = stack };

	syscalls_trace_put(&t, &call);
	CHECK_INT(t.lines.len, 0);
	syscalls_trace_release(&t);
	CHECK_STR(t.lines.data, want);
	buf_clear(&t.lines);
	syscalls_trace_release(&t);
	CHECK_INT(t.lines.len, 0);
	syscalls_trace_fini(&t);
}

static void test_traces_have_stacks(void)
{
	struct profile *p = profile_new();
	uint32_t stack = make_stack(p);

	check_stack_trace(p, stack, EMIT_TABLE,
			  "0.000000000 8 a read(3) = 0 <0.000000009>\n"
			  " > /bin/a\\x0a(inner) [0x1234] a.c:12 (inlined)\n"
			  " > /bin/a\\x0a(outer) [0x1234]\n"
			  " > f s.py:3\n"
			  " > /bin/a\\x0a() [0x1300]\n");
	check_stack_trace(p, 0, EMIT_TABLE, "0.000000000 8 a read(3) = 0 <0.000000009>\n");
	check_stack_trace(
		p, stack, EMIT_CSV,
		"0,9,7,8,\"a\",read,\"3\",,,\"0\","
		"\"/bin/a\\x0a(inner) [0x1234] a.c:12 (inlined); /bin/a\\x0a(outer) [0x1234]; "
		"f s.py:3; /bin/a\\x0a() [0x1300]\"\n");
	check_stack_trace(
		p, stack, EMIT_JSON,
		"{\"start_ns\": 0, \"duration_ns\": 9, \"pid\": 7, \"tid\": 8, "
		"\"comm\": \"a\", \"call\": \"read\", \"args\": \"3\", \"ret\": null, "
		"\"errno\": null, \"result\": \"0\", "
		"\"stack\": [\"/bin/a\\n(inner) [0x1234] a.c:12 (inlined)\", "
		"\"/bin/a\\n(outer) [0x1234]\", \"f s.py:3\", \"/bin/a\\n() [0x1300]\"]}\n");
	profile_free(p);
}

static void test_errors_have_names(void)
{
	char number[24];

	CHECK_STR(syscalls_error_name(ENOENT, number), "ENOENT");
	CHECK_STR(syscalls_error_name(512, number), "ERESTARTSYS");
	CHECK_STR(syscalls_error_name(3999, number), "errno 3999");
}

int main(void)
{
	TAP_CASE(test_cells);
	TAP_CASE(test_subjects);
	TAP_CASE(test_paths_that_were_missing_are_first);
	TAP_CASE(test_the_slowest_calls_are_kept);
	TAP_CASE(test_traces);
	TAP_CASE(test_traces_have_stacks);
	TAP_CASE(test_errors_have_names);
	return tap_done();
}
