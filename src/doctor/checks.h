/* SPDX-License-Identifier: MIT */
/* checks: one function a check; each fills in its finding. */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include <sys/types.h>

#include "doctor/probe.h"

/* In a child: forks a target that waits, and a sibling of it that makes the call. Returns what that
 * returns, or an errno. */
int doctor_try_sibling(int (*call)(pid_t target));

void doctor_cpu_sampling(struct doctor_finding *f);
void doctor_hardware(struct doctor_finding *f);
void doctor_whole_machine(struct doctor_finding *f);
void doctor_off_cpu(struct doctor_finding *f);
void doctor_tracepoints(struct doctor_finding *f);
void doctor_ring_memory(struct doctor_finding *f);
void doctor_kernel_symbols(struct doctor_finding *f);

void doctor_debug_symbols(struct doctor_finding *f);
void doctor_debuginfod(struct doctor_finding *f);
void doctor_disassembler(struct doctor_finding *f);
void doctor_accounting(struct doctor_finding *f);
void doctor_process_exits(struct doctor_finding *f);
void doctor_pressure(struct doctor_finding *f);
void doctor_cgroups(struct doctor_finding *f);
void doctor_open_files(struct doctor_finding *f);
void doctor_ptrace(struct doctor_finding *f);
void doctor_heap(struct doctor_finding *f);
void doctor_bpf(struct doctor_finding *f);
void doctor_python(struct doctor_finding *f);
void doctor_fuse(struct doctor_finding *f);

void doctor_relocate(struct doctor_finding *f);

void doctor_overlay(struct doctor_finding *f);
void doctor_slurm(struct doctor_finding *f);

#endif
