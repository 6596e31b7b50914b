/* SPDX-License-Identifier: MIT */
#include "cachefs/access.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#define GROUPS_MAX 1024

static bool in_group(gid_t group)
{
	gid_t groups[GROUPS_MAX];
	int count;

	if (group == getegid())
		return true;
	count = getgroups(GROUPS_MAX, groups);
	for (int i = 0; i < count; i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* Does storage let us read it? */
static int try_to_read(struct cache *c, struct node *n, const struct stat *attr)
{
	struct cache_data data;
	struct dirlist *names;
	int rc = 0;

	if (S_ISREG(attr->st_mode)) {
		rc = cache_read(c, n, 0, 1, &data);
		if (rc == 0)
			cache_data_fini(c, &data);
	} else if (S_ISDIR(attr->st_mode)) {
		rc = cache_list(c, n, &names);
		if (rc == 0)
			dirlist_unref(names);
	}
	return rc;
}

static bool has_list(struct cache *c, struct node *n)
{
	CLEANUP(buf_fini) struct buf list = { 0 };

	return cache_xattr(c, n, "system.posix_acl_access", &list) == 0;
}

/* The bits of the owner's class are the owner's for sure. Others may be let in by an access list,
 * within the group's bits. Source: acl(5), "access check algorithm". */
static int check_modes(struct cache *c, struct node *n, const struct stat *attr, int wanted)
{
	mode_t owner = attr->st_mode >> 6 & 7, group = attr->st_mode >> 3 & 7;
	mode_t others = attr->st_mode & 7, want = (mode_t)wanted;

	if (attr->st_uid == geteuid())
		return want & ~owner ? -EACCES : 0;
	if (!(want & ~(in_group(attr->st_gid) ? group : others)))
		return 0;
	if (want & ~(group | others) || !has_list(c, n))
		return -EACCES;
	return want & R_OK ? try_to_read(c, n, attr) : 0;
}

int access_check(struct cache *c, struct node *n, int wanted)
{
	struct stat attr;
	int rc = cache_attr(c, n, &attr);

	if (rc < 0)
		return rc;
	if (geteuid() != 0)
		return check_modes(c, n, &attr, wanted);
	if (wanted & X_OK && S_ISREG(attr.st_mode) && !(attr.st_mode & 0111))
		return -EACCES;
	return 0;
}
