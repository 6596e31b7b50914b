/* SPDX-License-Identifier: MIT */
/* mounts: the mounts that a process sees. Source: proc(5), /proc/PID/mountinfo. */
#ifndef RELOCATE_INVENTORY_MOUNTS_H
#define RELOCATE_INVENTORY_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"

/* Options that take rights away from what is on the mount: bits. */
enum mount_option { MOUNT_NOSUID = 1, MOUNT_NODEV = 2, MOUNT_NOEXEC = 4 };

struct mount {
	uint64_t id, parent;
	uint32_t dev_major, dev_minor; /* of the superblock */
	char *root;                    /* the mounted part of the file system; owned */
	char *point;                   /* mount point; owned */
	char *type;                    /* "ext4"; owned */
	uint64_t peers;                /* propagation: its shared peer group; 0: none */
	uint64_t master;               /* the peer group it follows; 0: none */
	unsigned options;              /* enum mount_option */
};

/* All zero is an empty list. */
struct mounts {
	struct rows rows; /* struct mount */
};

/* pid 0: this process. */
int mounts_read(struct mounts *m, pid_t pid, struct err *e) MUST_CHECK;
void mounts_fini(struct mounts *m);

/* The name of the lowest bit of options: "nosuid". */
const char *mount_option_name(unsigned options);

/* May close(2) of a file wait for storage? Network file systems and FUSE write out then. */
bool mount_writes_at_close(const struct mount *m);

/* NULL: not found. */
const struct mount *mounts_find(const struct mounts *m, uint64_t id);

#endif
