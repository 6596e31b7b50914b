/* SPDX-License-Identifier: MIT */
/*
 * jobstat: runs a command and measures it by all accounting of the kernel.
 *
 * wait4(2) has the usage of the command and of descendants that were waited for, as /usr/bin/time
 * does, and adds their I/O to our own /proc/self/io. Orphaned descendants become our children
 * (PR_SET_CHILD_SUBREAPER) and are counted apart. The process tree is scanned at intervals, which
 * takes at most a fiftieth of a CPU.
 * Source: getrusage(2); proc(5), /proc/PID/io; kernel Documentation/accounting/psi.rst.
 */
#ifndef USAGE_JOBSTAT_H
#define USAGE_JOBSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/macros.h"
#include "target/cgroup.h"
#include "target/pressure.h"
#include "target/proc.h"
#include "target/proctree.h"
#include "usage/counters.h"

struct job {
	int status;     /* of the command, as a shell reports it */
	int end_signal; /* that ended the command; 0: none */
	int64_t elapsed_ns;
	struct rusage usage;   /* of the command, and what it waited for */
	struct rusage orphans; /* descendants that the command did not wait for */
	int64_t floor_kbytes;  /* maximum RSS of the child before its exec */
	int64_t orphan_count;
	int64_t left_count; /* processes that outlived the command */
	struct proc_io io;
	int64_t run_wait_ns; /* run-queue wait of all scanned threads; -1: unknown */
	struct counters counters;
	struct pressure pressure;
	struct cgroup_usage cgroup; /* throttling: in the time of the job */
	struct proctree tree;
	bool has_all_ends; /* exit events covered each process */
	int64_t scan_ns;   /* mean time between two scans */
	int signal;        /* that ended the measurement; 0: none */
};

/* Runs argv (ends with NULL) to its end. A program that cannot be executed is its errno, and then
 * *ret_no_exec. */
int job_run(char *const *argv, struct job *ret, bool *ret_no_exec, struct err *e) MUST_CHECK;
void job_fini(struct job *j); /* all zero is allowed */

/* Is usage's maximum RSS that of the child before its exec? */
bool job_has_small_peak(const struct job *j);

#endif
