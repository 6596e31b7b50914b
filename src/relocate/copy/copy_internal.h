/* SPDX-License-Identifier: MIT */
/*
 * tree: what of OLD is in NEW so far; what the parts of copy share. The folder's own.
 *
 * An entry is a name, by its path; a node is an inode of OLD, whose content is in NEW once
 * however many names it has.
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

/* Modification times of files whose clock ticks in steps: what is this near to a look may
 * have changed after it without a new time. Kernels before 6.13 have steps of 1 to 4 ms. */
#define TREE_CLOCK_STEP_NS INT64_C(20000000)

#define TREE_WINDOW ((uint64_t)8 << 20) /* on its way to a storage at a time */
#define TREE_BLOCK ((size_t)1 << 20)    /* bytes read at a time */

struct tree_entry {
	uint64_t ino; /* in OLD */
	uint32_t dev_major, dev_minor;
	uint32_t mode;
	uint32_t node;  /* row of nodes; RELOC_NONE: adopted, and not claimed yet */
	uint32_t copy;  /* of the node, when the name was made */
	uint32_t pass;  /* in which it was last seen */
	bool is_made;   /* it is in NEW */
	bool is_ours;   /* we made it: not NEW's own lost+found */
	bool is_hidden; /* it stands for a file without a name */
	bool is_linked; /* when it was adopted it had other names */
};

struct tree_node {
	uint32_t mode;       /* in OLD, when it was last seen; 0: never */
	int64_t born_ns;     /* when it was made: numbers of inodes are used again. 0: not known */
	uint32_t entry;      /* a name of it in NEW; RELOC_NONE: none */
	uint32_t copy;       /* counts how often it was made anew */
	uint32_t pass;       /* in which content and attributes were last looked at */
	int64_t ctime_ns;    /* of OLD when they were; -1: never */
	uint64_t size_bytes; /* as copied */
	uint32_t good_pass;  /* after which NEW had what OLD had during it */
	uint64_t extents;    /* where it lay when it was watched */
	uint64_t seen_bytes; /* its size then */
	uint32_t late_flags; /* chattr's, to be set in the end */
	bool was_leftover;   /* there was something when it was first looked at */
	bool is_tracked;     /* since tree_track_dirty() its changes are dirty pages */
	bool is_recent;      /* ctime_ns tells nothing: too near to the look */
	bool is_mapped;      /* shared and writable, once: always compared */
	bool is_appended;    /* all who have it open only append to it */
};

struct copy {
	const struct top_dir *old_dir, *new_dir; /* borrowed */
	struct copy_opts opts;
	struct strtab *paths;    /* of entries: the same index */
	struct strtab *node_ids; /* device and inode: the same index as nodes */
	struct rows entries, nodes;
	struct rows late;      /* uint32_t, of nodes: with late_flags, once */
	struct rows unflushed; /* uint32_t, of nodes: written to since copy_sync() */
	struct statx old_top;
	struct move_journal journal; /* in NEW */
	bool has_journal;            /* the mark was written */
	bool is_flag_missing;        /* it was told that NEW does not have what OLD has */
	uint64_t leftover_bytes, leftover_inodes; /* of NEW, there before */
	enum copy_kind kind;
	uint32_t pass;        /* 1.. */
	int64_t scanned_ns;   /* wall clock when the survey of this pass was taken */
	uint64_t total_bytes; /* of OLD, counted before the first pass */
	uint64_t paced_bytes; /* read, in this pass, for the bandwidth */
	int64_t began_ns;     /* of this pass */
	struct copy_pass did; /* in this pass */
	bool is_tracking;
	uint32_t track_pass;          /* the first after tree_track_dirty() */
	int device_fd;                /* what OLD's device did, by sysfs; -1: not open */
	uint64_t written_sectors;     /* ever, on OLD's device at tree_track_dirty() */
	unsigned char *block, *other; /* [TREE_BLOCK] each */
	struct buf path;              /* of the entry that is looked at */
};

int64_t tree_ctime_ns(const struct statx *x);

/* Rows; NULL: out of memory. */
struct tree_entry *tree_entry_at(struct copy *c, const char *path, uint32_t *ret_row);
struct tree_node *tree_node_at(struct copy *c, const struct statx *x, uint32_t *ret_row);

/* tree_walk.c: one pass over all names. */
int tree_walk(struct copy *c, struct err *e) MUST_CHECK;
/* A file of the survey without a name. */
int tree_copy_unlinked(struct copy *c, const struct reloc_file *f, struct err *e) MUST_CHECK;

/* tree_remove.c: takes what we made away from NEW. */
int tree_remove(struct copy *c, uint32_t entry, struct err *e) MUST_CHECK;
/* The entry and what is below it. */
int tree_remove_all(struct copy *c, uint32_t entry, struct err *e) MUST_CHECK;
/* Those that were not seen in this pass. */
int tree_remove_stale(struct copy *c, struct err *e) MUST_CHECK;
/* The directory that path is in, below NEW; *ret_name is the last part of path. -errno. */
int tree_open_parent(const struct copy *c, const char *path, const char **ret_name);

/* tree_load_leftovers.c: the names that are in NEW become entries. */
int tree_load_leftovers(struct copy *c, struct err *e) MUST_CHECK;
/* If the entry was adopted, and can be this node, it is. */
void tree_match_leftover(struct copy *c, uint32_t entry, uint32_t node, const struct statx *x);

/* tree_data.c: makes the content of to that of from; both open. */
int tree_copy_data(struct copy *c, const struct tree_node *n, const struct file_pair *pair,
		   uint64_t *ret_size, struct err *e) MUST_CHECK;

/* Waits until [from, from + len) of a file is at its storage. 0, or -1 with errno. */
int tree_write_out(int fd, uint64_t from, uint64_t len) MUST_CHECK;

/*
 * tree_track_dirty.c: which parts of a file changed, without reading it.
 *
 * A file that was flushed changes by its pages becoming dirty, and they stay so until they are
 * written to the device; or by its extents becoming others. So as long as the device wrote
 * nothing, the dirty pages are all that changed. Where that is not so (another file system than
 * ext4 and XFS, data=journal, DAX, a kernel before 6.5, a device that is busy), it is not known.
 * Source: cachestat(2); the kernel's Documentation/filesystems/fiemap.rst, block/stat.rst.
 */
void tree_track_dirty(struct copy *c, const struct reloc_inventory *s);
bool tree_tracking_is_stale(const struct copy *c);

struct byte_range {
	uint64_t from, end; /* bytes */
};

/* All that changed of [0..size) since tree_track_dirty() and the pass behind it: adds rows of
 * struct byte_range. The job is stopped. False: not known. */
bool tree_dirty_ranges(const struct copy *c, const struct tree_node *n, int fd, uint64_t size,
		       struct rows *ranges);

/* tree_flags.c: flags of inodes (chattr) and project ids. pair may be O_PATH. *ret_late: those
 * that are to be set when all else is done. */
int tree_copy_flags(struct copy *c, const struct file_pair *pair, uint32_t *ret_late,
		    struct err *e) MUST_CHECK;
int tree_set_late_flags(struct copy *c, struct err *e) MUST_CHECK;
/* tree_quota.c: what of OLD belongs to whom, and have they room for it in NEW? */
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
/* -EDQUOT: they have not. */
int tree_check_quotas(const struct copy *c, const struct tree_owners *o, struct err *e) MUST_CHECK;

/* tree_space.c: does all of OLD fit into NEW? Counts total_bytes. */
int tree_check_space(struct copy *c, const struct reloc_inventory *s, struct err *e) MUST_CHECK;

#endif
