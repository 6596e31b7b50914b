/* SPDX-License-Identifier: MIT */
#include "cachefs/rights/credentials.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct credentials *credentials_new(uid_t uid, gid_t gid, const gid_t *groups, size_t count)
{
	struct credentials *who = NULL;

	if (count <= FSUSER_GROUPS)
		who = malloc(sizeof *who + count * sizeof *groups);
	if (!who)
		return NULL;
	who->refs = 1;
	who->uid = uid;
	who->gid = gid;
	who->count = count;
	if (count)
		memcpy(who->groups, groups, count * sizeof *groups);
	return who;
}

struct credentials *credentials_ref(struct credentials *who)
{
	if (who)
		atomic_fetch_add(&who->refs, 1);
	return who;
}

void credentials_unref(struct credentials *who)
{
	if (who && atomic_fetch_sub(&who->refs, 1) == 1)
		free(who);
}

bool credentials_are_same(const struct credentials *a, const struct credentials *b)
{
	if (a == b)
		return true;
	return a && b && a->uid == b->uid && a->gid == b->gid && a->count == b->count &&
	       (!a->count || memcmp(a->groups, b->groups, a->count * sizeof a->groups[0]) == 0);
}

bool credentials_are_ours(const struct credentials *who)
{
	return !who || who->uid == geteuid();
}

int credentials_enter(const struct credentials *who, struct fsuser *ret_own)
{
	struct fsuser user = { .uid = who->uid, .gid = who->gid, .count = who->count };
	struct err e = { 0 };

	if (who->count)
		memcpy(user.groups, who->groups, who->count * sizeof user.groups[0]);
	fsuser_read(ret_own);
	return fsuser_enter(&user, &e);
}
