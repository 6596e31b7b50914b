/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/mount_rules.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define FOREVER_S 1e9 /* a timeout that never expires: 30 years */

bool mount_rules_ask_storage(const struct mount_opts *o, const struct local *l)
{
	if (o->rights != RIGHTS_BY_ANY)
		return o->rights == RIGHTS_BY_STORAGE;
	if (local_modes_tell(l))
		return false;
	log_msg(LOG_INFO, "cache", "%s: storage is asked what each user may do", o->target);
	return true;
}

static double seconds_of(int64_t ns)
{
	return ns == CACHE_FOREVER ? FOREVER_S : (double)ns / (double)NS_PER_S;
}

/*
 * To check access, the kernel needs the attributes of all folders in a path. Where it caches none,
 * it requests them at each step. So in exact mode we check access instead: then the kernel can
 * cache dentries, and a system call is one request instead of two for each part of the path.
 *
 * Where storage is asked, each user may find other names in a folder: the kernel must request each
 * part of a path, unless there is one user only. Processes of root may have different capabilities.
 */
struct ops_mount mount_rules(const struct mount_opts *o, bool asks_rights)
{
	double timeout_s = seconds_of(o->cache.ttl_ns);
	bool has_one_user = !o->has_others && geteuid() != 0;
	bool checks_access = asks_rights || ((o->is_exact || o->is_writable) && !o->has_others);
	bool caches_names = asks_rights ? has_one_user : !o->is_exact || checks_access;

	return (struct ops_mount){
		.attr_timeout_s = o->is_exact ? 0 : timeout_s,
		.entry_timeout_s = caches_names ? timeout_s : 0,
		.is_exact = o->is_exact,
		.is_writable = o->is_writable,
		.checks_access = checks_access,
		.checks_search = asks_rights || (checks_access && geteuid() == 0),
		.asks_rights = asks_rights,
		.owns_root = !checks_access && geteuid() != 0,
		.is_immutable = o->cache.ttl_ns == CACHE_FOREVER,
		.passthrough = o->cache.passthrough,
	};
}
