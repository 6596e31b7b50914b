/* SPDX-License-Identifier: MIT */
/*
 * copy_internal: what the files of copy share: the part of OLD that NEW has so far.
 *
 * An entry is a name, identified by its path. A node is an inode of OLD, whose content NEW has once
 * for all its names.
 */
#ifndef RELOCATE_COPY_COPY_INTERNAL_H
#define RELOCATE_COPY_COPY_INTERNAL_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "relocate/copy/attrs.h"
#include "relocate/copy/beneath.h"
#include "relocate/copy/copy.h"
#include "relocate/copy/move_journal.h"

/* File times advance in steps: a file that changed this shortly before a scan may change again
 * without a new time. The steps of kernels before 6.13 are 1 to 4 ms (one tick). */
#define TREE_CLOCK_STEP_NS INT64_C(20000000)

#define TREE_WINDOW ((uint64_t)8 << 20) /* bytes of writeback in progress at a time */
#define TREE_MAX_DEPTH 2000             /* nested directories: two descriptors each */
#define TREE_SECTOR 512u                /* unit of st_blocks on all file systems */
#define TREE_BLOCK ((size_t)1 << 20)    /* bytes read at a time */

struct tree_entry {
	uint64_t ino; /* in OLD */
	uint32_t dev_major, dev_minor;
	uint32_t mode;
	uint32_t node;  /* row of nodes; RELOC_NONE: a leftover without a match yet */
	uint32_t copy;  /* copy of the node when the name was created */
	uint32_t pass;  /* the last pass that found it */
	bool is_made;   /* it exists in NEW */
	bool is_ours;   /* we created it; false: NEW's own lost+found */
	bool is_hidden; /* hidden name of an unlinked file */
	bool is_linked; /* a leftover that had several names */
};

struct tree_node {
	uint32_t mode;       /* in OLD, at the last pass; 0: never seen */
	int64_t born_ns;     /* birth time: distinguishes reused inode numbers. 0: unknown */
	uint32_t entry;      /* a name of it in NEW; RELOC_NONE: none */
	uint32_t copy;       /* how often it was created in NEW */
	uint32_t names;      /* names of that copy in NEW */
	uint32_t pass;       /* the last that compared content and attributes */
	int64_t ctime_ns;    /* of OLD at that pass; -1: never */
	uint64_t size_bytes; /* as copied */
	uint32_t fill_pass;  /* the last that read the content */
	uint32_t good_pass;  /* after this pass NEW had what OLD had during it */
	uint64_t extents;    /* hash of its extents when tracking began */
	uint64_t seen_bytes; /* its size when tracking began */
	uint32_t late_flags; /* chattr flags that are set last */
	bool was_leftover;   /* NEW had it as a leftover */
	bool is_tracked;     /* dirty pages show its changes since tree_track_dirty() */
	bool is_recent;      /* ctime_ns proves nothing: close to the scan, or of a known change */
	bool is_mapped;      /* was mapped shared and writable: always compared */
	bool is_appended;    /* its users only append to it */
	bool is_linked;      /* it has, or had, several names in OLD */
	bool is_followed;    /* tree_writers_find() would know of a write to it */
};

struct copy {
	const struct top_dir *old_dir, *new_dir; /* borrowed */
	struct copy_opts opts;
	struct strtab *paths;    /* of entries: the same index */
	struct strtab *node_ids; /* device and inode: the same index as nodes */
	struct rows entries, nodes;
	struct rows late;      /* uint32_t, of nodes: those with late_flags */
	struct rows unflushed; /* uint32_t, of nodes: those written to since copy_sync() */
	struct map hung;       /* inodes whose pages asked storage */
	struct statx old_top;
	struct move_journal journal;              /* of NEW */
	bool has_journal;                         /* NEW has the journal */
	bool is_flag_missing;                     /* the warning that NEW lacks a flag was logged */
	uint64_t leftover_bytes, leftover_inodes; /* in NEW before this run */
	enum copy_kind kind;
	uint32_t pass;        /* 1.. */
	int64_t scanned_ns;   /* wall clock at the scan of this pass */
	uint64_t total_bytes; /* of OLD, counted before the first pass */
	uint64_t paced_bytes; /* read in this pass, for the bandwidth limit */
	int64_t began_ns;     /* of this pass */
	int64_t until_ns;     /* CLOCK_MONOTONIC; a pass or flush ends then; 0: no deadline */
	struct copy_pass did; /* in this pass */
	bool is_tracking;
	uint32_t track_pass;      /* the first after tree_track_dirty() */
	int device_fd;            /* statistics of OLD's device in sysfs; -1: not open */
	uint64_t written_sectors; /* of OLD's device at tree_track_dirty() */
	int watch_fd;             /* fanotify of OLD; -1: not watched */
	struct strtab *changed, *changed_dirs; /* paths below OLD; see tree_watch_find() */
	struct rows changed_nodes;             /* uint32_t, of nodes */
	bool is_visit;                         /* the final pass visits only these */
	int writers_fd;                        /* inotify; -1: none */
	struct strtab *writers_dirs;           /* paths below OLD of what it watches */
	struct rows writers;                   /* struct writers_row, of tree_writers.c */
	unsigned char *block, *other;          /* [TREE_BLOCK] each */
	struct buf path;                       /* of the current entry */
};

int64_t tree_ctime_ns(const struct statx *x);

/* Interrupted, or past the deadline? Then -EINTR or -ETIME, and the reason. */
int tree_check_end(const struct copy *c, struct err *e) MUST_CHECK;

/* Find or add a row. NULL: out of memory. */
struct tree_entry *tree_entry_at(struct copy *c, const char *path, uint32_t *ret_row);
struct tree_node *tree_node_at(struct copy *c, const struct statx *x, uint32_t *ret_row);
/* NULL: not known. */
struct tree_node *tree_node_find(const struct copy *c, const struct statx *x);
struct tree_node *tree_node_of(struct copy *c, const struct reloc_file *f, uint32_t *ret_row);

/* tree_walk.c: one pass over all names. */
int tree_walk(struct copy *c, struct err *e) MUST_CHECK;
int tree_stat_top(struct copy *c, struct err *e) MUST_CHECK;
/* Copies the name at the end of path, or nothing if it is gone. dir: its directory in both trees.
 */
int tree_copy_name(struct copy *c, const struct file_pair *dir, const char *path,
		   struct err *e) MUST_CHECK;
/* The attributes of a directory whose content was copied. */
int tree_copy_dir_attrs(struct copy *c, const char *path, struct err *e) MUST_CHECK;

/* tree_watch.c: begins to watch OLD, if that is possible. */
void tree_watch_begin(struct copy *c);
void tree_watch_end(struct copy *c);
/* A pass over all names begins: earlier changes are of no interest. */
void tree_watch_forget(struct copy *c);
/* Fills changed and changed_dirs with what has changed since. False: unknown. */
bool tree_watch_find(struct copy *c);
/* Instead of tree_walk(): visits these. */
int tree_visit_changed(struct copy *c, struct err *e) MUST_CHECK;
/* Copies an unlinked file of the inventory. */
int tree_copy_unlinked(struct copy *c, const struct reloc_file *f, struct err *e) MUST_CHECK;

/* tree_remove.c: removes from NEW what we created. */
int tree_remove(struct copy *c, uint32_t entry, struct err *e) MUST_CHECK;
/* The same for the entry and everything below it. */
int tree_remove_all(struct copy *c, uint32_t entry, struct err *e) MUST_CHECK;
/* Removes the entries that this pass did not find. */
int tree_remove_stale(struct copy *c, struct err *e) MUST_CHECK;
/* Opens the directory of NEW that has path; *ret_name is the last component. -errno. */
int tree_open_parent(const struct copy *c, const char *path, const char **ret_name);

/* tree_leftovers.c: makes entries of the names that NEW has from a killed run. */
int tree_load_leftovers(struct copy *c, struct err *e) MUST_CHECK;
/* Uses a leftover for the node if the two can be the same file. */
void tree_match_leftover(struct copy *c, uint32_t entry, uint32_t node, const struct statx *x);

/* tree_data.c: copies the content of pair->from to pair->to, both open for it. */
int tree_copy_data(struct copy *c, const struct tree_node *n, const struct file_pair *pair,
		   uint64_t *ret_size, struct err *e) MUST_CHECK;

/* Waits for the writeback of [from, from + len) of a file. 0, or -1 with errno. */
int tree_write_out(int fd, uint64_t from, uint64_t len) MUST_CHECK;

/*
 * tree_dirty.c: dirty tracking: which parts of a file have changed, without reading it.
 *
 * After a flush every change makes pages dirty, which stay so until the device writes them, or
 * changes the extents. So as long as the device has written nothing, the dirty pages are all
 * changes. Otherwise the answer is "unknown": on file systems other than ext4 and XFS, with
 * data=journal or DAX, before Linux 6.5, on a busy device.
 *
 * Source: cachestat(2); Linux Documentation/filesystems/fiemap.rst and
 * Documentation/block/stat.rst.
 */
void tree_track_dirty(struct copy *c, const struct reloc_inventory *s);
bool tree_tracking_is_stale(const struct copy *c);
/* file: a row of s. */
bool tree_has_writer(const struct reloc_inventory *s, uint32_t file);

/* tree_writers.c: on network storage, follows what this machine changes. */
void tree_writers_begin(struct copy *c);
/* From now on the files that the job may write to. */
void tree_writers_follow(struct copy *c, const struct reloc_inventory *s);
/* From now on the directory fd, whose path is that of c. */
void tree_writers_follow_dir(struct copy *c, int fd);
/* Those changed since are recent. Called often: what is not read yet is bounded. */
void tree_writers_find(struct copy *c);
void tree_writers_end(struct copy *c);

struct byte_range {
	uint64_t from, end; /* bytes */
};

/* Adds rows of struct byte_range: what changed of [0..size) between tree_track_dirty() and the
 * freeze. False: unknown. */
bool tree_dirty_ranges(const struct copy *c, const struct tree_node *n, int fd, uint64_t size,
		       struct rows *ranges);

/* tree_flags.c: inode flags (chattr) and project ids. pair may be O_PATH. *ret_late: flags to set
 * when everything else is done. */
int tree_copy_flags(struct copy *c, const struct file_pair *pair, uint32_t *ret_late,
		    struct err *e) MUST_CHECK;
int tree_set_late_flags(struct copy *c, struct err *e) MUST_CHECK;
/* tree_quota.c: does each owner's part of OLD fit its quota on NEW? */
struct tree_owner {
	int kind; /* USRQUOTA, GRPQUOTA */
	uint32_t id;
	uint64_t bytes, inodes;
};

struct tree_owners {
	struct map index; /* map_pair(kind, id): of rows */
	struct rows rows; /* struct tree_owner */
};

void tree_owners_fini(struct tree_owners *o);
int tree_owners_add(struct tree_owners *o, uint32_t uid, uint32_t gid, uint64_t bytes) MUST_CHECK;
/* -EDQUOT: one does not fit. */
int tree_check_quotas(const struct copy *c, const struct tree_owners *o, struct err *e) MUST_CHECK;

/* tree_space.c: does OLD fit into NEW? Sets total_bytes. */
int tree_check_space(struct copy *c, const struct reloc_inventory *s, struct err *e) MUST_CHECK;

#endif
