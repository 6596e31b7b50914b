/* SPDX-License-Identifier: MIT */
#include "model/wait_frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/rows.h"
#include "base/str.h"
#include "model/merge.h"

#define REASON_MAX 64 /* characters of a system call's name */

/* Starts of the names of functions that take a lock or wait for one, without the underscores and
 * "GI_", "libc_", "new_" in front of them. */
static const char *const locks[] = {
	"pthread_",      "sem_",
	"lll_",          "futex_",
	"mtx_",          "cnd_",
	"gthread_",      "std::mutex::",
	"std::timed_",   "std::recursive_",
	"std::shared_",  "std::condition_variable",
	"std::thread::", "std::unique_lock<",
	"std::scoped_",  "std::lock_guard<",
	"std::lock<",    "std::this_thread::sleep_",
	"timedwait",     NULL,
};

/* Wrappers whose system call has another name. Only in libc: programs have such names, too. */
static const char *const wrappers[] = {
	"sleep",
	"usleep",
	"nanosleep",
	"clock_nanosleep",
	"thrd_sleep",
	"poll",
	"ppoll",
	"select",
	"pselect",
	"wait",
	"wait3",
	"waitpid",
	"waitid",
	"wait4",
	"recv",
	"send",
	"accept",
	"epoll_wait",
	"epoll_pwait",
	"syscall",
	"open",
	"fork",
	"arch_fork",
	"sigwait",
	"sigtimedwait",
	"sigwaitinfo",
	"sigsuspend",
	"pause",
	"internal_syscall_cancel",
	"syscall_cancel",
	"syscall_cancel_arch",
	NULL,
};

/* Starts of the names of kernel functions that switch to another thread or wait for a lock. */
static const char *const scheduler[] = {
	"schedule",  "__schedule",   "io_schedule", "preempt_schedule", "wait_for_completion",
	"__wait_fo", "do_wait_for_", "mutex_lock",  "__mutex_lock",     "rwsem_",
	"down_",     "__down_",      "futex_",      "__cond_resched",   NULL,
};

/* The entries of the kernel: the frame after one of them has the name of the system call. */
static const char *const entries[] = {
	"entry_", "do_syscall", "x64_sys_call", "ia32_sys_call", "do_fast_syscall", "do_int80",
	"el0",    "do_el0_svc", "invoke_sysc",  "__invoke_sysc", "syscall_",        NULL,
};

/* What the kernel puts before a system call's name. */
static const char *const prefixes[] = {
	"__x64_sys_",   "__ia32_sys_", "__ia32_compat_sys_",
	"__arm64_sys_", "__se_sys_",   "__do_sys_",
	"ksys_",        "core_sys_",   "__sys_",
	"do_sys_",      "kernel_",     "kern_",
	"do_",          "sys_",        NULL,
};

/* One wait while its stack is changed. */
struct wait {
	struct profile *p;
	enum wait_leaf leaf;
	struct rows stack; /* uint32_t node ids, leaf first */
	size_t kernel;     /* of them, at the start: the kernel's */
	const char *state; /* "sleeping"; "": unknown */
	char reason[REASON_MAX];
};

static bool starts_with_any(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (text_starts_with(name, *list))
			return true;
	return false;
}

static uint32_t node_at(const struct wait *w, size_t i)
{
	return ((const uint32_t *)w->stack.data)[i];
}

static struct location location_at(const struct wait *w, size_t i)
{
	return profile_get_location(w->p, profile_get_node(w->p, node_at(w, i)).location);
}

static const char *name_of(const struct wait *w, const struct line *line)
{
	return profile_text(w->p, profile_get_function(w->p, line->function)->name);
}

/* The outermost function of a frame. */
static const char *outer_name(const struct wait *w, size_t i)
{
	struct location l = location_at(w, i);

	return l.line_count ? name_of(w, &l.lines[l.line_count - 1]) : "";
}

static const char *path_of(const struct wait *w, const struct location *l)
{
	return profile_text(w->p, profile_get_mapping(w->p, l->mapping)->path);
}

/* "[kernel.kallsyms]", "[ext4]". */
static bool is_kernel(const struct wait *w, size_t i)
{
	static const char *const users[] = { "[vdso",  "[vsyscall", "[anon", "[heap",
					     "[stack", "[jit",      NULL };
	struct location l = location_at(w, i);
	const char *path = path_of(w, &l);

	return *path == '[' && !starts_with_any(path, users);
}

static bool is_libc(const char *path)
{
	static const char *const files[] = { "libc.", "libc-", "libpthread", "ld-", NULL };

	return starts_with_any(path_base(path), files);
}

/* "__GI___libc_read": "read". */
static const char *skip_decoration(const char *name)
{
	static const char *const marks[] = { "_", "GI_", "libc_", "new_", NULL };

	for (size_t i = 0; marks[i];) {
		if (text_starts_with(name, marks[i])) {
			name += strlen(marks[i]);
			i = 0;
		} else {
			i++;
		}
	}
	return name;
}

/* "read", "read_nocancel", "clock_nanosleep_time64": of the system call in brackets. */
static bool is_call(const char *name, const char *reason)
{
	size_t len = strlen(reason);
	const char *rest;

	if (len < 3 || strncmp(name, reason + 1, len - 2) != 0)
		return false;
	rest = name + len - 2;
	return !*rest || *rest == '6' || *rest == '.' || text_starts_with(rest, "_nocancel") ||
	       text_starts_with(rest, "_cancel") || text_starts_with(rest, "_time64");
}

static bool is_in(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

/* Does this function of the program only wait? */
static bool is_wrapper(const struct wait *w, const struct location *l, const struct line *line)
{
	const char *name = skip_decoration(name_of(w, line));

	return starts_with_any(name, locks) || is_call(name, w->reason) ||
	       (is_libc(path_of(w, l)) && is_in(name, wrappers));
}

/* Puts the name in brackets. */
static void set_reason(struct wait *w, const char *name, size_t len)
{
	if (len > REASON_MAX - 3)
		len = REASON_MAX - 3;
	snprintf(w->reason, sizeof w->reason, "[%.*s]", (int)len, name);
}

/* The system call that the kernel's frames have entered, from the outermost on. */
static bool find_call(struct wait *w)
{
	bool is_entered = false;

	for (size_t i = w->kernel; i-- > 0;) {
		const char *name = outer_name(w, i), *const *prefix = prefixes;

		if (starts_with_any(name, entries)) {
			is_entered = true;
			continue;
		}
		while (*prefix && !text_starts_with(name, *prefix))
			prefix++;
		if (!is_entered || !*name || starts_with_any(name, scheduler))
			return false;
		name += *prefix ? strlen(*prefix) : 0;
		set_reason(w, name, strcspn(name, "."));
		return true;
	}
	return false;
}

static bool has_page_fault(const struct wait *w)
{
	for (size_t i = 0; i < w->kernel; i++)
		if (strstr(outer_name(w, i), "page_fault") || strstr(outer_name(w, i), "mm_fault"))
			return true;
	return false;
}

static bool can_run(const struct wait *w)
{
	return strcmp(w->state, "preempted") == 0 || strcmp(w->state, "runnable") == 0;
}

/* Without the kernel's frames the wrappers themselves show the reason. */
static void find_reason(struct wait *w)
{
	struct location l = location_at(w, w->kernel);
	const char *name = l.line_count ? skip_decoration(name_of(w, l.lines)) : "";

	if (find_call(w))
		return;
	if (w->kernel && has_page_fault(w))
		set_reason(w, "page fault", strlen("page fault"));
	else if (!w->kernel && is_libc(path_of(w, &l)) && starts_with_any(name, locks))
		set_reason(w, "futex", strlen("futex"));
	else if (!w->kernel && is_libc(path_of(w, &l)))
		set_reason(w, name, strcspn(name, ".@"));
	else if (*w->state)
		set_reason(w, w->state, strlen(w->state));
	else
		set_reason(w, "off the CPU", strlen("off the CPU"));
}

/* A name in brackets, of the kernel if that is known. */
static uint32_t push_reason(struct wait *w, uint32_t parent)
{
	uint32_t name = profile_str(w->p, w->reason);
	struct line line = { .function = profile_add_function(
				     w->p,
				     &(struct function){ .name = name, .system_name = name }) };
	struct location l = { .lines = &line, .line_count = 1 };

	if (w->kernel)
		l.mapping = location_at(w, 0).mapping;
	return profile_push(w->p, parent, profile_add_location(w->p, &l));
}

/* The function by its name and the reason. */
static uint32_t name_with_reason(struct wait *w, uint32_t function)
{
	struct function f = *profile_get_function(w->p, function);
	char *name;

	if (asprintf(&name, "%s %s", f.name ? profile_text(w->p, f.name) : "[unknown]", w->reason) <
	    0) {
		profile_fail_nomem(w->p);
		return 0;
	}
	f.name = profile_str(w->p, name);
	free(name);
	return profile_add_function(w->p, &f);
}

/* The frame i without its innermost lines; is_named: and as one function, with the reason. */
static uint32_t push_rest(struct wait *w, uint32_t parent, size_t i, uint32_t skipped,
			  bool is_named)
{
	struct location l = location_at(w, i);
	uint32_t id, count = l.line_count > skipped ? l.line_count - skipped : 1;
	struct line *lines = calloc(count, sizeof *lines); /* those of the profile may move */

	if (!lines) {
		profile_fail_nomem(w->p);
		return 0;
	}
	if (l.line_count > skipped)
		memcpy(lines, l.lines + skipped, count * sizeof *lines);
	if (is_named)
		lines[0].function = name_with_reason(w, lines[0].function);
	l.lines = lines;
	l.line_count = is_named ? 1 : count;
	id = profile_push(w->p, parent, profile_add_location(w->p, &l));
	free(lines);
	return id;
}

/* The stack of the function that waits, with the reason on top. */
static uint32_t charge_function(struct wait *w)
{
	size_t count = w->stack.count, i = w->kernel;
	uint32_t skipped = 0, node;
	struct location l = location_at(w, i);

	find_reason(w);
	while (strcmp(w->state, "preempted") != 0 && l.line_count) {
		while (skipped < l.line_count && is_wrapper(w, &l, &l.lines[skipped]))
			skipped++;
		if (skipped < l.line_count || i + 1 == count)
			break;
		l = location_at(w, ++i);
		skipped = 0;
	}
	if (skipped && skipped == l.line_count)
		skipped--; /* nothing but wrappers: the outermost waits */
	if (can_run(w))    /* the call is over, or it waits for nothing but a CPU */
		set_reason(w, w->state, strlen(w->state));
	node = node_at(w, i);
	if (skipped)
		node = push_rest(w, profile_get_node(w->p, node).parent, i, skipped, false);
	return w->leaf == WAIT_LEAF_NAMED ? push_rest(w, node, i, skipped, true)
					  : push_reason(w, node);
}

/* A kernel thread: the scheduler's frames are left out. */
static uint32_t skip_scheduler(const struct wait *w)
{
	size_t i = 0;

	while (i + 1 < w->stack.count && starts_with_any(outer_name(w, i), scheduler))
		i++;
	return node_at(w, i);
}

static const char *state_of(const struct profile *p, uint32_t labels)
{
	const struct label *state = profile_find_label(p, labels, "state");

	return state && state->str ? profile_text(p, state->str) : "";
}

/* The node that a wait is charged to. */
static uint32_t charge(struct wait *w, const struct sample *s)
{
	w->stack.count = w->kernel = 0;
	w->state = state_of(w->p, s->labels);
	for (uint32_t node = s->node; node; node = profile_get_node(w->p, node).parent) {
		uint32_t *at = rows_add(&w->stack, sizeof node);

		if (!at) {
			profile_fail_nomem(w->p);
			return 0;
		}
		*at = node;
	}
	while (w->kernel < w->stack.count && is_kernel(w, w->kernel))
		w->kernel++;
	if (w->stack.count < 2)
		return s->node;
	return w->kernel == w->stack.count ? skip_scheduler(w) : charge_function(w);
}

/* targets: [sample_count], of the waits. */
static int copy(struct profile *dst, const struct profile *src, const uint32_t *targets, size_t off,
		struct err *e)
{
	struct profile_copier *c = profile_copier_new(dst, src, NULL, 0);
	size_t types = profile_type_count(src);

	if (!c)
		return err_nomem(e);
	profile_copy_head(dst, src);
	for (size_t i = 0; i < profile_sample_count(src); i++) {
		struct sample s = profile_get_sample(src, i);
		int64_t on[PROFILE_MAX_TYPES], waited[PROFILE_MAX_TYPES] = { 0 };
		uint32_t labels = profile_copy_labels(c, s.labels);
		bool has_more = s.values[off] == 0;

		memcpy(on, s.values, types * sizeof *on);
		waited[off] = on[off];
		on[off] = 0;
		for (size_t k = 0; k < types; k++)
			has_more |= on[k] != 0;
		if (waited[off])
			profile_add(dst, profile_copy_node(c, targets[i]), labels, waited);
		if (has_more)
			profile_add(dst, profile_copy_node(c, s.node), labels, on);
	}
	profile_copy_times(c, targets, off);
	profile_copier_free(c);
	return profile_check(dst, e);
}

int profile_charge_waits(struct profile **p, enum wait_leaf leaf, struct err *e)
{
	struct wait w = { .p = *p, .leaf = leaf };
	size_t count = profile_sample_count(*p);
	int off = profile_find_type(*p, "offcpu"), rc = 0;
	uint32_t *targets;
	struct profile *dst;

	if (off < 0)
		return 0;
	targets = calloc(count + 1, sizeof *targets);
	dst = profile_new();
	for (size_t i = 0; targets && i < count; i++) {
		struct sample s = profile_get_sample(*p, i);

		targets[i] = s.values[off] ? charge(&w, &s) : s.node;
	}
	rows_fini(&w.stack);
	if (!targets || !dst)
		rc = err_nomem(e);
	if (rc == 0)
		rc = profile_check(*p, e);
	if (rc == 0)
		rc = copy(dst, *p, targets, (size_t)off, e);
	free(targets);
	profile_free(rc < 0 ? dst : *p);
	if (rc == 0)
		*p = dst;
	return rc;
}
