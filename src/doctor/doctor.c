/* SPDX-License-Identifier: MIT */
#include "doctor/doctor.h"

#include <stddef.h>

#include "doctor/checks.h"

/* clang-format off */
const struct doctor_check doctor_checks[] = {
	{ "cpu sampling", "record, top", doctor_cpu_sampling },
	{ "hardware counters", "record -e cycles", doctor_hardware },
	{ "whole machine", "record -a, top", doctor_whole_machine },
	{ "off-CPU stacks", "record --off-cpu", doctor_off_cpu },
	{ "tracepoints", "record -e sched:sched_switch", doctor_tracepoints },
	{ "ring memory", "record without losses", doctor_ring_memory },
	{ "open files", "record -p of many threads", doctor_open_files },
	{ "kernel symbols", "names of kernel functions", doctor_kernel_symbols },
	{ "debug symbols", "names inside of libc", doctor_debug_symbols },
	{ "accounting", "bytes and waits of processes", doctor_accounting },
	{ "process ends", "stat of brief processes", doctor_process_exits },
	{ "pressure", "stalls of the machine", doctor_pressure },
	{ "cgroups", "limits and throttling", doctor_cgroups },
	{ "ptrace", "attaching to running programs", doctor_ptrace },
	{ "BPF", "counting inside of the kernel", doctor_bpf },
	{ "FUSE", "mounting file systems", doctor_fuse },
	{ "relocating", "relocate", doctor_relocate },
	{ "Slurm", "stat, stages --sacct", doctor_slurm },
	{ NULL, NULL, NULL },
};
/* clang-format on */
