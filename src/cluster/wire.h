/* SPDX-License-Identifier: MIT */
/*
 * wire: the messages between nodes, and their bytes.
 *
 * Numbers are little-endian; every length is checked, and there is one encoding of each message:
 * what is read is written back equal. Decoded text and bodies are borrowed from the input. Errors
 * travel as Linux errno numbers. The version is in the envelope around a message (envelope.h).
 */
#ifndef CLUSTER_WIRE_H
#define CLUSTER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/str.h"

#define WIRE_CHUNK_BYTES (1u << 20) /* of a file, at most, in one reply */
#define WIRE_MAX_BODY (16u << 20)   /* a listing; longer ones are E2BIG */
#define WIRE_MAX_PATH 4095
#define WIRE_NONCE 32
#define WIRE_DIGEST 32

/* The same file with the same data on all nodes. All zero: not known. */
struct file_identity {
	uint64_t fs; /* hash of the file system's type, source and root; st_dev differs by node */
	uint64_t ino;
	int64_t ctime_ns; /* since 1970 */
	uint64_t size;    /* bytes */
};

struct file_attr {
	struct file_identity identity;
	uint32_t mode; /* of stat(2) */
	uint32_t links;
	uint32_t uid, gid;
	uint64_t rdev;
	uint64_t blocks;            /* of 512 bytes */
	uint32_t block_size;        /* bytes */
	int64_t mtime_ns, atime_ns; /* since 1970 */
};

/* What a request is about. */
enum wire_op {
	WIRE_GETATTR = 1, /* the reply's attr */
	WIRE_LIST,        /* body: entries, wire_put_entry() */
	WIRE_CHUNK,       /* body: [chunk * WIRE_CHUNK_BYTES ..), shorter at the end of the file */
	WIRE_READLINK,    /* body: the text */
	WIRE_XATTRS,      /* body: all of them, wire_put_xattr() */
};

struct wire_key {
	enum wire_op op;
	uint32_t chunk;                /* WIRE_CHUNK; else 0 */
	struct str path;               /* below the root of the view, "" for it; no NUL inside */
	struct file_identity identity; /* WIRE_CHUNK: of which version; all zero: of any */
};

/* The data of a reply: here, or to be fetched from the sender's memory. */
struct wire_body {
	const void *bytes; /* [len]; borrowed; NULL when is_remote */
	uint32_t len;
	bool is_remote;                    /* the members below hold */
	uint64_t address, memory_key;      /* for a read by the network card */
	unsigned char digest[WIRE_DIGEST]; /* of the bytes, to be checked when they are here */
};

enum wire_type {
	WIRE_HELLO = 1, /* nonce_a, endpoint; under the job's secret */
	WIRE_CHALLENGE, /* nonce_a and nonce_b; the same */
	WIRE_PROOF,     /* nonce_a and nonce_b; the same */
	WIRE_REQUEST,
	WIRE_REPLY,
	WIRE_ALIVE,
	WIRE_GOODBYE,
	WIRE_TAKEN, /* the remote body of the REPLY with this id was read; transports use it alone
		     */
};

#define WIRE_MAX_ENDPOINT 159

#define WIRE_MAX_RANKS 3 /* nodes whose storage is tried before giving up */

/* A few ranks, each once. */
struct wire_ranks {
	uint32_t count;
	uint32_t ranks[WIRE_MAX_RANKS]; /* [count], ascending */
};

enum wire_verdict {
	WIRE_ANSWERED, /* by storage, now or before: the data, or error */
	WIRE_BUSY,     /* try again later */
	WIRE_FAILED,   /* storage does not work there: try elsewhere */
};

struct wire_message {
	enum wire_type type;
	unsigned char nonce_a[WIRE_NONCE], nonce_b[WIRE_NONCE];
	struct str endpoint; /* HELLO: where an answer is to be sent; "": by the same connection */
	uint64_t id;         /* REQUEST: the requester's number; REPLY, TAKEN: the same */
	bool wants_alive; /* REQUEST, ALIVE: an ALIVE is expected at once, unless a reply is sent */
	bool from_storage; /* REQUEST: read storage there, do not request it from others */

	struct wire_key key; /* REQUEST */
	int64_t max_age_ns;  /* REQUEST: storage's word may be so old; >= 0 */

	enum wire_verdict verdict; /* REPLY */
	int error;                 /* REPLY: a positive errno; 0 with data only */
	struct wire_ranks failed;  /* REPLY, FAILED: nodes whose storage failed */
	int64_t age_ns;  /* REPLY, ANSWERED: since the read of storage began, at the time of sending
			  */
	int64_t held_ns; /* REPLY: between the request's arrival and the reply */
	bool has_attr;   /* REPLY: all of attr; else only attr.identity */
	struct file_attr attr;
	struct wire_body body;
};

/* Appends. A path, body or number beyond the limits above is the caller's mistake. */
void wire_put_message(struct buf *b, const struct wire_message *m);
int wire_read_message(const void *bytes, size_t len, struct wire_message *ret,
		      struct err *e) MUST_CHECK; /* 0 or -EPROTO */

/* Entries of a listing; names have 1 to 255 bytes, and neither "/" nor NUL. */
void wire_put_entry(struct buf *b, struct str name, const struct file_attr *attr);
bool wire_next_entry(struct cursor *c, struct str *ret_name, struct file_attr *ret_attr);

/* Extended attributes: a name of 1 to 255 bytes, a value of up to 64 KiB. */
void wire_put_xattr(struct buf *b, struct str name, struct str value);
bool wire_next_xattr(struct cursor *c, struct str *ret_name, struct str *ret_value);

bool file_identity_is_known(const struct file_identity *i);
bool file_identity_equals(const struct file_identity *a, const struct file_identity *b);

void wire_ranks_add(struct wire_ranks *r, uint32_t rank); /* nothing happens when it is full */

/* Is it storage's answer about the file, and not a failure of storage? Such errors are
 * answers for all nodes; others let the next node try. */
bool wire_is_answer(int error);

#endif
