/* SPDX-License-Identifier: MIT */
/*
 * look: a survey being taken; what its parts share. The folder's own.
 *
 * Rows of the survey grow in lists of their own; survey.c hands them over at the end. Running
 * out of memory is remembered in bad.
 */
#ifndef RELOCATE_INVENTORY_LOOK_H
#define RELOCATE_INVENTORY_LOOK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "relocate/inventory/mounts.h"
#include "relocate/inventory/survey.h"
#include "target/proc.h"

struct look {
	const struct survey_ask *ask;
	struct rows procs, files, descs, fds, locks, epolls, watches, maps, dirs, obstacles;
	struct strtab *strings;  /* owned until it is handed over */
	struct strtab *file_ids; /* device and inode of each row of files: the same index */
	struct mounts mounts;    /* of this process */
	struct map mine;         /* ids of the mounts of OLD's file system */
	struct map members;      /* pid: row of procs */
	struct map pinners; /* rows of procs that have a device open that keeps pages (RDMA, GPU) */
	struct map bound;   /* inode of a socket that is bound below OLD */
	struct rows views;  /* look_views.c: root directories other than ours */
	const struct view *view;             /* of the process that is looked at; NULL: as ours */
	struct buf text;                     /* scratch */
	uint64_t mnt_ns, root_ino, root_mnt; /* of this process */
	bool bad;
};

/* What a link of /proc leads to. */
struct seen {
	char link[PATH_MAX + 32]; /* as /proc tells it */
	struct statx x;
	char there[PATH_MAX]; /* where the process has another root directory: the path in OLD's
				 file system */
	const char *below; /* its name below OLD, borrowed from link or there; NULL: it has none */
	bool is_other_mount;
	bool is_long; /* the kernel does not tell the path: it may be below OLD */
	bool is_old;  /* it is below OLD */
};

/* path: a link of /proc. False: gone, or it may not be looked at. Neither waits for storage. */
bool look_link(const struct look *l, const char *path, struct seen *ret);

/* As look_link's is_old, or more; quicker where there is nothing. */
bool look_is_near(const struct look *l, const char *path);

#define LOOK_LONG "its path is longer than the kernel tells"

/* The row of files; RELOC_NONE: out of memory. source: the link; NULL: there is none. */
uint32_t look_file(struct look *l, const struct seen *seen, const char *source, unsigned use);

/* Does the job have the file already? RELOC_NONE: no. */
uint32_t look_find_file(const struct look *l, const struct statx *x);

/* proc: a row, or RELOC_NONE. Texts are copied. */
void look_obstacle(struct look *l, enum reloc_obstacle_kind kind, uint32_t proc, const char *what,
		   const char *path, const char *reason, const char *remedy);
void look_obstacle_pid(struct look *l, enum reloc_obstacle_kind kind, pid_t pid, const char *comm,
		       const char *what, const char *path, const char *reason, const char *remedy);

/* Copies. NULL: out of memory. */
const char *look_string(struct look *l, const char *text);

/* look_procs.c: the processes and their descendants, and what is wrong with them as such. */
int look_procs(struct look *l, struct err *e) MUST_CHECK;
/* look_fds.c: descriptors, and what else is in fdinfo. */
int look_fds(struct look *l, uint32_t proc, struct err *e) MUST_CHECK;
/* Is what fdinfo calls "sdev:" the file system of OLD? */
bool look_is_old_sdev(const struct look *l, uint64_t sdev);
/* look_watches.c: those of fdinfo's text, which is changed. NULL, or why they cannot be moved. */
const char *look_inotify(struct look *l, uint32_t proc, int number, char *text);
void look_merge_watches(struct look *l);
/* look_groups.c: which processes share tables and address spaces. */
int look_sharing(struct look *l, struct err *e) MUST_CHECK;
/* Open file descriptions out of descriptors; then locks and epoll sets. */
int look_groups(struct look *l, struct err *e) MUST_CHECK;
/* look_maps.c, look_dirs.c */
/* Is the line of maps about a file of OLD's file system? */
bool look_maps_old(struct look *l, const char *line, bool *ret_is_aio);
/* Has the process such a mapping? 1, 0, or -errno: the kernel cannot be asked so (Linux 6.11).
 * ret_has_aio (NULL: not asked): has it asynchronous I/O of the kernel's (libaio)? */
int look_maps_near(const struct look *l, pid_t pid, bool *ret_has_aio);
int look_maps(struct look *l, uint32_t proc, struct err *e) MUST_CHECK;
int look_dirs(struct look *l, uint32_t proc, struct err *e) MUST_CHECK;
/* look_views.c: from now on links are those of pid. */
int look_view(struct look *l, pid_t pid, struct err *e) MUST_CHECK;
void look_views_fini(struct look *l);
/* Of a view that is not NULL: NEW's path in it; NULL: it is not to be seen. */
const char *look_view_new(const struct look *l);
/* The mount of OLD's file system that x was reached by; NULL: it is another one, or is gone. */
const struct mount *look_view_mount(const struct look *l, const struct statx *x);
/* As place_below(); there is filled. */
const char *look_view_below(const struct look *l, const struct mount *m, const char *link,
			    char there[PATH_MAX]);
/* look_words.c: OLD in arguments and environment. */
void look_words(struct look *l, uint32_t proc);
/* look_sockets.c: fills bound. */
void look_sockets(struct look *l);
/* Of the descriptors that wait in a socket of pid to be received: is one of OLD, or not to be seen?
 */
bool look_sent(const struct look *l, pid_t pid, int number, uint64_t count);
/* look_others.c: processes outside the job, and mounts. */
int look_others(struct look *l, struct err *e) MUST_CHECK;
/* look_mounts.c */
int look_mounts(struct look *l, struct err *e) MUST_CHECK;

#endif
