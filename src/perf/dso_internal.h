/* SPDX-License-Identifier: MIT */
/* dso_internal: what the source files of dso share. */
#ifndef PERF_DSO_INTERNAL_H
#define PERF_DSO_INTERNAL_H

#include "base/buf.h"
#include "base/elf_image.h"
#include "base/map.h"
#include "base/strtab.h"
#include "perf/dso.h"

#define DSO_SEGMENTS_MAX 4 /* of one dso; files have one or two */

/* A part of a file that holds code, and its mapping in the profile. */
struct segment {
	uint64_t offset, len; /* in the file, [offset..offset+len) */
	uint64_t vaddr;       /* of offset */
	uint32_t mapping;     /* id, 0: not made yet */
};

struct dso {
	enum dso_kind kind;
	bool is_open;      /* read, and it is the one that was mapped */
	unsigned tries;    /* to open it */
	uint32_t last_pid; /* whose mapping was tried last */
	uint32_t same;     /* id of the dso that stands for this one, too: the same file */
	int fd;            /* -1: none */
	struct str path;   /* borrowed from keys */
	char build_id[ELF_BUILD_ID_HEX]; /* "": none known */
	bool has_mapped_build_id;        /* by the mapping: the file must have it */
	uint64_t ino;                    /* 0: unknown */
	uint32_t pid;                    /* DSO_ANON: whose code */
	bool is_refused;                 /* DSO_ANON: its perf map belongs to another user */
	bool has_jitdump;                /* DSO_ANON: it is named by that, not by a perf map */
	struct segment segments[DSO_SEGMENTS_MAX];
	size_t segment_count;
};

struct dsos {
	struct dsos_opts opts;
	struct strtab *keys; /* packed struct key and path; the id is the dso's */
	struct dso *list;    /* [cap]; owned */
	size_t count, cap;
	size_t fd_count;
	uint32_t kernel;       /* mapping id, 0: not made yet */
	struct map by_file;    /* of open files: number to the id of the first dso */
	struct map parents;    /* process id to that of its parent */
	struct map jitdumps;   /* process id to the dso of the jitdump that it writes */
	struct buf file_names; /* texts of files */
	const char **files;    /* [mapping count]; owned */
};

/* path: [0..len) */
bool dso_path_starts(const char *path, size_t len, const char *prefix);

/* The dso of v, a mapping of process pid, or the one that stands for it. A file is opened if it is
 * not yet and it can be. */
struct dso *dsos_get_open(struct dsos *d, const struct vma *v, uint32_t pid);

#endif
