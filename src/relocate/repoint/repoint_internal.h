/* SPDX-License-Identifier: MIT */
/*
 * repoint_internal: what the files of repoint share.
 *
 * This process opens the new files, once for each description, and sends them to the processes. So
 * a shared description stays shared, and permissions of the job do not matter.
 */
#ifndef RELOCATE_REPOINT_REPOINT_INTERNAL_H
#define RELOCATE_REPOINT_REPOINT_INTERNAL_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/rows.h"
#include "inject/freeze.h"
#include "inject/remote.h"
#include "relocate/repoint/repoint.h"

/* The identity that opens a file: network file systems use it for later writes. */
struct credentials {
	uid_t uid;
	gid_t gid;
	struct rows groups; /* gid_t */
	pid_t pid;          /* the process that has them; 0: not read yet */
};

/* A mapping. It is mapped anew at new_at; apply moves the old one to saved_at and the new one to
 * its address. */
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

/* A descriptor of the process and its duplicate. */
struct repoint_fd {
	uint32_t row; /* of fds */
	size_t sent;
	size_t saved_step;
	int saved;  /* number of the duplicate in the process */
	int member; /* of remote: the thread that closes old descriptors */
};

/* An inotify watch. */
struct repoint_watch {
	uint32_t row; /* of watches */
	size_t sent, sent_old;
};

/* A process that has something to repoint. */
struct repoint_proc {
	uint32_t proc; /* row of procs */
	struct remote *remote;
	struct rows sent;       /* int: our descriptors that the process receives */
	struct rows remote_fds; /* int: their numbers in the process, in the same order */
	struct map descs;       /* row of descs: index of sent */
	struct rows fds;        /* struct repoint_fd */
	struct rows maps;       /* struct repoint_map */
	struct rows dirs;       /* struct repoint_dir */
	struct rows watches;    /* struct repoint_watch */
};

struct repoint {
	struct freeze *freeze;
	const struct reloc_inventory *inventory;
	const struct top_dir *old_dir, *new_dir;
	int *desc_fds; /* [desc_count]: our descriptor of each description; -1: it stays on OLD */
	struct credentials id; /* of the process for which the last file was opened */
	struct rows ours;      /* int: all descriptors that are open here */
	struct rows procs;     /* struct repoint_proc */
	int flag_fd;           /* a page that all processes map */
	uint64_t *commit_flag; /* its first word: REMOTE_ROLLBACK or REMOTE_APPLY */
};

struct repoint_proc *repoint_proc_at(const struct repoint *rp, size_t i);
/* Adds a descriptor of ours that the process receives; *ret: its index in sent. */
int repoint_add_fd(struct repoint_proc *p, int fd, size_t *ret, struct err *e) MUST_CHECK;

/* repoint_open.c: opens a file of NEW with the credentials of a process, row proc. The descriptor
 * is ours. */
int repoint_open_file(struct repoint *rp, const struct reloc_file *f, uint32_t proc, unsigned flags,
		      struct err *e) MUST_CHECK;
/* Opens all descriptions, with flags, positions and the locks that belong to them. */
int repoint_open_descs(struct repoint *rp, struct err *e) MUST_CHECK;
/* Keeps fd until the end; on -ENOMEM closes it at once. */
int repoint_keep_fd(struct repoint *rp, int fd, struct err *e) MUST_CHECK;

/* repoint_fifo.c: opens a description of a FIFO and copies what the old FIFO contains. */
int repoint_open_fifo(struct repoint *rp, uint32_t desc, struct err *e) MUST_CHECK;

/* repoint_send.c: sends all of sent to the process, which fills remote_fds. */
int repoint_send_fds(struct repoint_proc *p, struct err *e) MUST_CHECK;

/* repoint_maps.c: open the files; steps that map; copies and steps that need the addresses; apply.
 */
int repoint_add_maps(struct repoint *rp, struct repoint_proc *p, struct err *e) MUST_CHECK;
void repoint_prepare_maps(const struct repoint *rp, struct repoint_proc *p);
int repoint_fill_maps(const struct repoint *rp, struct repoint_proc *p, struct err *e) MUST_CHECK;
void repoint_apply_maps(const struct repoint *rp, struct repoint_proc *p);

/* repoint_inotify.c */
int repoint_add_watches(struct repoint *rp, struct repoint_proc *p, struct err *e) MUST_CHECK;
void repoint_apply_watches(const struct repoint *rp, struct repoint_proc *p);
int repoint_verify_watches(const struct repoint *rp, const struct repoint_proc *p,
			   struct err *e) MUST_CHECK;

/* repoint_locks.c: POSIX locks at the end of rollback (call it before the first step) and of finish
 * (call it last); epoll sets. */
struct flock repoint_lock_range(const struct reloc_lock *l);
void repoint_rollback_locks(const struct repoint *rp, struct repoint_proc *p);
void repoint_finish_locks(const struct repoint *rp, struct repoint_proc *p);
void repoint_apply_epolls(const struct repoint *rp, struct repoint_proc *p);

#endif
