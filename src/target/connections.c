/* SPDX-License-Identifier: MIT */
#include "target/connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"
#include "target/proc.h"

#define LIST_MAX ((size_t)64 << 20) /* bytes: some 400,000 connections */
#define DIGITS 8                    /* of each 32-bit word of an address */

void connections_fini(struct connections *n)
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

static int add_list(struct connections *n, pid_t pid, const char *name, struct err *e)
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
int connections_read(struct connections *n, pid_t pid, struct err *e)
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

const struct connection *connections_get(const struct connections *n, uint64_t ino)
{
	uint32_t row = ino ? map_get(&n->by_inode, ino) : MAP_NONE;

	return row == MAP_NONE ? NULL : (const struct connection *)n->list.data + row;
}

uint64_t connection_inode(const char *link)
{
	static const char start[] = "socket:[";

	return text_starts_with(link, start) ? strtoull(link + sizeof start - 1, NULL, 10) : 0;
}
