/* SPDX-License-Identifier: MIT */
/*
 * inventory: everything that the processes of a job have open below the directory OLD, and what
 * blocks moving it.
 *
 * scan.h fills it; relocate prints it, copies by it and repoints by it. Rows refer to each other by
 * index, and the inventory owns all strings. A row with stays is not moved: it has an obstacle, and
 * repoint does not touch it.
 *
 * Source: proc(5), kcmp(2), statx(2).
 */
#ifndef RELOCATE_INVENTORY_INVENTORY_H
#define RELOCATE_INVENTORY_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

#define RELOC_NONE UINT32_MAX /* no such row */

/* A process of the job. */
struct reloc_proc {
	pid_t pid;
	uint64_t start_ticks; /* field 22 of stat: distinguishes a reused pid */
	char comm[64];        /* for display; control characters became '?' */
	char state;           /* field 3 of stat */
	uint32_t files_of; /* row of the first process with the same descriptor table (CLONE_FILES),
			      usually its own. Only that process has rows of fds */
	uint32_t mm_of;    /* the same for the address space (vfork, CLONE_VM) and maps */
	uint32_t threads;
	const char *new_path; /* path of NEW below its root directory; NULL: it sees NEW as we do */
};

/* How the job uses a file: bits. */
enum reloc_use {
	RELOC_USE_FD = 1,
	RELOC_USE_MAPPED = 2,
	RELOC_USE_MAPPED_WRITABLE = 4, /* shared and writable: no time stamp shows changes */
	RELOC_USE_EXEC = 8,            /* mapped executable: a program or library */
	RELOC_USE_DIR = 16,            /* a working directory */
	RELOC_USE_WATCHED = 32,        /* by inotify */
};

/* A file of OLD (of any type), identified by device and inode. */
struct reloc_file {
	uint64_t ino;
	uint32_t dev_major, dev_minor; /* as in stat(2) */
	const char *old_path;          /* below OLD, "" is OLD itself; NULL: the file is unlinked */
	const char *
		new_path; /* below NEW; for an unlinked file a hidden name in NEW's top directory */
	uint32_t mode;    /* type and permissions */
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t size_bytes;
	int64_t ctime_ns;
	unsigned uses;      /* enum reloc_use */
	const char *source; /* /proc/PID/fd/N or /proc/PID/map_files/A-B: opens it even if unlinked;
			       NULL: no process has it open */
	bool is_deleted; /* old_path is NULL: copied to new_path, which is unlinked after the commit
			  */
};

/* An open file description, which dup, fork and SCM_RIGHTS share. */
struct reloc_desc {
	uint32_t file;
	unsigned flags; /* as in fdinfo, without O_CLOEXEC (02000000) */
	uint64_t pos;
	uint32_t first; /* row of fds: one of its descriptors */
	bool stays;
};

/* A descriptor: a number in a process. */
struct reloc_fd {
	uint32_t proc;
	int number;
	uint32_t desc;
	bool is_cloexec;
};

enum reloc_lock_kind { RELOC_LOCK_FLOCK, RELOC_LOCK_POSIX, RELOC_LOCK_OFD };

struct reloc_lock {
	enum reloc_lock_kind kind;
	bool is_write;
	uint64_t start, end; /* bytes [start..end]; end UINT64_MAX: EOF */
	uint32_t proc;       /* the owner (POSIX), or a process that shares the description */
	uint32_t desc;       /* POSIX: one of the descriptions of the file in that process */
	bool stays;
};

/* A descriptor of OLD (a FIFO) in an epoll set. */
struct reloc_epoll {
	uint32_t proc;
	int epoll;  /* number of the epoll descriptor */
	int number; /* the number in the set */
	uint32_t events;
	uint64_t data;
	uint32_t desc;
};

/* An inotify watch that can be moved. */
struct reloc_watch {
	uint32_t proc;
	int inotify; /* number of the descriptor */
	unsigned wd;
	uint32_t mask;
	uint32_t file;
};

/* VmFlags of smaps that a new mapping needs: bits. */
enum reloc_vm {
	RELOC_VM_MAY_WRITE = 1 << 0,    /* mw */
	RELOC_VM_NORESERVE = 1 << 1,    /* nr */
	RELOC_VM_LOCKED = 1 << 2,       /* lo */
	RELOC_VM_DONTFORK = 1 << 3,     /* dc */
	RELOC_VM_DONTDUMP = 1 << 4,     /* dd */
	RELOC_VM_HUGE = 1 << 5,         /* hg */
	RELOC_VM_NOHUGE = 1 << 6,       /* nh */
	RELOC_VM_RANDOM = 1 << 7,       /* rr */
	RELOC_VM_SEQUENTIAL = 1 << 8,   /* sr */
	RELOC_VM_WIPEONFORK = 1 << 9,   /* wf */
	RELOC_VM_LOCKONFAULT = 1 << 10, /* lf */
};

struct reloc_map {
	uint32_t proc;
	uint32_t file;
	uint64_t start, end; /* addresses [start..end) */
	uint64_t offset;     /* bytes in the file */
	int prot;            /* PROT_ bits */
	bool is_shared;
	unsigned vm_flags; /* enum reloc_vm */
	bool stays;
};

enum reloc_dir_kind { RELOC_DIR_CWD, RELOC_DIR_ROOT, RELOC_DIR_EXE };

/* A working directory, root directory or program. One row for all threads that share it (CLONE_FS).
 * ROOT and EXE always stay. */
struct reloc_dir {
	uint32_t proc;
	pid_t tid; /* a thread that has it, usually the first */
	enum reloc_dir_kind kind;
	uint32_t file;
	bool stays;
};

/* A note only informs. With --force-partial what stays may stay on OLD. What blocks, blocks the
 * move. */
enum reloc_obstacle_kind { RELOC_NOTE, RELOC_STAYS, RELOC_BLOCKS };

struct reloc_obstacle {
	enum reloc_obstacle_kind kind;
	pid_t pid; /* 0: no process */
	const char *comm;
	const char
		*what; /* "descriptor 5", "mapping 7f12000-7f13000", "working directory", "mount" */
	const char *path;   /* as in /proc, control characters replaced; "": none */
	const char *reason; /* why it cannot be moved */
	const char *remedy; /* what the user can do; "": nothing */
};

struct reloc_inventory {
	struct reloc_proc *procs;
	struct reloc_file *files;
	struct reloc_desc *descs;
	struct reloc_fd *fds;
	struct reloc_lock *locks;
	struct reloc_epoll *epolls;
	struct reloc_watch *watches;
	struct reloc_map *maps;
	struct reloc_dir *dirs;
	struct reloc_obstacle *obstacles;
	size_t proc_count, file_count, desc_count, fd_count, lock_count, epoll_count, watch_count,
		map_count, dir_count, obstacle_count;
	struct strtab *strings; /* all strings of the rows; owned */
	int64_t took_ns;        /* duration of the scan */
	int64_t cost_ns;        /* the same without waiting for a CPU, as in the pause */
};

void reloc_inventory_fini(struct reloc_inventory *s);

/* Adds an obstacle of a process, row proc. Copies what and path, without
 * control characters; reason and remedy are literals. -ENOMEM. */
int reloc_inventory_add(struct reloc_inventory *s, enum reloc_obstacle_kind kind, uint32_t proc,
			const char *what, const char *path, const char *reason, const char *remedy,
			struct err *e) MUST_CHECK;

/* Is there an obstacle of this kind? */
bool reloc_inventory_has(const struct reloc_inventory *s, enum reloc_obstacle_kind kind);

#endif
