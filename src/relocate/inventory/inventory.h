/* SPDX-License-Identifier: MIT */
/*
 * survey: what the processes of a job hold of the directory OLD, and what stands in the way
 * of moving it.
 *
 * Taken from /proc alone, so that it also works while OLD's storage hangs and is fast enough
 * for the pause: once on the living job, and once more on the stopped one, and that one counts.
 * Rows refer to each other by index; strings belong to the survey. Things that are only
 * reported and things that cannot be moved are rows too; stays marks what is to stay on OLD
 * (each such row has an obstacle), and nobody may touch those.
 *
 * Source: proc(5), kcmp(2), statx(2); ../shared/spec/relocate.md 2.1 and 2.13.
 */
#ifndef RELOCATE_INVENTORY_INVENTORY_H
#define RELOCATE_INVENTORY_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RELOC_NONE UINT32_MAX /* no such row */

/* A process that is to be moved. */
struct reloc_proc {
	pid_t pid;
	uint64_t start_ticks; /* field 22 of stat: tells a reused pid */
	char comm[64];        /* for people; control characters became '?' */
	char state;           /* field 3 of stat */
	uint32_t files_of; /* the first process with the same descriptor table (CLONE_FILES): a row
			      of procs; itself mostly. Only that one has rows of fds */
	uint32_t mm_of;    /* the same for the address space (vfork, CLONE_VM) and maps */
	uint32_t threads;
	const char
		*new_path; /* NEW below its root directory, where that is not ours; NULL: it is */
};

/* How a file is used by the job: bits. */
enum reloc_use {
	RELOC_USE_FD = 1,
	RELOC_USE_MAPPED = 2,
	RELOC_USE_MAPPED_WRITABLE =
		4,              /* shared and may be written: no time stamp tells of changes */
	RELOC_USE_EXEC = 8,     /* mapped executable: a program or library */
	RELOC_USE_DIR = 16,     /* a working directory */
	RELOC_USE_WATCHED = 32, /* inotify */
};

/* A file (of any type) of OLD, by device and inode. */
struct reloc_file {
	uint64_t ino;
	uint32_t dev_major, dev_minor; /* as stat tells them */
	const char *old_path;          /* below OLD, "" is OLD itself; NULL: has no name any more */
	const char *new_path;          /* below NEW; a hidden name of NEW's top for those without */
	uint32_t mode;                 /* type and permissions */
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t size_bytes;
	int64_t ctime_ns;
	unsigned uses;      /* enum reloc_use */
	const char *source; /* /proc/PID/fd/N or /proc/PID/map_files/A-B: opens it also without a
			       name; NULL: nobody has it open */
	bool is_deleted; /* old_path is NULL: copied to the hidden new_path, unlinked after commit
			  */
};

/* An open file description: what dup, fork and SCM_RIGHTS share. */
struct reloc_desc {
	uint32_t file;
	unsigned flags; /* as fdinfo tells them, without O_CLOEXEC (02000000) */
	uint64_t pos;
	uint32_t first; /* row of fds: one descriptor that has it */
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
	uint32_t proc;       /* who owns it (POSIX) or one who shares the description */
	uint32_t desc;       /* POSIX: one of the descriptions of the file in that process */
	bool stays;
};

/* A descriptor of OLD (a FIFO) in an epoll set. */
struct reloc_epoll {
	uint32_t proc;
	int epoll;  /* number of the epoll descriptor */
	int number; /* the number under which the file was added */
	uint32_t events;
	uint64_t data;
	uint32_t desc;
};

/* A watch of inotify. Only those that can be moved have rows. */
struct reloc_watch {
	uint32_t proc;
	int inotify; /* number of the descriptor */
	unsigned wd;
	uint32_t mask;
	uint32_t file;
};

/* VmFlags of smaps that matter for making a mapping again: bits. */
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

/* A working directory, root directory or program. One row for all threads that share it (CLONE_FS);
 * ROOT and EXE are always left. */
struct reloc_dir {
	uint32_t proc;
	pid_t tid; /* a thread that has it; the process' own pid mostly */
	enum reloc_dir_kind kind;
	uint32_t file;
	bool stays;
};

/* What is only told, what --force-partial may leave on OLD, and what nothing helps against. */
enum reloc_obstacle_kind { RELOC_NOTE, RELOC_STAYS, RELOC_BLOCKS };

struct reloc_obstacle {
	enum reloc_obstacle_kind kind;
	pid_t pid; /* 0: no process */
	const char *comm;
	const char
		*what; /* "descriptor 5", "mapping 7f12000-7f13000", "working directory", "mount" */
	const char
		*path; /* as /proc tells it, control characters replaced; "" when there is none */
	const char *reason; /* why it cannot be moved */
	const char *remedy; /* what the user can do; "" when nothing */
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
	int64_t took_ns;        /* to take it */
};

void reloc_inventory_fini(struct reloc_inventory *s);

/* Is there an obstacle of this kind? */
bool reloc_inventory_has(const struct reloc_inventory *s, enum reloc_obstacle_kind kind);

#endif
