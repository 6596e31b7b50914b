/* SPDX-License-Identifier: MIT */
#include "cachefs/store/access.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/cursor.h"
#include "cachefs/rights/caller.h"

#define GROUPS_MAX 1024
#define NO_ENTRY 8u /* not a value of rights */

/* Of an access list as an extended attribute. Source: linux/posix_acl_xattr.h, linux/posix_acl.h.
 */
#define LIST_VERSION 2
enum tag { OWNER = 1, USER = 2, OWNING_GROUP = 4, GROUP = 8, MASK = 16, OTHERS = 32 };

/* What a list grants us: rights like the lowest bits of a mode, or NO_ENTRY. */
struct granted {
	unsigned user, others, mask;
	bool has_group; /* an entry has one of our groups */
	bool by_group;  /* one such entry grants all that is wanted */
};

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

static void note_entry(struct granted *g, struct cursor *c, gid_t owning, unsigned want)
{
	enum tag tag = cursor_u16(c);
	unsigned rights = cursor_u16(c) & 7;
	uint32_t id = cursor_u32(c);

	if (tag == USER && id == geteuid())
		g->user = rights;
	else if (tag == OTHERS)
		g->others = rights;
	else if (tag == MASK)
		g->mask = rights;
	if ((tag == OWNING_GROUP && in_group(owning)) || (tag == GROUP && in_group(id))) {
		g->has_group = true;
		g->by_group |= !(want & ~rights);
	}
}

/* Only for files of other owners whose mode grants the group some right: else the kernel ignores
 * the list, too. Source: acl(5), "access check algorithm". */
static int check_list(const struct buf *list, gid_t owning, unsigned want)
{
	struct granted granted = { .user = NO_ENTRY, .mask = 7 };
	struct cursor c = cursor_make(list->data, list->len);

	if (cursor_u32(&c) != LIST_VERSION)
		return -EACCES;
	while (cursor_left(&c))
		note_entry(&granted, &c, owning, want);
	if (c.bad)
		return -EACCES;
	if (granted.user != NO_ENTRY)
		return want & ~(granted.user & granted.mask) ? -EACCES : 0;
	if (granted.has_group)
		return !granted.by_group || want & ~granted.mask ? -EACCES : 0;
	return want & ~granted.others ? -EACCES : 0;
}

static int check_modes(const struct stat *attr, unsigned want)
{
	unsigned group = attr->st_mode >> 3 & 7, others = attr->st_mode & 7;

	return want & ~(in_group(attr->st_gid) ? group : others) ? -EACCES : 0;
}

static int check_user(struct cache *c, struct waiter *w, struct node *n, const struct stat *attr,
		      unsigned want)
{
	CLEANUP(buf_fini) struct buf list = { 0 };
	int rc;

	if (attr->st_uid == geteuid())
		return want & ~(attr->st_mode >> 6 & 7) ? -EACCES : 0;
	if (!(attr->st_mode & 070))
		return check_modes(attr, want);
	rc = cache_xattr(c, w, n, "system.posix_acl_access", &list);
	if (rc == 0)
		return check_list(&list, attr->st_gid, want);
	return rc == CACHE_PARKED ? rc : check_modes(attr, want);
}

/* Source: capabilities(7). */
static bool may_override(const struct stat *attr, unsigned want, pid_t thread)
{
	bool is_folder = S_ISDIR(attr->st_mode);

	if (want & X_OK && !is_folder && !(attr->st_mode & 0111))
		return false;
	if (caller_has_capability(thread, CAP_DAC_OVERRIDE, attr->st_uid, attr->st_gid))
		return true;
	return (want == R_OK || (is_folder && !(want & W_OK))) &&
	       caller_has_capability(thread, CAP_DAC_READ_SEARCH, attr->st_uid, attr->st_gid);
}

static int check_here(struct cache *c, struct waiter *w, struct node *n, int wanted)
{
	unsigned want = (unsigned)wanted & 7;
	bool is_root = geteuid() == 0;
	struct stat attr;
	int64_t ttl_ns;
	int rc = cache_attr(c, w, n, &attr, &ttl_ns);

	if (rc || (is_root && (attr.st_mode & 0111 * want) == 0111 * want))
		return rc;
	rc = check_user(c, w, n, &attr, want);
	return rc == -EACCES && is_root && may_override(&attr, want, w->caller) ? 0 : rc;
}

/* -1 is mapped in no user namespace: only then has the caller our capabilities over all files. */
static bool is_unlimited(const struct waiter *w)
{
	return caller_has_capability(w->caller, CAP_DAC_OVERRIDE, (uid_t)-1, (gid_t)-1);
}

int access_check(struct cache *c, struct waiter *w, struct node *n, int wanted)
{
	int rc;

	if (!cache_asks_rights(c))
		return check_here(c, w, n, wanted);
	rc = cache_may(c, w, n, wanted);
	if (rc || geteuid() != 0 || !credentials_are_ours(w->who) || is_unlimited(w))
		return rc;
	return check_here(c, w, n, wanted);
}
