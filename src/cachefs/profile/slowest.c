/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/slowest.h"

#include <errno.h>
#include <string.h>

#include "cachefs/profile/path_list.h"

static uint64_t ns_of(const struct path_counts *c)
{
	uint64_t ns = 0;

	for (int class = 0; class < PATH_CLASSES; class ++)
		ns += path_counts_ns(c, (enum path_class) class);
	return ns;
}

static uint64_t requests_of(const struct path_counts *c)
{
	uint64_t requests = 0;

	for (int class = 0; class < PATH_CLASSES; class ++)
		requests += path_counts_events(c, (enum path_class) class);
	return requests;
}

/* Of a long path the end is kept. */
static void copy_path(char to[CONTROL_PATH_MAX], const char *path)
{
	size_t len = strlen(path);

	if (len < CONTROL_PATH_MAX) {
		memcpy(to, path, len + 1);
		return;
	}
	memcpy(to, "...", 3);
	memcpy(to + 3, path + len - (CONTROL_PATH_MAX - 4), CONTROL_PATH_MAX - 3);
}

/* Puts it at its place among those kept, and drops the last one if there is no room. */
static void keep(struct control_slowest *s, const struct path_list *l, const struct path_row *row)
{
	struct control_path path = { .requests = requests_of(&row->counts),
				     .ns = ns_of(&row->counts) };
	size_t at = s->count;

	while (at && s->paths[at - 1].ns < path.ns)
		at--;
	if (at == CONTROL_PATHS || !path.ns)
		return;
	copy_path(path.path, path_list_path(l, row));
	if (s->count < CONTROL_PATHS)
		s->count++;
	memmove(&s->paths[at + 1], &s->paths[at], (s->count - at - 1) * sizeof *s->paths);
	s->paths[at] = path;
}

int slowest_read(struct cache *c, const char *target, struct control_slowest *ret)
{
	struct path_list list;

	memset(ret, 0, sizeof *ret);
	if (path_list_make(c, target, &list) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < list.rows.count; i++)
		if (!path_list_get(&list, i)->is_evicted)
			keep(ret, &list, path_list_get(&list, i));
	path_list_fini(&list);
	return 0;
}
