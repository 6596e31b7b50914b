/* SPDX-License-Identifier: MIT */
/*
 * shift_own: what the files of shift share, and nobody else sees.
 *
 * The new files are opened here, once for each description, and given to the processes: so a
 * description that was shared is shared again, and no permission of the job stands in the way.
 */
#ifndef RELOCATE_REPOINT_REPOINT_INTERNAL_H
#define RELOCATE_REPOINT_REPOINT_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/rows.h"
#include "inject/freeze.h"
#include "inject/remote.h"
#include "relocate/repoint/repoint.h"

/* Who opens a file: network file systems remember it for later writes. */
struct credentials {
	uid_t uid;
	gid_t gid;
	struct rows groups; /* gid_t */
	pid_t pid;          /* whose it is; 0: not read yet */
};

/* A mapping that is made anew: fresh is the new one until it takes its place, aside is where the
 * old one then goes. */
struct repoint_map {
	uint32_t row; /* of maps */
	size_t sent;
	size_t new_step, saved_step;
	uint64_t new_at, saved_at; /* addresses; 0: not yet */
};

/* A working directory. */
struct repoint_dir {
	uint32_t row; /* of dirs */
	size_t sent, sent_old;
};

/* A descriptor of the process and the copy of it that is kept. */
struct repoint_fd {
	uint32_t row; /* of fds */
	size_t sent;
	size_t saved_step;
	int saved; /* number in the process */
};

/* A watch of inotify. */
struct repoint_watch {
	uint32_t row; /* of watches */
	size_t sent, sent_old;
};

/* A process in which something is done. */
struct repoint_proc {
	uint32_t proc; /* row of procs */
	struct remote *remote;
	struct rows sent;       /* int: descriptors of ours that the process gets */
	struct rows remote_fds; /* int: what they are there, in the same order */
	struct map descs;       /* row of descs: index of given */
	struct rows fds;        /* struct repoint_fd */
	struct rows maps;       /* struct repoint_map */
	struct rows dirs;       /* struct repoint_dir */
	struct rows watches;    /* struct repoint_watch */
};

struct repoint {
	struct freeze *freeze;
	const struct reloc_inventory *inventory;
	const struct top_dir *old_dir, *new_dir;
	int *desc_fds;         /* [desc_count]; -1: left alone */
	struct credentials id; /* of the process for which a file was opened last */
	struct rows ours;      /* int: everything that is open here */
	struct rows procs;     /* struct repoint_proc */
	int flag_fd;           /* a page that all processes share */
	uint64_t *commit_flag; /* its first word: REMOTE_ROLLBACK or REMOTE_APPLY */
};

struct repoint_proc *repoint_proc_at(const struct repoint *rp, size_t i);
/* A descriptor of ours that the process is to get. */
int repoint_add_fd(struct repoint_proc *p, int fd, size_t *ret, struct err *e) MUST_CHECK;

/* shift_open.c: a file of NEW, opened with the identity that row proc of procs has; ours. */
int repoint_open_file(struct repoint *rp, const struct reloc_file *f, uint32_t proc, unsigned flags,
		      struct err *e) MUST_CHECK;
/* All descriptions: flags, positions, locks that belong to them. */
int repoint_open_descs(struct repoint *rp, struct err *e) MUST_CHECK;
/* Closed at the end; -ENOMEM closes it at once. */
int repoint_keep_fd(struct repoint *rp, int fd, struct err *e) MUST_CHECK;

/* shift_fifo.c: a description of a FIFO; what the old one holds is in the new one, too. */
int repoint_open_fifo(struct repoint *rp, uint32_t desc, struct err *e) MUST_CHECK;

/* repoint_send_fds.c: all of given gets numbers in the process. */
int repoint_send_fds(struct repoint_proc *p, struct err *e) MUST_CHECK;

/* shift_maps.c: the steps for all mappings, then what needs their addresses, then go. */
int repoint_add_maps(struct repoint *rp, struct repoint_proc *p, struct err *e) MUST_CHECK;
void repoint_prepare_maps(const struct repoint *rp, struct repoint_proc *p);
int repoint_fill_maps(const struct repoint *rp, struct repoint_proc *p, struct err *e) MUST_CHECK;
void repoint_apply_maps(const struct repoint *rp, struct repoint_proc *p);

/* shift_watches.c */
int repoint_add_watches(struct repoint *rp, struct repoint_proc *p, struct err *e) MUST_CHECK;
void repoint_apply_watches(const struct repoint *rp, struct repoint_proc *p);
int repoint_verify_watches(const struct repoint *rp, const struct repoint_proc *p,
			   struct err *e) MUST_CHECK;

/* shift_locks.c: POSIX locks, at the end of the way back (before the first step) and of finish
 * (behind all else); epoll sets. */
void repoint_rollback_locks(const struct repoint *rp, struct repoint_proc *p);
void repoint_finish_locks(const struct repoint *rp, struct repoint_proc *p);
void repoint_apply_epolls(const struct repoint *rp, struct repoint_proc *p);

#endif
