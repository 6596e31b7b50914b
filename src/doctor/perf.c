/* SPDX-License-Identifier: MIT */
/* Checks of perf_event_open(2). */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/privilege.h"
#include "doctor/checks.h"
#include "sample/attr.h"
#include "sample/ring.h"
#include "sample/tracefs.h"

#define PARANOID_REMEDY "%s, CAP_PERFMON, or 'sysctl kernel.perf_event_paranoid=%d'"
#define RING_BYTES ((size_t)512 << 10) /* the least of a recording, two a CPU */

static struct perf_event_attr attr_of(const struct event *event)
{
	const struct attr_opts o = { .period = 1000000, .stack = STACK_NONE };

	return attr_sampling(event, &o);
}

static void report_paranoid(struct doctor_finding *f, enum doctor_state state, int wanted,
			    const char *found)
{
	char remedy[128];

	snprintf(remedy, sizeof remedy, PARANOID_REMEDY, privilege_root(), wanted);
	doctor_report(f, state, remedy, "%s", found);
}

void doctor_cpu_sampling(struct doctor_finding *f)
{
	struct perf_event_attr attr = attr_of(&event_cpu_clock);
	bool is_user_only = false;
	struct err e;

	if (attr_probe(&attr, event_cpu_clock.name, &is_user_only, &e) < 0)
		doctor_report_failure(f, &e);
	else if (is_user_only)
		report_paranoid(f, DOCTOR_PARTLY, 1, "user code only, without the kernel");
	else
		doctor_report(f, DOCTOR_WORKS, "", "user code and kernel");
}

static bool is_virtual(void)
{
	char text[16384];

	return doctor_read("/proc/cpuinfo", text, sizeof text) && strstr(text, " hypervisor");
}

void doctor_hardware(struct doctor_finding *f)
{
	static const struct {
		const char *name;
		uint64_t config;
	} events[] = {
		{ "cycles", PERF_COUNT_HW_CPU_CYCLES },
		{ "instructions", PERF_COUNT_HW_INSTRUCTIONS },
		{ "cache-references", PERF_COUNT_HW_CACHE_REFERENCES },
		{ "cache-misses", PERF_COUNT_HW_CACHE_MISSES },
		{ "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ "branch-misses", PERF_COUNT_HW_BRANCH_MISSES },
	};
	char missing[128] = "";
	size_t lacking = 0;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		struct event event = { .type = PERF_TYPE_HARDWARE, .config = events[i].config };
		struct perf_event_attr attr = attr_of(&event);
		bool is_user_only;

		if (attr_probe(&attr, events[i].name, &is_user_only, &e) == 0)
			continue;
		lacking++;
		strncat(missing, " ", sizeof missing - strlen(missing) - 1);
		strncat(missing, events[i].name, sizeof missing - strlen(missing) - 1);
	}
	if (lacking == 0)
		doctor_report(f, DOCTOR_WORKS, "", "cycles, instructions, caches, branches");
	else if (lacking < ARRAY_LEN(events))
		doctor_report(f, DOCTOR_PARTLY, "", "without%s", missing);
	else if (e.code != -ENOENT)
		doctor_report_failure(f, &e);
	else if (is_virtual())
		doctor_report(f, DOCTOR_FAILS,
			      "have the host pass its counters on (QEMU: -cpu host,pmu=on); until "
			      "then samples are taken by the clock",
			      "this virtual machine has no performance counters");
	else
		doctor_report(
			f, DOCTOR_FAILS,
			"look for the driver in 'dmesg | grep -i pmu'; until then samples are "
			"taken by the clock",
			"the kernel has no driver for the performance counters of this processor");
}

/* Opens an event. A descriptor, or -errno with the finding in f. */
static int open_event(const struct event *event, pid_t pid, struct doctor_finding *f)
{
	struct perf_event_attr attr = attr_of(event);
	int fd = attr_open(&attr, pid, pid < 0 ? sched_getcpu() : -1);
	struct err e;

	if (fd >= 0)
		return fd;
	attr_explain(fd, event->name, pid, &e);
	doctor_report_failure(f, &e);
	return fd;
}

void doctor_whole_machine(struct doctor_finding *f)
{
	int fd = open_event(&event_cpu_clock, -1, f);

	if (fd < 0)
		return;
	close(fd);
	doctor_report(f, DOCTOR_WORKS, "", "all processes of all users");
}

void doctor_off_cpu(struct doctor_finding *f)
{
	const struct event event = { .name = "context-switches",
				     .type = PERF_TYPE_SOFTWARE,
				     .config = PERF_COUNT_SW_CONTEXT_SWITCHES };
	struct perf_event_attr attr = attr_of(&event);
	bool is_user_only = false;
	struct err e;

	if (attr_probe(&attr, event.name, &is_user_only, &e) < 0)
		doctor_report_failure(f, &e);
	else if (is_user_only)
		report_paranoid(f, DOCTOR_PARTLY, 1, "off-CPU times without stacks");
	else
		doctor_report(f, DOCTOR_WORKS, "", "off-CPU times with stacks");
}

void doctor_tracepoints(struct doctor_finding *f)
{
	struct event event = { .name = "sched:sched_switch", .type = PERF_TYPE_TRACEPOINT };
	char path[128], text[32];
	int fd;

	snprintf(path, sizeof path, "%s/events/sched/sched_switch/id", tracefs_path());
	if (!doctor_read(path, text, sizeof text)) {
		bool is_denied = errno == EACCES || errno == EPERM;

		doctor_report(
			f, DOCTOR_FAILS,
			is_denied ? "root, or 'mount -o remount,gid=GROUP,mode=755 " TRACEFS_FOLDER
				    "'"
				  : "'mount -t tracefs none " TRACEFS_FOLDER "'",
			"%s: %s", path, strerror(errno));
		return;
	}
	event.config = strtoull(text, NULL, 10);
	fd = open_event(&event, 0, f);
	if (fd < 0)
		return;
	close(fd);
	doctor_report(f, DOCTOR_WORKS, "", "events of the kernel's tracefs");
}

/* Locks what a recording locks on one CPU: two rings. -ENOBUFS: too little may be locked. */
static int try_rings(struct err *e)
{
	struct perf_event_attr attr = attr_of(&event_cpu_clock);
	struct ring rings[2] = { { 0 } };
	int fds[2] = { -1, -1 }, rc = 0;
	bool is_user_only;

	if (attr_probe(&attr, event_cpu_clock.name, &is_user_only, e) < 0)
		return e->code;
	for (size_t i = 0; i < ARRAY_LEN(fds) && rc == 0; i++) {
		fds[i] = attr_open(&attr, 0, sched_getcpu());
		rc = fds[i] < 0 ? attr_explain(fds[i], event_cpu_clock.name, 0, e)
				: ring_open(&rings[i], fds[i], RING_BYTES);
		if (fds[i] >= 0 && rc < 0)
			rc = err_set(e, rc == -EPERM ? -ENOBUFS : rc, "no rings: %s",
				     strerror(-rc));
	}
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		ring_close(&rings[i]);
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return rc;
}

void doctor_ring_memory(struct doctor_finding *f)
{
	struct err e;
	int rc = try_rings(&e);

	if (rc == 0)
		doctor_report(f, DOCTOR_WORKS, "", "1 MiB can be locked for rings of one CPU");
	else if (rc == -ENOMEM)
		f->bad = true;
	else if (rc == -ENOBUFS)
		doctor_report(
			f, DOCTOR_PARTLY,
			"'ulimit -l unlimited', CAP_IPC_LOCK, or "
			"'sysctl kernel.perf_event_mlock_kb=2048'",
			"little memory may be locked (kernel.perf_event_mlock_kb is %lld): rings "
			"are smaller and may lose samples",
			(long long)attr_sysctl("perf_event_mlock_kb", 0));
	else
		doctor_report_failure(f, &e);
}

void doctor_kernel_symbols(struct doctor_finding *f)
{
	char text[64];

	if (!doctor_read("/proc/kallsyms", text, sizeof text) || !text[0])
		doctor_report(f, DOCTOR_FAILS, "a kernel with CONFIG_KALLSYMS",
			      "no /proc/kallsyms to name the kernel's functions by");
	else if (strtoull(text, NULL, 16) == 0)
		doctor_report(f, DOCTOR_FAILS,
			      "root, CAP_SYSLOG, or 'sysctl kernel.kptr_restrict=0 "
			      "kernel.perf_event_paranoid=1'",
			      "/proc/kallsyms hides addresses (kernel.kptr_restrict is %lld, "
			      "kernel.perf_event_paranoid %lld)",
			      (long long)attr_sysctl("kptr_restrict", -1),
			      (long long)attr_sysctl("perf_event_paranoid", -1));
	else
		doctor_report(f, DOCTOR_WORKS, "", "/proc/kallsyms has addresses");
}
