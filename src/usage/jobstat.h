/* SPDX-License-Identifier: MIT */
/*
 * jobstat: what a command used, from its start to its end, by every account the kernel keeps.
 *
 * wait4(2) tells of the command and of the descendants that were waited for, as
 * /usr/bin/time does, and adds what these read and wrote to our own /proc/self/io. Descendants that
 * were orphaned become our children (PR_SET_CHILD_SUBREAPER) and are told apart. The processes are
 * looked at from time to time, for which at most a fiftieth of a CPU is spent.
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
	int status;     /* of the command: as shells have it */
	int end_signal; /* that ended the command; 0: none */
	int64_t elapsed_ns;
	struct rusage usage;   /* of the command, and what it waited for */
	struct rusage orphans; /* what ended without being waited for by the command */
	int64_t floor_kbytes;  /* maximum RSS of the child before it was the command */
	int64_t orphan_count;
	int64_t left_count; /* processes that outlived the command */
	struct proc_io io;
	int64_t run_wait_ns; /* all threads that were seen waited for a CPU; -1: not told */
	struct counters counters;
	struct pressure pressure;
	struct cgroup_usage cgroup; /* throttling: in the time of the job */
	struct proctree tree;
	bool has_all_ends; /* the kernel told the end of each process, exactly */
	int64_t scan_ns;   /* between two looks, in the mean */
	int signal;        /* that we were told to end by; 0: none */
};

/* Runs argv (ends with NULL) to its end. A program that cannot be executed is its errno, and then
 * *ret_no_exec. */
int job_run(char *const *argv, struct job *ret, bool *ret_no_exec, struct err *e) MUST_CHECK;
void job_fini(struct job *j); /* all zero is allowed */

/* Is usage's maximum that of the child before it was the command? */
bool job_has_small_peak(const struct job *j);

#endif
