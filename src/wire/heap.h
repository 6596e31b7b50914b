/* SPDX-License-Identifier: MIT */
/*
 * heap: the file that libauger-heap.so keeps of a process' heap: what each call stack allocated.
 *
 * The process maps the file MAP_SHARED and counts in place, so that the file is complete at every
 * moment, also after SIGKILL. It has a header and chunks of equal size; a chunk has items of one
 * kind, and the chunks of a kind follow each other in the order of the file. So item i of a kind is
 * in the chunk of number i / (items a chunk) of that kind.
 *
 * For a reader nothing here is trusted, and all of it may change while it is read. The order of
 * writing: an item, then the count of its kind (release). A chunk is in kinds before the first item
 * in it counts. Items but sites do not change once they count; a site's counters do, each one by
 * itself (their sum is at most one event off while the process runs).
 *
 * Numbers are of the machine's byte order: the file is for the host it was made on.
 */
#ifndef WIRE_HEAP_H
#define WIRE_HEAP_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_MAGIC "augheap" /* with its NUL: 8 bytes */
#define HEAP_VERSION 1

#define HEAP_CHUNK UINT32_C(65536)           /* bytes */
#define HEAP_CHUNKS_MAX UINT32_C(16384)      /* so a file has 1 GiB at most */
#define HEAP_HEADER_SIZE UINT32_C(65536)     /* bytes; the first chunk begins here */
#define HEAP_PATH_MAX 4096                   /* bytes of a string with its NUL, at most */
#define HEAP_BUILD_ID_MAX 32                 /* bytes */
#define HEAP_NO_MAPPING UINT32_C(0xffffffff) /* of a node: code in no file */
#define HEAP_NO_STRING UINT32_C(0xffffffff)

/* What a chunk has. */
enum heap_kind {
	HEAP_FREE,     /* not used: at or behind chunk_count */
	HEAP_STRINGS,  /* bytes: strings with their NUL; none crosses a chunk's end */
	HEAP_MAPPINGS, /* struct heap_mapping */
	HEAP_NODES,    /* struct heap_node */
	HEAP_SITES,    /* struct heap_site */
	HEAP_KINDS,
};

/* What a process was told, and what became of it: bits of flags. */
enum {
	HEAP_EXACT_PEAK = 1, /* events of all threads are in one order: peaks are exact */
	HEAP_FORKED = 2,     /* the process came by fork from one that was measured (parent) */
	HEAP_ENDED = 4,      /* its destructors ran; absent after a signal or _exit */
	HEAP_FULL = 8,       /* no room for more stacks: they count at site 0 */
	HEAP_EXECED = 16,    /* it called exec*() last; cleared when that failed */
	HEAP_ATTACHED =
		32,       /* all modules of a running process are recorded: older blocks are not */
	HEAP_MAPPED = 64, /* what the program maps, and stacks of threads, count as blocks */
};

/*
 * The file begins with it. "written once": before magic is, which is the last of all.
 * The rest is counters, each of which is written by itself.
 */
struct heap_header {
	char magic[8];        /* HEAP_MAGIC; zero: the file is still being made */
	uint32_t version;     /* HEAP_VERSION; written once */
	uint32_t header_size; /* HEAP_HEADER_SIZE; written once */
	uint32_t chunk_size;  /* HEAP_CHUNK; written once */
	uint32_t machine;     /* EM_X86_64, ...; written once */
	int32_t pid, parent;  /* as the process sees them; written once */
	uint64_t start_ticks; /* field 22 of /proc/PID/stat; 0: not known; written once */
	uint64_t start_ns;    /* CLOCK_REALTIME when recording began; written once */
	uint64_t end_ns;      /* with HEAP_ENDED or HEAP_EXECED */
	uint64_t period;      /* mean bytes from sample to sample; 0: all blocks; written once */
	uint32_t program;     /* a string: path of /proc/self/exe; HEAP_NO_STRING; written once */
	uint32_t arguments;   /* a string: /proc/self/cmdline, blanks for NULs; written once */

	uint32_t flags;         /* HEAP_EXACT_PEAK ... */
	uint32_t chunk_count;   /* in use, of HEAP_CHUNKS_MAX */
	uint32_t string_bytes;  /* in chunks of strings, their unused ends included */
	uint32_t mapping_count; /* at most 65535 */
	uint32_t node_count;    /* at least 1: node 0 is the root */
	uint32_t site_count;    /* at least 1: site 0 counts what has no stack */
	uint32_t threads;       /* that have allocated so far */
	uint32_t reserved;

	int64_t live;        /* bytes now: up to 64 KiB off a thread without HEAP_EXACT_PEAK */
	int64_t peak;        /* the maximum of live so far */
	uint64_t peak_no;    /* how often live fell from a new maximum: see struct heap_site */
	uint64_t is_peaking; /* 1: live is at its maximum now */

	uint64_t unknown_frees;   /* of blocks that were not seen, e.g. older than the recording */
	uint64_t inherited_frees; /* of blocks that a parent process had allocated */
	uint64_t missed;          /* allocations that were not recorded: inside of a hook */
	uint64_t cut_stacks;      /* walks that ended before the outermost frame */
	uint64_t slow_walks;      /* walks that had to be done frame by frame with all registers */
	uint64_t reserved_counts[18];
};

/* A string is a uint32_t: its first byte's place in all chunks of strings together. */

/*
 * A piece of code in memory, as in /proc/self/maps. The same code again has the same mapping;
 * other code at the address another one. Or a function of a script (Python): path is the script's,
 * function its name, offset the line that it begins at.
 */
struct heap_mapping {
	uint64_t start, end;    /* addresses [start..end) */
	uint64_t offset;        /* in the file */
	uint64_t bias;          /* an address less this is the file's vaddr; valid with a build id
				 * or has_bias */
	uint64_t device, inode; /* as in /proc/self/maps: major << 32 | minor; inode 0: no file */
	uint32_t path;          /* a string, "" when it has no name, e.g. "[vdso]" */
	uint32_t has_bias;      /* 1: bias is valid */
	uint32_t build_id_len;  /* bytes; 0: none */
	uint32_t is_script;     /* 1: see below */
	uint32_t function;      /* a string: of a script */
	uint32_t reserved[7];
	unsigned char build_id[HEAP_BUILD_ID_MAX];
};

/* Of a node's address. */
#define HEAP_SCRIPT_ENTRY (UINT64_C(1) << 63) /* the outermost one of its evaluation loop */

/* A call stack: its innermost frame, called by the frame of parent. The functions of scripts follow
 * all native frames, whatever the order in which they called each other. */
struct heap_node {
	uint64_t address; /* in the call: of the return address, the byte before; in a script: the
			   * line, with HEAP_SCRIPT_ENTRY or not */
	uint32_t parent;  /* a node of a smaller number; 0: it is the outermost frame */
	uint32_t mapping; /* of address, or HEAP_NO_MAPPING */
};

/*
 * What one call stack allocated. Several sites may have the same node: their numbers add up.
 * Sizes are as requested. A realloc() that succeeds frees the old block at its site and allocates
 * at its own. With a period, the numbers are estimates of all blocks, made of the sampled ones.
 *
 * At the process' peak the site had (peak_objects, peak_bytes) when its peak_no is the header's
 * and the header's is_peaking is 0; else what it has now (allocated less freed).
 */
struct heap_site {
	uint32_t node;
	uint32_t lock; /* the writer's */
	uint64_t alloc_objects, alloc_bytes;
	uint64_t free_objects,
		free_bytes;               /* of those; a block of HEAP_FORKED's parent is in none */
	uint64_t peak_no;                 /* header's peak_no at the last event of this site */
	int64_t peak_objects, peak_bytes; /* allocated less freed when that peak ended */
	/* Freed by the thread that allocated them, with at most one allocation in between. */
	uint64_t temporary_objects, temporary_bytes;
	uint64_t realloc_moves; /* blocks that a realloc() here gave another address */
	uint32_t shard; /* of the threads that allocate here: sites of a node differ in it */
	uint32_t unused;
	uint64_t reserved[4];
};

#define HEAP_MAPPINGS_A_CHUNK (HEAP_CHUNK / sizeof(struct heap_mapping))
#define HEAP_NODES_A_CHUNK (HEAP_CHUNK / sizeof(struct heap_node))
#define HEAP_SITES_A_CHUNK (HEAP_CHUNK / sizeof(struct heap_site))

/* All of the header: kinds[i] is the enum heap_kind of chunk i. */
struct heap_head {
	struct heap_header header;
	unsigned char unused[4096 - sizeof(struct heap_header)];
	unsigned char kinds[HEAP_CHUNKS_MAX];
	unsigned char rest[HEAP_HEADER_SIZE - 4096 - HEAP_CHUNKS_MAX]; /* pages of up to 64 KiB */
};

static_assert(sizeof(struct heap_header) == 320, "layout");
static_assert(offsetof(struct heap_header, flags) == 72, "layout");
static_assert(offsetof(struct heap_header, live) == 104, "layout");
static_assert(sizeof(struct heap_mapping) == 128, "a power of two");
static_assert(sizeof(struct heap_node) == 16, "a power of two");
static_assert(sizeof(struct heap_site) == 128, "two cache lines: no false sharing");
static_assert(sizeof(struct heap_head) == HEAP_HEADER_SIZE, "whole pages");

/*
 * The environment of the library. Without HEAP_ENV_DIR it only passes calls on.
 * A file is named heap.PID.N: N counts up for processes that exec. It is made with O_EXCL, mode
 * 0600.
 */
#define HEAP_NAME_START "heap."
/* The file of a process that was attached to has no name, but memory maps show what it would be:
 * that of O_TMPFILE, or this one. */
#define HEAP_UNNAMED_START "auger-heap."
#define HEAP_ENV_DIR "AUGER_HEAP"              /* absolute path of the folder for the files */
#define HEAP_ENV_SAMPLE "AUGER_HEAP_SAMPLE"    /* decimal bytes: period; 0 or none: all blocks */
#define HEAP_ENV_EXACT "AUGER_HEAP_EXACT_PEAK" /* "1": HEAP_EXACT_PEAK */
#define HEAP_ENV_MMAP "AUGER_HEAP_MMAP"        /* "1": HEAP_MAPPED */
#define HEAP_ENV_ONLY "AUGER_HEAP_ONLY_PID"    /* decimal: only this process is recorded */
#define HEAP_ENV_LIMIT "AUGER_HEAP_LIMIT"      /* decimal bytes: of a file, at most */

/*
 * The library in a running process, where it was loaded by dlopen(): these two functions of it are
 * called from outside, in a thread that is in none of its hooks. They return 0 or -errno.
 * Attaching again after detaching is possible; -EALREADY: it records already; -EBUSY: a thread has
 * not left a hook since.
 */
#define HEAP_ATTACH_FUNCTION "auger_heap_attach" /* takes a struct heap_attach */
#define HEAP_DETACH_FUNCTION "auger_heap_detach" /* takes nothing */

struct heap_attach {
	uint64_t size;           /* sizeof(struct heap_attach) */
	uint64_t period, limit;  /* as HEAP_ENV_SAMPLE and HEAP_ENV_LIMIT */
	uint64_t is_exact;       /* 1: HEAP_EXACT_PEAK */
	uint64_t has_mappings;   /* 1: HEAP_MAPPED */
	char dir[HEAP_PATH_MAX]; /* absolute path of a folder for the file, with a NUL; "": none */
};

#endif
