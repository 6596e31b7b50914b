/* SPDX-License-Identifier: MIT */
/*
 * proctree: scans the usage of the processes below us, or below given processes, at intervals.
 *
 * Orphans become our children (PR_SET_CHILD_SUBREAPER), so no process of a command escapes. A
 * process that lives between two scans is missed, unless exit_events reports its end. Source:
 * proc(5), /proc/PID/stat, status, cmdline, and schedstat.
 */
#ifndef TARGET_PROCTREE_H
#define TARGET_PROCTREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "target/exit_events.h"
#include "target/proc.h"

#define PROCTREE_COMMAND_MAX 160

/* What a process used since it was created. */
struct process_use {
	int64_t user_ns, system_ns; /* in clock ticks */
	int64_t minor_faults, major_faults;
};

/* A process at its last scan. */
struct process {
	pid_t pid, parent;
	uint64_t start;                     /* clock ticks since boot: distinguishes reused pids */
	char name[16];                      /* comm */
	char command[PROCTREE_COMMAND_MAX]; /* arguments with spaces, cut; or "[NAME]" */
	int64_t wall_ns;                    /* since it was made */
	struct process_use own;             /* without its children */
	struct process_use reaped;          /* of the children that it waited for */
	int64_t peak_rss_bytes;             /* VmHWM: since its last exec; 0: unknown */
	struct proc_io io;                  /* only with has_io */
	/* Usage before the first scan, of processes seen in it. */
	struct process_use own_before, reaped_before;
	struct proc_io io_before;
	int64_t run_wait_before_ns;
	int64_t run_wait_ns; /* run-queue wait of its threads at their last scans; -1: unknown
			      */
	int64_t last_scan;   /* number of the last scan that saw it */
	int64_t threads;     /* maximum over scans */
	bool is_alive;       /* alive at the last scan */
	/* Exact usage of its ended threads; complete when the first thread has ended, which ends
	 * last. */
	struct process_use ended;
	int64_t ended_wait_ns;
	bool has_ended;
};

/* All zero: no scan yet, of the processes below us. */
struct proctree {
	const pid_t *roots; /* [root_count]: these and all below; NULL: all below us; borrowed */
	size_t root_count;
	bool has_all;              /* all processes of the machine */
	bool has_io;               /* reads /proc/PID/io */
	struct exit_events *exits; /* NULL: no exit events; borrowed */
	struct rows processes;     /* struct process, in order of first sight */
	struct map latest;         /* pid to index of its last process */
	struct rows
		pending_exits; /* struct pending_exit: ends of processes that no scan has seen */
	struct rows foreign;   /* pid_t, ascending: outside the tree at the last scan */
	struct map run_wait_index; /* process and thread to index of run_waits */
	struct rows run_waits;     /* int64_t: run-queue wait of a thread at its last scan */
	int64_t peak_rss_bytes;    /* the largest sum of resident sets in one scan */
	int64_t peak_anon_bytes;   /* the same of anonymous memory: RssAnon */
	int64_t anon_bytes;        /* at the last scan */
	int64_t peak_count;        /* the most processes in one scan */
	int64_t scans;             /* so far */
};

void proctree_fini(struct proctree *t);

/* Resets all usage so far. */
void proctree_reset(struct proctree *t);

/* Scans the processes. 0, -ENOMEM, or the errno of /proc. */
int proctree_scan(struct proctree *t, struct err *e) MUST_CHECK;

#endif
