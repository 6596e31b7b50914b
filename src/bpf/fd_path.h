/* SPDX-License-Identifier: MIT */
/*
 * fd_path: reads the path of an open file from the kernel's memory, for syscalls.bpf.c.
 *
 * bpf_d_path() is not permitted at tracepoints. Memory may be freed and used again meanwhile, which
 * gives a wrong name at worst. All is inlined: libbpf looks up types of the kernel only for
 * programs that are loaded, but for all functions.
 */
#ifndef BPF_FD_PATH_H
#define BPF_FD_PATH_H

#include "bpf/kernel.h"
#include "bpf/memory.h"
#include "bpf/syscalls.h"

/* From a descriptor to its path. Source: kernel 6.18 include/linux/fs.h, dcache.h, fdtable.h,
 * fs/mount.h. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct file_system_type {
	const char *name;
};

struct super_block {
	struct file_system_type *s_type;
};

struct inode {
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent; /* itself: the root of its file system */
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent; /* itself: the root of all */
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

#pragma clang attribute pop

/* The open file of a descriptor of the current thread; NULL: none. */
static __always_inline struct file *file_of(__u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (!table || fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + fd) < 0)
		return NULL;
	return file;
}

/* Of a file without a path: its own name, or that of its file system. */
static __always_inline long read_pathless(char *to, struct dentry *dentry)
{
	long n =
		bpf_probe_read_kernel_str(to, CALLS_NAME_BYTES, BPF_CORE_READ(dentry, d_name.name));

	return n > 1 ? n
		     : bpf_probe_read_kernel_str(
			       to, CALLS_NAME_BYTES,
			       BPF_CORE_READ(dentry, d_inode, i_sb, s_type, name));
}

/* Where a path is followed upwards. */
struct place {
	struct dentry *dentry;
	struct mount *mount;
};

/* Reads the name of a place and goes to its folder. Returns its length with the NUL: 1 at the root;
 * 0 where it went to the folder that a file system is mounted on. */
static __always_inline long read_name(char *to, struct place *p)
{
	struct dentry *dentry = p->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	struct mount *mount = p->mount, *around;
	long n;

	if (dentry == parent || dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		around = BPF_CORE_READ(mount, mnt_parent);
		if (around == mount) {
			*to = '\0';
			return 1;
		}
		p->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		p->mount = around;
		return 0;
	}
	n = bpf_probe_read_kernel_str(to, CALLS_NAME_BYTES, BPF_CORE_READ(dentry, d_name.name));
	p->dentry = parent;
	return n > 1 ? n : -1;
}

/*
 * The names on the path of a descriptor's file with their NULs, the last first and "" at the end.
 * Of what has no path there is one name without "": "[eventpoll]", "sockfs", "pipefs". Returns the
 * length, as read_part().
 */
static __always_inline long read_fd_path(struct calls_memory *m, __u64 at, __u32 fd)
{
	struct file *file = file_of(fd);
	struct dentry *dentry;
	struct mount *mount;
	struct place p;
	__u64 len = 0;

	if (!file || at > LAST_PART)
		return -1;
	barrier_var(at); /* the compiler keeps the checked one */
	dentry = BPF_CORE_READ(file, f_path.dentry);
	mount = (void *)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	if (dentry == BPF_CORE_READ(dentry, d_parent) &&
	    dentry != BPF_CORE_READ(mount, mnt.mnt_root))
		return read_pathless(m->bytes + at, dentry);
	p = (struct place){ dentry, mount };
	for (__u32 i = 0; i < CALLS_PATH_NAMES; i++) {
		long n;

		if (len > CALLS_FETCH_BYTES - CALLS_NAME_BYTES)
			break;
		barrier_var(len);
		n = read_name(m->bytes + at + len, &p);
		if (n < 0 || n > CALLS_NAME_BYTES)
			break;
		len += (__u64)n;
		if (n == 1)
			return len;
	}
	return len | PART_CUT;
}

/* Adds a part for each descriptor among the arguments. */
static __always_inline void read_fd_paths(struct calls_memory *m, const struct inflight *d,
					  const struct calls_plan *plan)
{
	for (__u32 i = 0; i < CALLS_FDS; i++) {
		__u64 at = m->len, count = m->count, arg = plan->fds[i], len;
		long n;

		if (i >= plan->fd_count || arg >= 6)
			break;
		n = read_fd_path(m, at, (__u32)d->args[arg]);
		len = n & (PART_CUT - 1);
		if (n < 0 || len > CALLS_FETCH_BYTES)
			continue;
		barrier_var(count);
		if (count >= CALLS_FETCHES)
			continue;
		m->parts[count].arg = (__u16)arg;
		m->parts[count].len = (__u16)len;
		m->parts[count].is_cut = n >= PART_CUT;
		m->count = (__u32)count + 1;
		m->len = (__u32)(at + len);
	}
}

#endif
