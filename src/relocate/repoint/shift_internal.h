/* SPDX-License-Identifier: MIT */
/*
 * shift_own: what the files of shift share, and nobody else sees.
 *
 * The new files are opened here, once for each description, and given to the processes: so a
 * description that was shared is shared again, and no permission of the job stands in the way.
 */
#ifndef RELOCATE_REPOINT_SHIFT_INTERNAL_H
#define RELOCATE_REPOINT_SHIFT_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/rows.h"
#include "inject/hold.h"
#include "inject/inside.h"
#include "relocate/repoint/shift.h"

/* Who opens a file: network file systems remember it for later writes. */
struct identity {
	uid_t uid;
	gid_t gid;
	struct rows groups; /* gid_t */
	pid_t pid;          /* whose it is; 0: not read yet */
};

/* A mapping that is made anew: fresh is the new one until it takes its place, aside is where the
 * old one then goes. */
struct shift_map {
	uint32_t row; /* of maps */
	size_t given;
	size_t fresh_step, aside_step;
	uint64_t fresh, aside; /* addresses; 0: not yet */
};

/* A working directory. */
struct shift_dir {
	uint32_t row; /* of dirs */
	size_t given, given_old;
};

/* A descriptor of the process and the copy of it that is kept. */
struct shift_fd {
	uint32_t row; /* of fds */
	size_t given;
	size_t kept_step;
	int kept; /* number in the process */
};

/* A watch of inotify. */
struct shift_watch {
	uint32_t row; /* of watches */
	size_t given, given_old;
};

/* A process in which something is done. */
struct shift_proc {
	uint32_t proc; /* row of procs */
	struct inside *in;
	struct rows given;   /* int: descriptors of ours that the process gets */
	struct rows numbers; /* int: what they are there, in the same order */
	struct map descs;    /* row of descs: index of given */
	struct rows fds;     /* struct shift_fd */
	struct rows maps;    /* struct shift_map */
	struct rows dirs;    /* struct shift_dir */
	struct rows watches; /* struct shift_watch */
};

struct shift {
	struct hold *hold;
	const struct survey *survey;
	const struct reloc_place *old_place, *new_place;
	int *desc_fds;      /* [desc_count]; -1: left alone */
	struct identity id; /* of the process for which a file was opened last */
	struct rows ours;   /* int: everything that is open here */
	struct rows procs;  /* struct shift_proc */
	int gate_fd;        /* a page that all processes share */
	uint64_t *gate;     /* its first word: INSIDE_BACK or INSIDE_GO */
};

struct shift_proc *shift_proc_at(const struct shift *sh, size_t i);
/* A descriptor of ours that the process is to get. */
int shift_add_given(struct shift_proc *p, int fd, size_t *ret, struct err *e) MUST_CHECK;

/* shift_open.c: a file of NEW, opened with the identity that row proc of procs has; ours. */
int shift_open_file(struct shift *sh, const struct reloc_file *f, uint32_t proc, unsigned flags,
		    struct err *e) MUST_CHECK;
/* All descriptions: flags, positions, locks that belong to them. */
int shift_open_descs(struct shift *sh, struct err *e) MUST_CHECK;
/* Closed at the end; -ENOMEM closes it at once. */
int shift_own_fd(struct shift *sh, int fd, struct err *e) MUST_CHECK;

/* shift_fifo.c: a description of a FIFO; what the old one holds is in the new one, too. */
int shift_open_fifo(struct shift *sh, uint32_t desc, struct err *e) MUST_CHECK;

/* shift_give.c: all of given gets numbers in the process. */
int shift_give(struct shift_proc *p, struct err *e) MUST_CHECK;

/* shift_maps.c: the steps for all mappings, then what needs their addresses, then go. */
int shift_add_maps(struct shift *sh, struct shift_proc *p, struct err *e) MUST_CHECK;
void shift_step_maps(const struct shift *sh, struct shift_proc *p);
int shift_fill_maps(const struct shift *sh, struct shift_proc *p, struct err *e) MUST_CHECK;
void shift_go_maps(const struct shift *sh, struct shift_proc *p);

/* shift_watches.c */
int shift_add_watches(struct shift *sh, struct shift_proc *p, struct err *e) MUST_CHECK;
void shift_go_watches(const struct shift *sh, struct shift_proc *p);
int shift_verify_watches(const struct shift *sh, const struct shift_proc *p,
			 struct err *e) MUST_CHECK;

/* shift_locks.c: POSIX locks, at the end of the way back (before the first step) and of finish
 * (behind all else); epoll sets. */
void shift_back_locks(const struct shift *sh, struct shift_proc *p);
void shift_finish_locks(const struct shift *sh, struct shift_proc *p);
void shift_go_epolls(const struct shift *sh, struct shift_proc *p);

#endif
