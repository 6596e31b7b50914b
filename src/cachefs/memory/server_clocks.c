/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/server_clocks.h"

#define SECONDS_MAX (INT64_MAX / NS_PER_S / 4) /* so that sums fit, too */

int64_t server_ctime(const struct stat *attr)
{
	int64_t s = attr->st_ctim.tv_sec;

	if (s > SECONDS_MAX)
		return SECONDS_MAX * NS_PER_S;
	return s < 0 ? 0 : s * NS_PER_S + attr->st_ctim.tv_nsec;
}

/* Under the lock. NULL: not known. */
static struct server_clock *find(struct server_clocks *c, dev_t device)
{
	for (unsigned i = 0; i < c->count && i < SERVER_CLOCKS; i++)
		if (c->list[i].device == device)
			return &c->list[i];
	return NULL;
}

void server_clocks_note(struct server_clocks *c, const struct stat *attr, struct server_now now)
{
	int64_t ctime_ns = server_ctime(attr), offset_ns = ctime_ns - now.mono_ns;
	struct server_clock *clock;

	if (ctime_ns > now.wall_ns)
		return;
	pthread_mutex_lock(&c->lock);
	clock = find(c, attr->st_dev);
	if (!clock) {
		clock = &c->list[c->count++ % SERVER_CLOCKS];
		*clock = (struct server_clock){ attr->st_dev, offset_ns };
	}
	if (clock->offset_ns < offset_ns)
		clock->offset_ns = offset_ns;
	pthread_mutex_unlock(&c->lock);
}

int64_t server_clocks_at(struct server_clocks *c, dev_t device, struct server_now when)
{
	int64_t at_ns = when.wall_ns - SERVER_BEHIND_NS;
	const struct server_clock *clock;

	pthread_mutex_lock(&c->lock);
	clock = find(c, device);
	if (clock && clock->offset_ns + when.mono_ns > at_ns)
		at_ns = clock->offset_ns + when.mono_ns;
	pthread_mutex_unlock(&c->lock);
	return at_ns < when.wall_ns ? at_ns : when.wall_ns;
}
