/* SPDX-License-Identifier: MIT */
#include "doctor/doctor.h"

#include <stdio.h>

#include "doctor/checks.h"

const char *const doctor_weights[] = { "needed", "used", "extra", NULL };

static const struct doctor_task record = { "record", "record, top, view" };
static const struct doctor_task syscalls = { "system calls", "syscalls, stacks, record --off-cpu" };
static const struct doctor_task stat = { "whole job", "stat, stages" };
static const struct doctor_task python = { "Python", "frames of Python programs" };
static const struct doctor_task heap = { "heap", "heap" };
static const struct doctor_task cache = { "cache", "cache, control" };
static const struct doctor_task overlay = { "overlay", "cache launch" };
static const struct doctor_task relocate = { "relocate", "relocate" };

/* clang-format off */
const struct doctor_check doctor_checks[] = {
	{ &record, "cpu sampling", "record, top", doctor_cpu_sampling, DOCTOR_NEEDED },
	{ &record, "whole machine", "record -a, top", doctor_whole_machine, DOCTOR_USED },
	{ &record, "ring memory", "record without losses", doctor_ring_memory, DOCTOR_USED },
	{ &record, "kernel symbols", "names of kernel functions", doctor_kernel_symbols, DOCTOR_USED },
	{ &record, "hardware counters", "record -e cycles", doctor_hardware, DOCTOR_EXTRA },
	{ &record, "tracepoints", "record -e sched:sched_switch", doctor_tracepoints, DOCTOR_EXTRA },
	{ &record, "open files", "record -p of many threads", doctor_open_files, DOCTOR_EXTRA },
	{ &record, "debug symbols", "names inside of libc", doctor_debug_symbols, DOCTOR_EXTRA },
	{ &record, "debuginfod", "names inside of stripped programs", doctor_debuginfod, DOCTOR_EXTRA },
	{ &record, "disassembler", "instructions in annotate", doctor_disassembler, DOCTOR_EXTRA },
	{ &syscalls, "off-CPU stacks", "record --off-cpu", doctor_off_cpu, DOCTOR_USED },
	{ &syscalls, "BPF", "counting inside of the kernel", doctor_bpf, DOCTOR_USED },
	{ &syscalls, "ptrace", "attaching to running programs", doctor_ptrace, DOCTOR_USED },
	{ &stat, "accounting", "bytes and waits of processes", doctor_accounting, DOCTOR_NEEDED },
	{ &stat, "process ends", "stat of brief processes", doctor_process_exits, DOCTOR_USED },
	{ &stat, "pressure", "stalls of the machine", doctor_pressure, DOCTOR_EXTRA },
	{ &stat, "cgroups", "limits and throttling", doctor_cgroups, DOCTOR_EXTRA },
	{ &stat, "Slurm", "stat, stages --sacct", doctor_slurm, DOCTOR_EXTRA },
	{ &python, "Python", "record: exact Python functions", doctor_python, DOCTOR_NEEDED },
	{ &heap, "heap library", "heap", doctor_heap, DOCTOR_NEEDED },
	{ &cache, "FUSE", "mounting file systems", doctor_fuse, DOCTOR_NEEDED },
	{ &overlay, "overlay", "a cache over many nodes", doctor_overlay, DOCTOR_NEEDED },
	{ &relocate, "relocating", "relocate", doctor_relocate, DOCTOR_NEEDED },
	{ NULL, NULL, NULL, NULL, DOCTOR_EXTRA },
};
/* clang-format on */

void doctor_sum(struct doctor_finding *sum, const struct doctor_check *check,
		const struct doctor_finding *f)
{
	enum doctor_state state = f->state;

	if (check->weight == DOCTOR_EXTRA)
		return;
	if (check->weight != DOCTOR_NEEDED && state == DOCTOR_FAILS)
		state = DOCTOR_PARTLY;
	if (!sum->found[0])
		snprintf(sum->found, sizeof sum->found, "%s", f->found);
	else if (state > sum->state)
		snprintf(sum->found, sizeof sum->found, "%s: %s", check->name, f->found);
	if (state > sum->state)
		sum->state = state;
}
