/* SPDX-License-Identifier: MIT */
/*
 * nodes: the files that there are, as one table, and what is in those that are plain text.
 */
#ifndef CTLFS_NODES_H
#define CTLFS_NODES_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "ctlfs/mpstat.h"
#include "ctlfs/session.h"
#include "ctlfs/snapshot.h"

enum node {
	NODE_TOP = 1, /* of the mount, or of a session */
	NODE_CPUS,
	NODE_CPU,
	NODE_SESSIONS,
	NODE_FIRST_FILE,
	NODE_README = NODE_FIRST_FILE,
	NODE_KPCTL,
	NODE_KPDATA,
	NODE_KPOPROFILE,
	NODE_KPTRACE,
	NODE_KPRINTX,
	NODE_MPSTAT,
	NODE_MPSTAT_RAW,
	NODE_STATUS,
	NODE_LAST_ERROR,
	NODE_ERROR_LOG,
	NODE_MAPS,
	NODE_PPROF,
	NODE_GPERFTOOLS,
	NODE_STREAM,
	NODE_CPU_CTL,
	NODE_CPU_STATUS,
	NODE_CPU_KPOPROFILE,
	NODE_END,
};

/* Where what is read comes from. */
enum source {
	SOURCE_NONE,
	SOURCE_TEXT,     /* made at once when it is opened */
	SOURCE_CTL,      /* made anew for each reading to the end */
	SOURCE_SNAPSHOT, /* made by a thread while the opener waits */
	SOURCE_QUEUE,    /* taken away by the one reader */
	SOURCE_STREAM,   /* of all from the opening on */
};

struct node_info {
	const char *name;
	enum node parent;   /* NODE_TOP, NODE_CPU */
	bool is_first_only; /* not in sessions */
	bool can_write;
	enum source source;
	enum snapshot_kind snapshot;
};

/* Which node: the number of its file. */
struct place {
	enum node node;
	uint64_t session; /* id; 0: the first */
	uint32_t core;    /* number of the core, of what lies below NODE_CPU */
};

uint64_t place_to_ino(struct place p);
bool place_from_ino(uint64_t ino, struct place *ret);

const struct node_info *node_info(enum node node); /* of files */
bool node_is_dir(enum node node);

/* What all of the files tell of. */
struct world {
	struct session *sessions; /* the first one is the last in the list */
	struct cpulist known;
	struct journal journal;
	struct mpstat mpstat;
	bool is_talkative; /* kprintx: commands are journalled, too */
};

struct session *world_find(const struct world *w, uint64_t id); /* NULL: it is gone */
struct session *world_find_name(const struct world *w, const char *name, size_t len);

/* The text of a file. s: its session. */
int node_put_text(struct world *w, struct session *s, struct place p, struct buf *out,
		  struct err *e) MUST_CHECK;

/* Takes what was written to it. */
int node_write(struct world *w, struct session *s, struct place p, const char *text, size_t len,
	       struct err *e) MUST_CHECK;

uint64_t node_size(const struct world *w, const struct session *s, struct place p); /* bytes */

#endif
