/* SPDX-License-Identifier: MIT */
/*
 * record: decodes one record of the kernel's perf ABI.
 *
 * The bytes come from a live ring or from a perf.data file, so no length in them is trusted.
 * Numbers are little-endian. Pointers in a decoded record are borrowed from its bytes; the user's
 * stack dump is not read.
 *
 * Source: linux/perf_event.h (perf_event_open(2)), kernel 6.18.
 */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"

#define RECORD_HEADER_BYTES 8
#define RECORD_MAX_BYTES 65536 /* header.size has 16 bits */
#define RECORD_BUILD_ID_MAX 20 /* bytes */

/* Of sample_type: what every record but samples ends with, eight bytes each. */
#define RECORD_ID_BITS                                                                 \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* What the attributes of an event say about the layout of its records. */
struct record_shape {
	uint64_t sample_type;          /* PERF_SAMPLE_ bits */
	uint64_t read_format;          /* PERF_FORMAT_ bits */
	uint64_t branch_sample_type;   /* PERF_SAMPLE_BRANCH_ bits */
	uint64_t regs_user, regs_intr; /* register masks, of the PERF_REG_ numbers */
	bool sample_id_all;            /* records other than samples end with an id, too */
};

/* Numbers inside a record: [count] u64, little-endian, of any alignment. */
struct record_words {
	const unsigned char *bytes; /* [8 * count]; NULL when there are none */
	size_t count;
};

struct record_bytes {
	const unsigned char *bytes; /* [0..len); NULL when there are none */
	size_t len;
};

/* Registers at the time of the sample. */
struct record_regs {
	uint64_t abi;               /* PERF_SAMPLE_REGS_ABI_; 0: no registers */
	uint64_t mask;              /* which: values are in the order of the bits */
	struct record_words values; /* [bits in mask] */
};

/* PERF_RECORD_SAMPLE, besides what struct record has. What sample_type lacks is zero. */
struct record_sample {
	uint64_t ip, addr, period;
	uint64_t weight, data_src, transaction, phys_addr, cgroup;
	uint64_t data_page_bytes, code_page_bytes;
	struct record_words read;     /* counter values, laid out by read_format */
	struct record_words chain;    /* call chain with PERF_CONTEXT_ marks, leaf first */
	struct record_words branches; /* from, to, flags of each branch, latest first */
	struct record_bytes raw, aux;
	struct record_regs user, intr;
	struct record_bytes stack; /* the user's stack from its stack pointer up */
};

/* PERF_RECORD_MMAP and MMAP2. */
struct record_mmap {
	uint32_t pid, tid;
	uint64_t start, len, offset; /* addresses in the process; offset in the file */
	bool has_inode;              /* major .. ino_generation hold */
	uint32_t major, minor;
	uint64_t ino, ino_generation;
	unsigned char build_id[RECORD_BUILD_ID_MAX];
	size_t build_id_len; /* bytes; 0: unknown */
	uint32_t prot, flags;
	struct record_bytes path; /* text without its NUL */
};

/* PERF_RECORD_COMM; misc has PERF_RECORD_MISC_COMM_EXEC. */
struct record_comm {
	uint32_t pid, tid;
	struct record_bytes name;
};

/* PERF_RECORD_FORK and EXIT. */
struct record_task {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

/* PERF_RECORD_LOST (of one event), LOST_SAMPLES (id is 0). */
struct record_lost {
	uint64_t id;
	uint64_t count;
};

/* PERF_RECORD_KSYMBOL: code appears or vanishes (flags bit 0) in the kernel. */
struct record_ksymbol {
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	struct record_bytes name;
};

/* PERF_RECORD_NAMESPACES: pairs of device and inode, in the order of PERF's NS_INDEX. */
struct record_namespaces {
	uint32_t pid, tid;
	struct record_words pairs; /* [2 * namespaces] */
};

/* PERF_RECORD_SWITCH_CPU_WIDE (SWITCH: zero); misc has PERF_RECORD_MISC_SWITCH_OUT. */
struct record_switch {
	uint32_t next_prev_pid, next_prev_tid;
};

/* PERF_RECORD_CGROUP. */
struct record_cgroup {
	uint64_t id;
	struct record_bytes path;
};

struct record {
	uint32_t type; /* PERF_RECORD_ */
	uint16_t misc; /* PERF_RECORD_MISC_ bits */
	uint64_t has;  /* PERF_SAMPLE_ bits: which of the following seven hold */
	uint32_t pid, tid, cpu;
	uint64_t time; /* nanoseconds of the recording's clock */
	uint64_t id, stream_id, identifier;
	union {
		struct record_sample sample;
		struct record_mmap mmap;
		struct record_comm comm;
		struct record_task task;
		struct record_lost lost;
		struct record_ksymbol ksymbol;
		struct record_namespaces namespaces;
		struct record_switch switched;
		struct record_cgroup cgroup;
		struct record_words read; /* PERF_RECORD_READ: values */
		struct record_bytes body; /* any other type, THROTTLE and UNTHROTTLE too */
	};
};

static inline uint64_t record_word(struct record_words w, size_t i)
{
	uint64_t v;

	memcpy(&v, w.bytes + 8 * i, sizeof v);
	return v;
}

/* The length of the record at the start of bytes, header included; 0 when less than a whole
 * record is there, or its length is less than a header. */
size_t record_len(const unsigned char *bytes, size_t len);
uint32_t record_type(const unsigned char *bytes); /* [RECORD_HEADER_BYTES] */
/* The length in the header. */
uint16_t record_claim(const unsigned char *bytes); /* [RECORD_HEADER_BYTES] */

/* bytes: one whole record. -EINVAL when it is shorter than what it must hold. */
int record_decode(struct record *ret, const struct record_shape *shape, const unsigned char *bytes,
		  size_t len, struct err *e) MUST_CHECK;

/* The record's time without decoding it; 0: it has none. */
uint64_t record_peek_time(const struct record_shape *shape, const unsigned char *bytes, size_t len);

/*
 * Which event wrote the record. All events of a recording have the id in the same place when
 * they have PERF_SAMPLE_IDENTIFIER; else their sample types must be equal up to
 * PERF_SAMPLE_ID. false: the record has none.
 */
bool record_peek_id(const struct record_shape *shape, const unsigned char *bytes, size_t len,
		    uint64_t *ret_id);

#endif
