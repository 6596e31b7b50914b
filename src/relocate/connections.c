/* SPDX-License-Identifier: MIT */
#include "relocate/connections.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/map.h"
#include "base/rows.h"
#include "target/connections.h"
#include "target/proc.h"

/* The inode of the socket that is descriptor number of pid; 0: it is no socket. */
static uint64_t socket_inode(pid_t pid, int number)
{
	char path[PROC_PATH], link[64];
	ssize_t len;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, number);
	len = readlink(path, link, sizeof link - 1);
	link[len > 0 ? len : 0] = '\0';
	return connection_inode(link);
}

static int add_note(struct reloc_inventory *s, uint32_t proc, const struct connection *c,
		    struct err *e)
{
	char path[sizeof c->local + sizeof c->peer + 8];

	snprintf(path, sizeof path, "%s - %s", c->local, c->peer);
	return reloc_inventory_add(s, RELOC_NOTE, proc, "TCP connection", path,
				   "in the pause the process does not answer its peer",
				   "the peer's time-out must be longer than the pause", e);
}

/* seen: inodes that have a note; processes may share a socket. */
static int add_process(struct reloc_inventory *s, uint32_t proc, const struct connections *n,
		       struct map *seen, struct err *e)
{
	CLEANUP(rows_fini) struct rows numbers = { 0 };
	pid_t pid = s->procs[proc].pid;
	char path[PROC_PATH];

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	if (proc_numbers(path, &numbers) == -ENOMEM)
		return err_nomem(e);
	for (size_t i = 0; i < numbers.count; i++) {
		uint64_t ino = socket_inode(pid, ((const int *)numbers.data)[i]);
		const struct connection *c = connections_get(n, ino);

		if (!c || map_get(seen, ino) != MAP_NONE)
			continue;
		if (map_put(seen, ino, 1) < 0)
			return err_nomem(e);
		if (add_note(s, proc, c, e) < 0)
			return e->code;
	}
	return 0;
}

int connections_find(struct reloc_inventory *s, size_t *ret_count, struct err *e)
{
	CLEANUP(connections_fini) struct connections n = { 0 };
	CLEANUP(map_fini) struct map seen = { 0 };
	size_t before = s->obstacle_count;

	for (uint32_t i = 0; i < s->proc_count; i++)
		if (connections_read(&n, s->procs[i].pid, e) < 0 ||
		    add_process(s, i, &n, &seen, e) < 0)
			return e->code;
	*ret_count = s->obstacle_count - before;
	return 0;
}
