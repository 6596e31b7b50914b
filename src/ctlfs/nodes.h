/* SPDX-License-Identifier: MIT */
/*
 * nodes: the table of files, and the contents of those that are plain text.
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

/* The source of what a file reads. */
enum source {
	SOURCE_NONE,
	SOURCE_TEXT,     /* rendered at open */
	SOURCE_CTL,      /* rendered again for each read from the start */
	SOURCE_SNAPSHOT, /* rendered by a thread while open(2) waits */
	SOURCE_QUEUE,    /* consumed by its one reader */
	SOURCE_STREAM,   /* all samples since open */
};

struct node_info {
	const char *name;
	enum node parent;   /* NODE_TOP, NODE_CPU */
	bool is_first_only; /* not in sessions */
	bool can_write;
	enum source source;
	enum snapshot_kind snapshot;
};

/* A node of a session; its inode number is made of this. */
struct node_id {
	enum node node;
	uint64_t session; /* id; 0: the first */
	uint32_t core;    /* the core, for nodes below NODE_CPU */
};

uint64_t node_id_to_ino(struct node_id p);
bool node_id_from_ino(uint64_t ino, struct node_id *ret);

const struct node_info *node_info(enum node node); /* of files */
bool node_is_dir(enum node node);

/* The state that all files share. */
struct ctlfs_state {
	struct session *sessions; /* the first session is the last in the list */
	struct cpulist known;
	struct journal journal;
	struct mpstat mpstat;
	bool logs_commands; /* kprintx: commands go to the journal, too */
};

struct session *find_session(const struct ctlfs_state *w, uint64_t id); /* NULL: it has ended */
struct session *find_session_by_name(const struct ctlfs_state *w, const char *name, size_t len);

/* Renders the text of a file. s: its session. */
int node_put_text(struct ctlfs_state *w, struct session *s, struct node_id p, struct buf *out,
		  struct err *e) MUST_CHECK;

/* Handles a write to a file. */
int node_write(struct ctlfs_state *w, struct session *s, struct node_id p, const char *text,
	       size_t len, struct err *e) MUST_CHECK;

uint64_t node_size(const struct ctlfs_state *w, const struct session *s,
		   struct node_id p); /* bytes */

#endif
