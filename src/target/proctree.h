/* SPDX-License-Identifier: MIT */
/*
 * proctree: the processes below us, or below others, looked at from time to time.
 *
 * What is not waited for by its parent becomes our child (PR_SET_CHILD_SUBREAPER), so nothing
 * of a command is lost sight of. A process that lives between two looks is not seen, unless the
 * kernel tells of its end.
 * Source: proc(5), /proc/PID/stat, status, cmdline, and schedstat.
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

/* What a process used, since it was made. */
struct process_use {
	int64_t user_ns, system_ns; /* in clock ticks */
	int64_t minor_faults, major_faults;
};

/* As it was when it was last seen. */
struct process {
	pid_t pid, parent;
	uint64_t start;                     /* clock ticks since boot: tells pids used again */
	char name[16];                      /* comm */
	char command[PROCTREE_COMMAND_MAX]; /* arguments with spaces, cut; or "[NAME]" */
	int64_t wall_ns;                    /* since it was made */
	struct process_use own;             /* not its children's */
	struct process_use reaped;          /* its children's that it waited for */
	int64_t peak_rss_bytes;             /* VmHWM: of the program it is now; 0: not told */
	struct proc_io io;                  /* of trees that want it */
	/* What there was when it was seen first, if that was the first look. */
	struct process_use own_before, reaped_before;
	struct proc_io io_before;
	int64_t run_wait_before_ns;
	int64_t run_wait_ns; /* its threads waited for a CPU, each as it was last seen; -1: not told
			      */
	int64_t last_scan;   /* number of the look that saw it last */
	int64_t threads;     /* the most that were seen */
	bool is_alive;       /* not ended at the last look */
	/* Of its threads that ended, exactly; with the last, the first one, it is all of it. */
	struct process_use ended;
	int64_t ended_wait_ns;
	bool has_ended;
};

/* All zero is one that saw nothing, of the processes below us. */
struct proctree {
	const pid_t *roots; /* [root_count]: these and all below; NULL: all below us; borrowed */
	size_t root_count;
	bool has_all;              /* all processes of the machine */
	bool has_io;               /* processes' io is told */
	struct exit_events *exits; /* NULL: nobody tells of ends; borrowed */
	struct rows processes;     /* struct process, in order of first sight */
	struct map latest;         /* pid: index of the last of processes that has it */
	struct rows
		pending_exits; /* struct pending_exit: ends of processes that are not known yet */
	struct rows foreign;   /* pid_t, ascending: of others, at the last look */
	struct map run_wait_index; /* process and thread: index of waits */
	struct rows run_waits;     /* int64_t: what a thread had waited for a CPU when last seen */
	int64_t peak_rss_bytes;    /* the largest sum of resident sets in one look */
	int64_t peak_anon_bytes;   /* the same of memory that is no file's: RssAnon */
	int64_t anon_bytes;        /* of the last look */
	int64_t peak_count;        /* the most processes in one look */
	int64_t scans;             /* so far */
};

void proctree_fini(struct proctree *t);

/* What was seen so far does not count. */
void proctree_reset(struct proctree *t);

/* Looks at the processes. 0, -ENOMEM, or why /proc cannot be read. */
int proctree_scan(struct proctree *t, struct err *e) MUST_CHECK;

#endif
