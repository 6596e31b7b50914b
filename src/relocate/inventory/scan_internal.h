/* SPDX-License-Identifier: MIT */
/*
 * scan_internal: a scan in progress, which the files of scan share.
 *
 * Rows grow in lists, which scan_take() moves into the inventory at the end. bad remembers that
 * memory ran out.
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
	struct strtab *strings;  /* owned until scan_take() hands it over */
	struct strtab *file_ids; /* device and inode of each row of files: the same index */
	struct mounts mounts;    /* of this process */
	struct map old_mounts;   /* ids of the mounts of OLD's file system */
	struct map members;      /* pid: row of procs */
	struct map pinners;      /* rows of procs with an open device that pins pages (RDMA, GPU) */
	struct map bound;        /* inodes of sockets bound below OLD */
	struct rows views;       /* struct mount_view: of processes with another root directory */
	const struct mount_view *view;       /* of the scanned process; NULL: it sees what we see */
	struct buf text;                     /* scratch */
	uint64_t mnt_ns, root_ino, root_mnt; /* of this process */
	bool bad;
};

/* The target of a link in /proc. */
struct link_target {
	char link[PATH_MAX + 32]; /* text of the link */
	struct statx x;
	char there[PATH_MAX]; /* with another root directory: the path in OLD's file system */
	const char *below;    /* path below OLD, borrowed from link or there; NULL: unlinked */
	bool is_other_mount;
	bool is_long; /* longer than /proc shows: it may be below OLD */
	bool is_old;  /* it is below OLD */
};

/* Reads a link of /proc without waiting for storage. False: it is gone, or reading it is not
 * allowed. */
bool scan_link(const struct scan *sc, const char *path, struct link_target *ret);

/* Faster than scan_link(): false only if its is_old would be false. */
bool scan_may_be_old(const struct scan *sc, const char *path);

#define SCAN_PATH_TOO_LONG "its path is longer than /proc shows"

/* Adds a file, or a use of it. Returns its row; RELOC_NONE: out of memory. source: a link that
 * opens it; NULL: none. */
uint32_t scan_add_file(struct scan *sc, const struct link_target *target, const char *source,
		       unsigned use);

/* The row of the file; RELOC_NONE: the job does not use it. */
uint32_t scan_find_file(const struct scan *sc, const struct statx *x);

/* Adds an obstacle. proc: a row, or RELOC_NONE. Copies all strings. */
void scan_add_obstacle(struct scan *sc, enum reloc_obstacle_kind kind, uint32_t proc,
		       const char *what, const char *path, const char *reason, const char *remedy);
void scan_add_obstacle_pid(struct scan *sc, enum reloc_obstacle_kind kind, pid_t pid,
			   const char *comm, const char *what, const char *path, const char *reason,
			   const char *remedy);

/* A copy of text. NULL: out of memory. */
const char *scan_string(struct scan *sc, const char *text);

/* scan_procs.c: processes and descendants, and obstacles of whole processes. */
int scan_procs(struct scan *sc, struct err *e) MUST_CHECK;
/* scan_fds.c: descriptors and their fdinfo. */
int scan_fds(struct scan *sc, uint32_t proc, struct err *e) MUST_CHECK;
/* Is sdev of fdinfo the file system of OLD? */
bool scan_is_old_sdev(const struct scan *sc, uint64_t sdev);
/* scan_inotify.c: the watches in text of fdinfo, which it changes. NULL, or the reason why they
 * cannot be moved. */
const char *scan_inotify(struct scan *sc, uint32_t proc, int number, char *text);
void scan_merge_watches(struct scan *sc);
/* scan_sharing.c: finds processes that share descriptor tables and address spaces. */
int scan_shared_tables(struct scan *sc, struct err *e) MUST_CHECK;
/* Merges rows of the same open file description, lock, epoll entry or watch. */
int scan_shared_descs(struct scan *sc, struct err *e) MUST_CHECK;
/* scan_maps.c: does the line of maps map a file of OLD's file system? */
bool scan_is_old_map(struct scan *sc, const char *line, bool *ret_is_aio);
/* Has the process such a mapping? 1, 0, or -errno: this kernel has no PROCMAP_QUERY (Linux 6.11).
 * ret_has_aio (may be NULL): has it a context of asynchronous I/O (libaio)? */
int scan_has_old_map(const struct scan *sc, pid_t pid, bool *ret_has_aio);
int scan_maps(struct scan *sc, uint32_t proc, struct err *e) MUST_CHECK;
int scan_dirs(struct scan *sc, uint32_t proc, struct err *e) MUST_CHECK;
/* scan_mount_views.c: from now on scan_link() reads links of pid. */
int scan_set_view(struct scan *sc, pid_t pid, struct err *e) MUST_CHECK;
void scan_views_fini(struct scan *sc);
/* With a view: the path of NEW in it; NULL: NEW is not visible. */
const char *scan_view_new_path(const struct scan *sc);
/* The mount of OLD's file system through which x was reached; NULL: another file system. */
const struct mount *scan_view_mount(const struct scan *sc, const struct statx *x);
/* As top_dir_below() for the link of a process with a view; fills there. */
const char *scan_view_below(const struct scan *sc, const struct mount *m, const char *link,
			    char there[PATH_MAX]);
/* scan_environ.c: OLD's path in arguments and environment. */
void scan_environ(struct scan *sc, uint32_t proc);
/* scan_sockets.c: fills bound. */
void scan_sockets(struct scan *sc);
/* Is one of count descriptors that wait in a socket of pid OLD's, or not visible? */
bool scan_in_flight_fds(const struct scan *sc, pid_t pid, int number, uint64_t count);
/* scan_outsiders.c: processes outside the job. */
int scan_outsiders(struct scan *sc, struct err *e) MUST_CHECK;
/* scan_mounts.c: mounts, swap and devices on OLD; checks of NEW. */
int scan_mounts(struct scan *sc, struct err *e) MUST_CHECK;

#endif
