/* SPDX-License-Identifier: MIT */
/* doctor_inside: the checks, by what they look at, and what they share. */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "doctor/doctor.h"

/* The finding in words. remedy: the words as they are, "" none. */
void doctor_say(struct doctor_finding *f, enum doctor_state state, const char *remedy,
		const char *fmt, ...) PRINTF(4, 5);

/* What does not work, in words of the form "FOUND; needs REMEDY". */
void doctor_say_failure(struct doctor_finding *f, const struct err *e);

/* The start of a file, with a NUL behind. false: it cannot be read, errno tells why. */
bool doctor_read(const char *path, char *text, size_t size);

/* Is a program of this name on the PATH? */
bool doctor_has_program(const char *name);

/*
 * Runs a program and takes the start of what it prints on standard output. Its exit status; 127:
 * there is none of this name; -1: it took too long, and was killed.
 */
int doctor_run(const char *const *argv, char *text, size_t size);

/* Calls it in a child of its own: what it returns, 0..125; 255 when it took too long. */
int doctor_try(int (*call)(void));

void doctor_cpu_sampling(struct doctor_finding *f);
void doctor_hardware(struct doctor_finding *f);
void doctor_whole_machine(struct doctor_finding *f);
void doctor_off_cpu(struct doctor_finding *f);
void doctor_tracepoints(struct doctor_finding *f);
void doctor_ring_memory(struct doctor_finding *f);
void doctor_kernel_symbols(struct doctor_finding *f);

void doctor_debug_symbols(struct doctor_finding *f);
void doctor_accounting(struct doctor_finding *f);
void doctor_ends(struct doctor_finding *f);
void doctor_pressure(struct doctor_finding *f);
void doctor_cgroups(struct doctor_finding *f);
void doctor_open_files(struct doctor_finding *f);
void doctor_ptrace(struct doctor_finding *f);
void doctor_bpf(struct doctor_finding *f);
void doctor_fuse(struct doctor_finding *f);

void doctor_slurm(struct doctor_finding *f);
void doctor_pmix(struct doctor_finding *f);
void doctor_libfabric(struct doctor_finding *f);

#endif
