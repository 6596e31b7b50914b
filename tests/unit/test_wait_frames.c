/* SPDX-License-Identifier: MIT */
#include "model/wait_frames.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "tap.h"

static uint32_t mapping_of(struct profile *p, char mark)
{
	const char *path = mark == 'k'   ? "[kernel.kallsyms]"
			   : mark == 'c' ? "/lib/libc.so.6"
					 : "/prog";

	return profile_add_mapping(p, &(struct mapping){ .path = profile_str(p, path) });
}

static uint32_t function(struct profile *p, const char *name)
{
	uint32_t id = profile_str(p, name);

	return profile_add_function(p, &(struct function){ .name = id, .system_name = id });
}

/* "main;f>read@c;vfs_read@k": frames, root first; ">" is what is inlined there; "@c": of libc,
 * "@k": of the kernel. */
static uint32_t stack(struct profile *p, const char *text)
{
	uint32_t node = 0, address = 1;
	char copy[512], *rest = NULL;

	snprintf(copy, sizeof copy, "%s", text);
	for (char *frame = strtok_r(copy, ";", &rest); frame; frame = strtok_r(NULL, ";", &rest)) {
		struct line lines[8];
		char *mark = strchr(frame, '@'), *inner;
		struct location l = { .lines = lines, .address = address++ };

		l.mapping = mapping_of(p, mark ? mark[1] : 'p');
		if (*frame == '[')
			l.mapping = 0;
		if (mark)
			*mark = '\0';
		while ((inner = strrchr(frame, '>'))) {
			lines[l.line_count++] = (struct line){ .function = function(p, inner + 1) };
			*inner = '\0';
		}
		if (*frame != '?')
			lines[l.line_count++] = (struct line){ .function = function(p, frame) };
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
	if (node && !l.line_count)
		buf_put_byte(out, '?');
	for (uint32_t i = l.line_count; i > 0; i--) {
		const struct function *f = profile_get_function(p, l.lines[i - 1].function);

		buf_printf(out, "%s%s", i < l.line_count ? ">" : "", profile_text(p, f->name));
	}
}

static struct profile *profile_of(const char *text, const char *state)
{
	struct profile *p = profile_new();
	struct label label = { .key = profile_str(p, "state"), .str = profile_str(p, state) };

	profile_add_type(p, "offcpu", "nanoseconds");
	profile_add_type(p, "cpu", "nanoseconds");
	profile_add(p, stack(p, text), profile_add_labels(p, &label, 1), (int64_t[]){ 7, 0 });
	return p;
}

#define SYSCALL ";entry_SYSCALL_64_after_hwframe@k;do_syscall_64@k;"
#define SCHEDULE ";schedule@k;__schedule@k"

static const struct {
	const char *text, *state, *want, *named;
} rows[] = {
	{ "main;work;pthread_mutex_lock>lll_mutex_lock_optimized@c;__lll_lock_wait>futex_wait@c" SYSCALL
	  "__x64_sys_futex@k;do_futex@k;futex_wait@k;futex_do_wait@k" SCHEDULE,
	  "sleeping", "main;work;[futex]", "main;work;work [futex]" },
	{ "main;nap;usleep@c;__nanosleep@c;clock_nanosleep@c" SYSCALL
	  "__x64_sys_clock_nanosleep@k;do_nanosleep@k" SCHEDULE,
	  "sleeping", "main;nap;[clock_nanosleep]", "main;nap;nap [clock_nanosleep]" },
	/* the kernel's own function of the call is all that is left of it */
	{ "main;load;read>__GI___libc_read@c" SYSCALL "ksys_read@k;vfs_read@k;pipe_read@k" SCHEDULE,
	  "sleeping", "main;load;[read]", "main;load;load [read]" },
	{ "main;serve;epoll_wait@c" SYSCALL "do_epoll_wait@k;ep_poll@k" SCHEDULE, "sleeping",
	  "main;serve;[epoll_wait]", "main;serve;serve [epoll_wait]" },
	/* other functions of libc stay */
	{ "main;getaddrinfo@c;__poll@c" SYSCALL "__x64_sys_poll@k" SCHEDULE, "sleeping",
	  "main;getaddrinfo;[poll]", "main;getaddrinfo;getaddrinfo [poll]" },
	/* a lock that is inlined into the program */
	{ "main;work>std::mutex::lock()>__gthread_mutex_lock;pthread_mutex_lock@c" SYSCALL
	  "__x64_sys_futex@k" SCHEDULE,
	  "sleeping", "main;work;[futex]", "main;work;work [futex]" },
	/* a function of the program that is named like one of libc */
	{ "main;wait;poll@c" SYSCALL "__x64_sys_poll@k" SCHEDULE, "sleeping", "main;wait;[poll]",
	  "main;wait;wait [poll]" },
	/* nothing but wrappers */
	{ "start_thread>pthread_cond_wait@c" SYSCALL "__x64_sys_futex@k" SCHEDULE, "sleeping",
	  "start_thread;[futex]", "start_thread;start_thread [futex]" },
	{ "pthread_mutex_lock@c;__lll_lock_wait@c" SYSCALL "__x64_sys_futex@k" SCHEDULE, "sleeping",
	  "pthread_mutex_lock;[futex]", "pthread_mutex_lock;pthread_mutex_lock [futex]" },
	/* a page of a file */
	{ "main;scan;asm_exc_page_fault@k;exc_page_fault@k;filemap_fault@k;io_schedule@k" SCHEDULE,
	  "iowait", "main;scan;[page fault]", "main;scan;scan [page fault]" },
	/* it could run */
	{ "main;spin", "preempted", "main;spin;[preempted]", "main;spin;spin [preempted]" },
	{ "main;pthread_mutex_lock@c", "preempted", "main;pthread_mutex_lock;[preempted]",
	  "main;pthread_mutex_lock;pthread_mutex_lock [preempted]" },
	{ "main;nap;clock_nanosleep@c" SYSCALL "__x64_sys_clock_nanosleep@k" SCHEDULE, "runnable",
	  "main;nap;[runnable]", "main;nap;nap [runnable]" },
	{ "main;load;read@c" SYSCALL "ksys_read@k" SCHEDULE, "runnable", "main;load;[runnable]",
	  "main;load;load [runnable]" },
	{ "main;load;read@c" SYSCALL "ksys_read@k;__cond_resched@k" SCHEDULE, "preempted",
	  "main;load;read;[preempted]", "main;load;read;read [preempted]" },
	/* the kernel may not be seen */
	{ "main;work;pthread_mutex_lock@c;__lll_lock_wait@c", "unknown", "main;work;[futex]",
	  "main;work;work [futex]" },
	{ "main;nap;clock_nanosleep@c", "sleeping", "main;nap;[clock_nanosleep]",
	  "main;nap;nap [clock_nanosleep]" },
	{ "main;work", "sleeping", "main;work;[sleeping]", "main;work;work [sleeping]" },
	/* without a name */
	{ "main;?;poll@c" SYSCALL "__x64_sys_poll@k" SCHEDULE, "sleeping", "main;?;[poll]",
	  "main;?;[unknown] [poll]" },
	/* a kernel thread */
	{ "ret_from_fork@k;kthread@k;worker_thread@k" SCHEDULE, "sleeping",
	  "ret_from_fork;kthread;worker_thread", "ret_from_fork;kthread;worker_thread" },
	{ "__schedule@k", "sleeping", "__schedule", "__schedule" },
	{ "[new thread]", "runnable", "[new thread]", "[new thread]" },
	{ "", "sleeping", "", "" },
};

static void check(struct profile *p, enum wait_leaf leaf, const char *want)
{
	CLEANUP(buf_fini) struct buf got = { 0 };
	struct sample s;
	struct err e;

	CHECK_INT(profile_charge_waits(&p, leaf, &e), 0);
	CHECK_INT(profile_sample_count(p), 1);
	s = profile_get_sample(p, 0);
	put_frame(&got, p, s.node);
	CHECK_STR(got.data ? got.data : "", want);
	CHECK_INT(s.values[0], 7);
	profile_free(p);
}

static void test_stacks(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check(profile_of(rows[i].text, rows[i].state), WAIT_LEAF_REASON, rows[i].want);
		check(profile_of(rows[i].text, rows[i].state), WAIT_LEAF_NAMED, rows[i].named);
	}
}

/* CPU time stays where it was sampled, also of a sample that has both. */
static void test_cpu(void)
{
	struct profile *p = profile_of("main;f;schedule@k", "sleeping");
	struct err e;

	profile_add(p, stack(p, "main;g;schedule@k"), 0, (int64_t[]){ 3, 5 });
	CHECK_INT(profile_charge_waits(&p, WAIT_LEAF_REASON, &e), 0);
	CHECK_INT(profile_sample_count(p), 3);
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		static const char *const want[] = { "main;f;[sleeping]", "main;g;[off the CPU]",
						    "main;g;schedule" };
		CLEANUP(buf_fini) struct buf got = { 0 };
		struct sample s = profile_get_sample(p, i);

		put_frame(&got, p, s.node);
		CHECK_STR(got.data, want[i]);
		CHECK_INT(s.values[1], i == 2 ? 5 : 0);
	}
	profile_free(p);
}

static void test_no_waits(void)
{
	struct profile *p = profile_new(), *before = p;
	struct err e;

	profile_add_type(p, "cpu", "nanoseconds");
	profile_add(p, stack(p, "main;schedule@k"), 0, (int64_t[]){ 1 });
	CHECK_INT(profile_charge_waits(&p, WAIT_LEAF_NAMED, &e), 0);
	CHECK(p == before);
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_stacks);
	TAP_CASE(test_cpu);
	TAP_CASE(test_no_waits);
	return tap_done();
}
