/* SPDX-License-Identifier: MIT */
/*
 * look: a survey being taken; what its parts share. The folder's own.
 *
 * Rows of the survey grow in lists of their own; survey.c hands them over at the end. Running
 * out of memory is remembered in bad.
 */
#ifndef RELOCATE_INVENTORY_SCAN_INTERNAL_H
#define RELOCATE_INVENTORY_SCAN_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "relocate/inventory/mounts.h"
#include "relocate/inventory/scan.h"
#include "target/proc.h"

struct scan {
	const struct scan_opts *opts;
	struct rows procs, files, descs, fds, locks, epolls, watches, maps, dirs, obstacles;
	struct strtab *strings;  /* owned until it is handed over */
	struct strtab *file_ids; /* device and inode of each row of files: the same index */
	struct mounts mounts;    /* of this process */
	struct map old_mounts;   /* ids of the mounts of OLD's file system */
	struct map members;      /* pid: row of procs */
	struct map pinners; /* rows of procs that have a device open that keeps pages (RDMA, GPU) */
	struct map bound;   /* inode of a socket that is bound below OLD */
	struct rows views;  /* look_views.c: root directories other than ours */
	const struct mount_view *view;       /* of the process that is looked at; NULL: as ours */
	struct buf text;                     /* scratch */
	uint64_t mnt_ns, root_ino, root_mnt; /* of this process */
	bool bad;
};

/* What a link of /proc leads to. */
struct link_target {
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
bool scan_link(const struct scan *sc, const char *path, struct link_target *ret);

/* As scan_link's is_old, or more; quicker where there is nothing. */
bool scan_may_be_old(const struct scan *sc, const char *path);

#define SCAN_PATH_TOO_LONG "its path is longer than the kernel tells"

/* The row of files; RELOC_NONE: out of memory. source: the link; NULL: there is none. */
uint32_t scan_add_file(struct scan *sc, const struct link_target *target, const char *source,
		       unsigned use);

/* Does the job have the file already? RELOC_NONE: no. */
uint32_t scan_find_file(const struct scan *sc, const struct statx *x);

/* proc: a row, or RELOC_NONE. Texts are copied. */
void scan_add_obstacle(struct scan *sc, enum reloc_obstacle_kind kind, uint32_t proc,
		       const char *what, const char *path, const char *reason, const char *remedy);
void scan_add_obstacle_pid(struct scan *sc, enum reloc_obstacle_kind kind, pid_t pid,
			   const char *comm, const char *what, const char *path, const char *reason,
			   const char *remedy);

/* Copies. NULL: out of memory. */
const char *scan_string(struct scan *sc, const char *text);

/* scan_procs.c: the processes and their descendants, and what is wrong with them as such. */
int scan_procs(struct scan *sc, struct err *e) MUST_CHECK;
/* scan_fds.c: descriptors, and what else is in fdinfo. */
int scan_fds(struct scan *sc, uint32_t proc, struct err *e) MUST_CHECK;
/* Is what fdinfo calls "sdev:" the file system of OLD? */
bool scan_is_old_sdev(const struct scan *sc, uint64_t sdev);
/* look_watches.c: those of fdinfo's text, which is changed. NULL, or why they cannot be moved. */
const char *scan_inotify(struct scan *sc, uint32_t proc, int number, char *text);
void scan_merge_watches(struct scan *sc);
/* scan_shared_descs.c: which processes share tables and address spaces. */
int scan_shared_tables(struct scan *sc, struct err *e) MUST_CHECK;
/* Open file descriptions out of descriptors; then locks and epoll sets. */
int scan_shared_descs(struct scan *sc, struct err *e) MUST_CHECK;
/* scan_maps.c, scan_dirs.c */
/* Is the line of maps about a file of OLD's file system? */
bool scan_is_old_map(struct scan *sc, const char *line, bool *ret_is_aio);
/* Has the process such a mapping? 1, 0, or -errno: the kernel cannot be asked so (Linux 6.11).
 * ret_has_aio (NULL: not asked): has it asynchronous I/O of the kernel's (libaio)? */
int scan_has_old_map(const struct scan *sc, pid_t pid, bool *ret_has_aio);
int scan_maps(struct scan *sc, uint32_t proc, struct err *e) MUST_CHECK;
int scan_dirs(struct scan *sc, uint32_t proc, struct err *e) MUST_CHECK;
/* look_views.c: from now on links are those of pid. */
int scan_set_view(struct scan *sc, pid_t pid, struct err *e) MUST_CHECK;
void scan_views_fini(struct scan *sc);
/* Of a view that is not NULL: NEW's path in it; NULL: it is not to be seen. */
const char *scan_view_new_path(const struct scan *sc);
/* The mount of OLD's file system that x was reached by; NULL: it is another one, or is gone. */
const struct mount *scan_view_mount(const struct scan *sc, const struct statx *x);
/* As top_dir_below(); there is filled. */
const char *scan_view_below(const struct scan *sc, const struct mount *m, const char *link,
			    char there[PATH_MAX]);
/* scan_environ.c: OLD in arguments and environment. */
void scan_environ(struct scan *sc, uint32_t proc);
/* scan_sockets.c: fills bound. */
void scan_sockets(struct scan *sc);
/* Of the descriptors that wait in a socket of pid to be received: is one of OLD, or not to be seen?
 */
bool scan_in_flight_fds(const struct scan *sc, pid_t pid, int number, uint64_t count);
/* scan_outsiders.c: processes outside the job, and mounts. */
int scan_outsiders(struct scan *sc, struct err *e) MUST_CHECK;
/* scan_mounts.c */
int scan_mounts(struct scan *sc, struct err *e) MUST_CHECK;

#endif
