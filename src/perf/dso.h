/* SPDX-License-Identifier: MIT */
/*
 * dso: the files and other memory that hold code, each once, and the lookup from an address of a
 * process to an address in them.
 *
 * A file is opened when the first sample falls into it. It is opened through the process that maps
 * it, so that files in containers and deleted files are found. The descriptor stays open, so that
 * the file can be symbolized after it was deleted. A file whose build id (or, without one, inode)
 * differs from the mapped one is not used. Addresses become virtual addresses of the file, the
 * same in all processes; for an unreadable file they become offsets.
 */
#ifndef PERF_DSO_H
#define PERF_DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "perf/code_address.h"
#include "perf/maps.h"
#include "perf/record.h"

#define DSO_NONE UINT32_MAX /* out of memory */

/* The kind of memory, by the mapping's name. */
enum dso_kind {
	DSO_FILE,
	DSO_VDSO,
	DSO_VDSO32, /* of 32-bit programs: shown by name, but with an unwinding table */
	DSO_ANON,   /* memory without a file: code made at run time, by one process */
	DSO_OTHER,  /* e.g. [vsyscall]: shown by name */
};

/* A file as a mapping describes it. */
struct dso_id {
	enum dso_kind kind;
	const char *path; /* [0..path_len), without " (deleted)" */
	size_t path_len;
	const unsigned char *build_id; /* [0..build_id_len) */
	size_t build_id_len;           /* 0: unknown */
	uint32_t major, minor;
	uint64_t ino; /* 0: unknown */
	uint32_t pid; /* DSO_ANON: the process that made the code */
};

struct dsos_opts {
	struct profile *profile; /* gets the mappings; must outlive the dsos */
	const char *proc;        /* "/proc": processes are alive and can be asked; NULL: not */
	uint64_t kernel_start;   /* lowest address of the kernel's code; 0: unknown */
	struct kernel *kernel;   /* of perf/kernel.h, not the running one; NULL: that */
	size_t fd_limit;         /* descriptors to keep at most */
};

struct kernel;
struct dsos;

struct dsos *dsos_new(const struct dsos_opts *o) MUST_CHECK; /* NULL: out of memory */
void dsos_free(struct dsos *d);                              /* closes the files */

/* The name of a mapping to the kind of its memory; cuts " (deleted)" off. */
enum dso_kind dso_kind_of(const char *path, size_t *path_len);

/* The id of a dso. DSO_NONE: out of memory. */
uint32_t dsos_add(struct dsos *d, const struct dso_id *id);

/* Sets the parent of a process; files of an ended process are opened through it. 0 or -ENOMEM. */
int dsos_set_parent(struct dsos *d, uint32_t pid, uint32_t parent) MUST_CHECK;

/* Opens what is not open. address is in v, a mapping of process pid. */
struct code_address dsos_locate(struct dsos *d, const struct vma *v, uint32_t pid,
				uint64_t address);

/* An address of the kernel. */
struct code_address dsos_locate_kernel(struct dsos *d, uint64_t address);

/* The descriptor of the file of v, a mapping of process pid, opened if it is not yet; borrowed.
 * -1: it cannot be opened. */
int dsos_open(struct dsos *d, const struct vma *v, uint32_t pid);

/* The representative id of a file that has several ids. */
uint32_t dsos_same(const struct dsos *d, uint32_t id);

/* Of such an id. */
enum dso_kind dsos_kind(const struct dsos *d, uint32_t id);
const char *dsos_path(const struct dsos *d, uint32_t id); /* in words when it has none */
bool dsos_is_live(const struct dsos *d);

/* The load bias of v: address - bias is the link-time address. */
uint64_t dsos_bias(struct dsos *d, const struct vma *v);

/*
 * What to open for each mapping of the profile, for struct symbolize_opts: [mapping count]
 * paths of the descriptors that are kept, NULL where there is none. Owned by d. NULL: out of
 * memory.
 */
const char *const *dsos_files(struct dsos *d);

#endif
