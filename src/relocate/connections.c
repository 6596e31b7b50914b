/* SPDX-License-Identifier: MIT */
#include "relocate/connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/str.h"
#include "target/proc.h"

#define LIST_MAX ((size_t)64 << 20) /* bytes: some 400,000 connections */
#define DIGITS 8                    /* of each 32-bit word of an address */

/* What is known of the network namespace of one process. */
struct network {
	uint64_t ns;         /* inode of the namespace; 0: none was read */
	struct rows list;    /* struct connection */
	struct map by_inode; /* row of list */
};

static void network_fini(struct network *n)
{
	rows_fini(&n->list);
	map_fini(&n->by_inode);
}

/* hex: one word, or four of IPv6, each as this machine has it. */
static bool format_end(char ret[56], const char *hex, unsigned port)
{
	size_t words = strlen(hex) / DIGITS;
	char text[INET6_ADDRSTRLEN];
	uint32_t address[4];

	if (port > UINT16_MAX || strlen(hex) % DIGITS || (words != 1 && words != 4))
		return false;
	for (size_t i = 0; i < words; i++) {
		char word[DIGITS + 1] = "";

		memcpy(word, hex + i * DIGITS, DIGITS);
		address[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (!inet_ntop(words == 1 ? AF_INET : AF_INET6, address, text, sizeof text))
		return false;
	snprintf(ret, 56, words == 1 ? "%s:%u" : "[%s]:%u", text, port);
	return true;
}

bool connection_parse(struct connection *ret, const char *line)
{
	char local[33], peer[33];
	unsigned local_port, peer_port;
	uint64_t ino;

	if (sscanf(line,
		   " %*u: %32[0-9A-Fa-f]:%4x %32[0-9A-Fa-f]:%4x %*x %*x:%*x %*x:%*x %*x %*u %*u "
		   "%" SCNu64,
		   local, &local_port, peer, &peer_port, &ino) != 5)
		return false;
	/* A listening socket has no peer; one that no process has any more has no inode. */
	if (!peer_port || !ino || !format_end(ret->local, local, local_port) ||
	    !format_end(ret->peer, peer, peer_port))
		return false;
	ret->ino = ino;
	return true;
}

static int add_list(struct network *n, pid_t pid, const char *name, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	char path[PROC_PATH], *at, *line;
	struct connection c, *row;
	struct err why;

	snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, name);
	if (file_read_small(path, LIST_MAX, &text, &why) < 0) /* ended, or a kernel without IPv6 */
		return why.code == -ENOMEM ? err_nomem(e) : 0;
	buf_put_byte(&text, '\0');
	if (buf_error(&text) < 0)
		return err_nomem(e);
	at = text.data;
	while ((line = strsep(&at, "\n"))) {
		if (!connection_parse(&c, line))
			continue;
		row = rows_add(&n->list, sizeof *row);
		if (!row || map_put(&n->by_inode, c.ino, (uint32_t)(n->list.count - 1)) < 0)
			return err_nomem(e);
		*row = c;
	}
	return 0;
}

/* Processes of a job nearly always share their network namespace. */
static int set_network(struct network *n, pid_t pid, struct err *e)
{
	char path[PROC_PATH];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
	if (stat(path, &st) < 0 || st.st_ino == n->ns)
		return 0;
	n->ns = st.st_ino;
	n->list.count = 0;
	map_clear(&n->by_inode);
	return add_list(n, pid, "tcp", e) < 0 ? e->code : add_list(n, pid, "tcp6", e);
}

/* The inode of the socket that is descriptor number of pid; 0: it is no socket. */
static uint64_t socket_inode(pid_t pid, int number)
{
	char path[PROC_PATH], link[64];
	ssize_t len;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, number);
	len = readlink(path, link, sizeof link - 1);
	link[len > 0 ? len : 0] = '\0';
	return text_starts_with(link, "socket:[") ? strtoull(link + strlen("socket:["), NULL, 10)
						  : 0;
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
static int add_process(struct reloc_inventory *s, uint32_t proc, const struct network *n,
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
		uint32_t row = ino ? map_get(&n->by_inode, ino) : MAP_NONE;

		if (row == MAP_NONE || map_get(seen, ino) != MAP_NONE)
			continue;
		if (map_put(seen, ino, 1) < 0)
			return err_nomem(e);
		if (add_note(s, proc, (const struct connection *)n->list.data + row, e) < 0)
			return e->code;
	}
	return 0;
}

int connections_find(struct reloc_inventory *s, size_t *ret_count, struct err *e)
{
	CLEANUP(network_fini) struct network n = { 0 };
	CLEANUP(map_fini) struct map seen = { 0 };
	size_t before = s->obstacle_count;

	for (uint32_t i = 0; i < s->proc_count; i++)
		if (set_network(&n, s->procs[i].pid, e) < 0 || add_process(s, i, &n, &seen, e) < 0)
			return e->code;
	*ret_count = s->obstacle_count - before;
	return 0;
}
