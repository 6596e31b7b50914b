/* SPDX-License-Identifier: MIT */
#include "sample/attr.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/privilege.h"
#include "perf/user_stack.h"

#define BIT(n) (UINT64_C(1) << (n))

static struct perf_event_attr attr_common(const struct attr_opts *o)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.disabled = 1,
		.inherit = o->has_inherit,
		.enable_on_exec = o->has_exec,
		.sample_id_all = 1,
		.watermark = 1,
		.wakeup_watermark = 1, /* the ring owner's watermark counts */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static void take_stacks(struct perf_event_attr *attr, const struct attr_opts *o)
{
	if (o->stack == STACK_NONE)
		return;
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (o->stack == STACK_FP)
		return;
	/* The same for all events, because their samples share rings; samples in the kernel have
	 * the user stack, too. The frame-pointer chain continues copies that are too short. */
	attr->exclude_callchain_user = o->has_no_user_chain;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = user_stack_regs(user_stack_machine());
	attr->sample_stack_user = o->stack_bytes;
}

/* With PERF_SAMPLE_PERIOD the kernel ignores a fixed period of software events: each event is a
 * sample (kernel/events/core.c, perf_swevent_event). */
static void take_rate(struct perf_event_attr *attr, const struct event *event,
		      const struct attr_opts *o)
{
	attr->sample_period = event_period(event, o->period);
	if (!attr->sample_period) {
		attr->freq = 1;
		attr->sample_freq = o->frequency_hz;
	} else if (attr->sample_period > 1) {
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	}
}

struct perf_event_attr attr_sampling(const struct event *event, const struct attr_opts *o)
{
	struct perf_event_attr attr = attr_common(o);

	attr.type = event->type;
	attr.config = event->config;
	attr.config1 = event->config1;
	attr.config2 = event->config2;
	attr.precise_ip = event->precise & 3;
	attr.exclude_kernel = o->is_user_only || event->is_user_only;
	attr.exclude_user = o->is_kernel_only || event->is_kernel_only;
	attr.exclude_hv = attr.exclude_kernel;
	attr.exclude_guest = 1;
	attr.exclude_idle = event->is_clock && !o->has_idle; /* an idle CPU uses no CPU time */
	attr.read_format = PERF_FORMAT_LOST;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	take_stacks(&attr, o);
	if (o->has_raw)
		attr.sample_type |= PERF_SAMPLE_RAW;
	if (o->has_raw && o->stack == STACK_NONE) /* each costs time, and these are not used */
		attr.sample_type &= ~(uint64_t)(PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD);
	if (o->has_address)
		attr.sample_type |= PERF_SAMPLE_ADDR;
	if (o->has_identifier)
		attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
	take_rate(&attr, event, o);
	if (o->wakes_each) {
		attr.watermark = 0;
		attr.wakeup_events = 1;
	}
	if (o->is_raw_only)
		attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
	if (o->has_raw && !(attr.sample_type & PERF_SAMPLE_REGS_USER)) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER; /* is it 32-bit code? */
		attr.sample_regs_user = 1;                 /* the kernel refuses none */
	}
	return attr;
}

struct perf_event_attr attr_side_band(const struct attr_opts *o)
{
	struct perf_event_attr attr = attr_common(o);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TIME | (o->has_identifier ? PERF_SAMPLE_IDENTIFIER : 0);
	attr.exclude_kernel = 1; /* its records need no permission to see the kernel */
	attr.exclude_hv = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	/* No build ids: when one event requests them, the kernel (to 6.18) sets their flag in the
	 * records of other recorders, too, which have none, and perf 6.1 aborts on those. */
	attr.mmap_data = o->has_data_maps || o->has_address;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	return attr;
}

#define SWITCH_DEEP_HZ 4000 /* samples a second, thread and CPU */

/* The kernel's chain shows why a thread waits, even when it is not printed. */
static void take_switch_stack(struct perf_event_attr *attr, const struct attr_opts *o)
{
	take_stacks(attr, o);
	attr->exclude_callchain_user |= o->is_kernel_only || o->stack == STACK_DWARF;
	if (o->is_kernel_only)
		attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
}

struct perf_event_attr attr_switch(enum attr_switch kind, const struct attr_opts *o,
				   uint64_t tracepoint)
{
	struct perf_event_attr attr = attr_common(o);

	attr.type = tracepoint ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE;
	attr.config = tracepoint ? tracepoint : PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr.sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	if (tracepoint && kind != ATTR_SWITCH_DEEP)
		attr.sample_type |= PERF_SAMPLE_RAW;
	attr.sample_period = 1;
	attr.context_switch = kind == ATTR_SWITCH_EACH;
	if (kind != ATTR_SWITCH_WAKE)
		take_switch_stack(&attr, o);
	if (kind == ATTR_SWITCH_DEEP) {
		attr.freq = 1;
		attr.sample_freq = SWITCH_DEEP_HZ;
	}
	return attr;
}

struct perf_event_attr attr_ring_owner(const struct attr_opts *o)
{
	struct perf_event_attr attr = attr_common(o);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.inherit = 0;
	attr.enable_on_exec = 0;
	return attr;
}

int attr_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	for (;;) {
		long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0)
			return (int)fd;
		if (errno != EINVAL)
			return -errno;
		if (!(attr->read_format & PERF_FORMAT_LOST))
			return -EINVAL;
		attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST; /* before 6.0 */
	}
}

static bool is_denied(int code)
{
	return code == -EACCES || code == -EPERM;
}

static bool is_missing(int code)
{
	return code == -ENOENT || code == -EOPNOTSUPP || code == -ENODEV || code == -ENXIO;
}

int attr_probe(struct perf_event_attr *attr, const char *name, bool *ret_no_kernel, struct err *e)
{
	for (;;) {
		int fd = attr_open(attr, 0, -1);

		if (fd >= 0) {
			close(fd);
			return 0;
		}
		if ((is_missing(fd) || fd == -EINVAL) && attr->precise_ip) {
			attr->precise_ip--;
		} else if (fd == -EINVAL && attr->exclude_guest) {
			attr->exclude_guest = 0; /* some PMUs support no exclusion */
		} else if (is_denied(fd) && !attr->exclude_kernel && !attr->exclude_user) {
			attr->exclude_kernel = 1;
			attr->exclude_hv = 1;
			*ret_no_kernel = true;
		} else if (is_missing(fd)) {
			attr_explain(fd, name, 0, e);
			return -ENOENT;
		} else {
			return attr_explain(fd, name, 0, e);
		}
	}
}

int64_t attr_sysctl(const char *name, int64_t fallback)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct err e;

	buf_printf(&path, "/proc/sys/kernel/%s", name);
	if (buf_error(&path) < 0 || file_read_small(path.data, 64, &text, &e) < 0 || !text.data)
		return fallback;
	return strtoll(text.data, NULL, 10);
}

static int explain_filter(int code, struct err *e)
{
	return err_set(
		e, code,
		"a seccomp filter refuses perf_event_open(2); needs a container with 'docker run "
		"--cap-add PERFMON'");
}

static int explain_denied(int code, const char *name, pid_t pid, struct err *e)
{
	int64_t paranoid = attr_sysctl("perf_event_paranoid", -2);

	if (privilege_is_filtered(SYS_perf_event_open))
		return explain_filter(code, e);
	if (paranoid == -2)
		return err_set(e, code, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
	if (privilege_has_kernel(BIT(CAP_PERFMON)))
		return err_set(
			e, code,
			"event '%s': perf_event_open(2) is refused to root, too: by a security module?",
			name);
	if (pid == -1 && paranoid > 0)
		return err_set(e, code,
			       "all processes: kernel.perf_event_paranoid is %lld; needs %s, "
			       "CAP_PERFMON or 'sysctl kernel.perf_event_paranoid=0'",
			       (long long)paranoid, privilege_root());
	if (paranoid > 2)
		return err_set(e, code,
			       "kernel.perf_event_paranoid is %lld; needs %s, CAP_PERFMON or "
			       "'sysctl kernel.perf_event_paranoid=2'",
			       (long long)paranoid, privilege_root());
	if (pid > 0)
		return err_set(e, code,
			       "process %d cannot be sampled; needs its user, root, or "
			       "CAP_PERFMON and CAP_SYS_PTRACE",
			       (int)pid);
	if (paranoid > 1 || code == -EACCES)
		return err_set(e, code,
			       "event '%s': kernel.perf_event_paranoid is %lld; needs %s, "
			       "CAP_PERFMON or 'sysctl kernel.perf_event_paranoid=-1'",
			       name, (long long)paranoid, privilege_root());
	return err_set(e, code,
		       "event '%s': perf_event_open(2) is refused; needs %s or CAP_PERFMON", name,
		       privilege_root());
}

int attr_explain(int code, const char *name, pid_t pid, struct err *e)
{
	if (is_denied(code))
		return explain_denied(code, name, pid, e);
	if (is_missing(code))
		return err_set(e, code, "event '%s': this machine cannot count it", name);
	switch (code) {
	case -ENOSYS:
		if (privilege_is_filtered(SYS_perf_event_open))
			return explain_filter(code, e);
		return err_set(e, code, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
	case -EMFILE:
		return err_set(e, code,
			       "too many open files: a thread needs two a CPU; raise 'ulimit -n', "
			       "or choose CPUs by --cpu");
	case -EBUSY:
		return err_set(e, code, "event '%s': the counters are in use by another process",
			       name);
	case -ESRCH:
		return err_set(e, code, "process %d does not exist", (int)pid);
	default:
		return err_set(e, code, "event '%s': %s", name, strerror(-code));
	}
}
