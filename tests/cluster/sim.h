/* SPDX-License-Identifier: MIT */
/*
 * sim: a cluster in one thread: N nodes that run the protocol of src/cluster, a network, storage
 * whose files change, and a program on each node that reads files and checks what it gets.
 *
 * Everything follows from the seed. All times are ns of the simulated clock; each node's own clock
 * differs from it by an offset. Costs are those that were measured: docs/benchmarks.md names them.
 *
 * world.c: files and storage. engine.c: time, network, storage's costs. faults.c: what goes wrong.
 * app.c: the cache and the program of a node. simulate.c: the tests. tables.c: large clusters.
 */
#ifndef TESTS_CLUSTER_SIM_H
#define TESTS_CLUSTER_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cluster/protocol.h"
#include "cluster/tree.h"

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define FOREVER INT64_MAX
#define MAX_CHANGES 3
#define MAX_PENDING 16
#define SLOW_LINK 10 /* times slower than others */

/* What a run is. */
struct sim_config {
	uint64_t seed;
	uint32_t nodes, fanout, trees;
	uint32_t folders, files; /* files: in each folder */
	uint32_t chunks;         /* of a file; 0: differs by file and version */
	uint32_t chunk_bytes;    /* 0: the few bytes that are checked, encoded on the wire */
	bool is_direct;          /* no overlay: every node reads storage */
	bool reads_listings;     /* and links and attributes; files in another order on each node */
	int64_t skew_ns;         /* programs start within it */
	bool has_late_daemons;   /* and so do the nodes; else all are up before */
	int64_t think_ns;        /* a program waits up to this after an answer; 0: not */
	int64_t revalidate_ns;
	int64_t timeout_ns;
	/* Faults: how many, at random times within fault_ns. */
	int64_t fault_ns;
	uint32_t kills;   /* processes: connections break */
	uint32_t crashes; /* nodes: silence */
	bool returns;     /* killed ones come back */
	uint32_t stops;   /* SIGSTOP for some seconds */
	uint32_t partitions;
	uint32_t broken_storage; /* nodes whose storage fails or hangs */
	bool storage_outage;     /* it fails everywhere for a while */
	uint32_t slow_links_pct;
	int64_t slow_storage_ns;    /* a read takes up to this longer */
	uint32_t changes;           /* files that change */
	bool keeps_nothing_passing; /* caches hold only what their node requested */
};

struct world {
	uint32_t folders, files; /* files: in all */
	uint32_t *change_count;  /* [files] */
	int64_t *changes;        /* [files][MAX_CHANGES], ascending */
	char (*paths)[16];       /* [files] */
	char (*folder_paths)[8]; /* [folders] */
};

/* What a cache holds. */
struct held {
	bool is_held;
	bool is_absent;
	uint32_t version;
	int64_t read_ns; /* of the node's clock, as the protocol said */
	int64_t true_ns; /* when storage really said so */
};

struct pending {
	bool is_used;
	uint64_t cookie;
	int64_t start_ns;
	int64_t max_age_ns;
	struct wire_key key;
};

enum item_kind { ITEM_LIST, ITEM_FILE, ITEM_LINK, ITEM_XATTRS };

struct item {
	enum item_kind kind;
	uint32_t index; /* of the folder or file */
};

struct node {
	uint32_t rank;
	struct protocol *protocol; /* NULL: dead */
	uint64_t epoch;
	int64_t clock_offset;
	int64_t cpu_free, nic_free; /* when it is idle again */
	int64_t tick_ns;            /* scheduled */
	int64_t stopped_until;
	int64_t storage_broken_from, storage_broken_until;
	bool storage_hangs;
	bool is_crashed; /* without a trace: nobody is told */
	bool has_slow_link;
	uint32_t side; /* of a partition */
	uint32_t *contacts;
	size_t contact_count, contact_cap;
	/* the cache */
	struct held *attrs, *links, *xattrs; /* [files] */
	struct held *lists;                  /* [folders] */
	uint32_t *list_versions;             /* [files]: of its folder's listing; 0: absent */
	uint32_t *chunk_versions;            /* [files][chunks]; 0: not held */
	/* the program */
	struct item *items; /* [item_count] */
	uint32_t item_count, item;
	uint32_t next_chunk, chunks_done; /* of the current file */
	struct file_attr attr;            /* of the current file */
	bool has_attr, wants_new, is_waiting;
	struct pending pending[MAX_PENDING];
	uint32_t pending_count;
	uint64_t cookies;
	int64_t started_ns, done_ns; /* done: FOREVER: not yet */
	uint64_t sent_bytes;
};

enum event_kind {
	EVENT_START,
	EVENT_TICK,
	EVENT_MESSAGE,
	EVENT_FAILED, /* the peer cannot be reached */
	EVENT_SENT,
	EVENT_STORAGE,
	EVENT_PROGRAM,
	EVENT_KILL,
	EVENT_CRASH,
	EVENT_STOP,
	EVENT_PARTITION,
};

struct packet {
	struct packet *next; /* free */
	struct wire_message m;
	uint64_t sender_epoch, receiver_epoch;
	unsigned char content[32]; /* of a body that is not encoded */
	struct buf encoded;        /* with small bodies: the envelope */
};

struct event {
	int64_t at;
	uint64_t order;
	enum event_kind kind;
	uint32_t node, peer;
	uint64_t epoch;  /* of node, when it matters */
	uint64_t number; /* the fetch, or a duration */
	struct packet *packet;
};

struct sim_result {
	bool is_ok;
	char fault[160]; /* the first rule that was broken */
	int64_t all_done_ns;
	double reads_mean; /* of storage, for each chunk, attribute or listing */
	uint32_t reads_max;
	double sent_ratio;  /* bytes: most of a node to mean */
	double messages;    /* sent by a node, mean */
	uint64_t memory;    /* of the protocol of one node, most */
	int64_t longest_ns; /* request of a node that was not stopped itself */
	uint32_t errors;    /* EIO during an outage */
	uint64_t events;
	struct protocol_counts counts; /* sums */
};

struct sim {
	struct sim_config config;
	uint64_t random;
	struct world world;
	uint32_t max_chunks; /* of a file */
	struct node *nodes;
	struct event *heap;
	size_t heap_count, heap_cap;
	uint64_t order;
	int64_t now;
	struct node *running; /* the node whose event it is */
	int64_t pfs_data_free, pfs_meta_free;
	int64_t partition_until;
	int64_t outage_from, outage_until;
	struct packet *free_packets;
	uint32_t unfinished; /* nodes */
	uint32_t *reads;     /* of storage, by key */
	struct sim_result result;
};

/* engine.c */
extern struct sim *sim_running; /* one at a time: ops only get the node */
void sim_run(const struct sim_config *config, struct sim_result *ret);
uint64_t sim_random(struct sim *s, uint64_t below);
void sim_at(struct sim *s, int64_t at, enum event_kind kind, uint32_t node, uint64_t number);
void sim_fail(struct sim *s, const char *fmt, ...) PRINTF(2, 3);
int64_t node_clock(const struct sim *s, const struct node *n);
extern const struct protocol_ops sim_ops; /* app.c and engine.c */

/* The connection of the node to the peer breaks. */
void sim_fail_later(struct sim *s, const struct node *n, uint32_t peer, int64_t at);

/* faults.c */
void faults_schedule(struct sim *s);
void fault_kill(struct sim *s, struct node *n, bool is_silent);
void fault_split(struct sim *s, int64_t duration); /* a partition */

/* world.c */
void world_make(struct sim *s);
void world_free(struct world *w);
bool world_parse(const struct world *w, struct str path, uint32_t *ret_folder, uint32_t *ret_file);
uint32_t world_version(const struct world *w, uint32_t file, int64_t at); /* 1, ... */
bool world_is_absent(const struct sim *s, uint32_t file, uint32_t version);
uint32_t world_chunks(const struct sim *s, uint32_t file, uint32_t version);
struct file_attr world_attr(const struct sim *s, uint32_t file, uint32_t version, int64_t at);
/* What storage says at a time; the body is in ret_content or ret_body. */
void world_read(struct sim *s, const struct wire_key *key, int64_t at, struct protocol_answer *ret,
		unsigned char ret_content[32], struct buf *ret_body);
void world_content(unsigned char ret[32], enum wire_op op, uint32_t file, uint32_t version,
		   uint32_t chunk, int64_t at);
struct wire_body world_body(const struct sim *s, const unsigned char content[32]);
size_t world_key_index(const struct sim *s, const struct wire_key *key);
size_t world_key_count(const struct sim *s);

/* app.c */
void app_new(struct sim *s, struct node *n);
void app_free(struct node *n);
void app_clear(struct sim *s, struct node *n); /* a new process */
void app_step(struct sim *s, struct node *n);
bool app_find(void *self, const struct wire_key *key, struct protocol_answer *ret);
void app_keep(void *self, const struct wire_key *key, const struct protocol_answer *a,
	      bool is_local);
void app_answer(void *self, uint64_t cookie, const struct wire_key *key,
		const struct protocol_answer *a);

#endif
