/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strtab.h"
#include "relocate/connections.h"
#include "tap.h"
#include "target/connections.h"

#define REST "00000000:00000000 00:00000000 00000000  1000        0 "

/* An address as the kernel prints it: a word of this machine's byte order. */
static void put_word(char *to, const char *address)
{
	uint32_t word;

	inet_pton(AF_INET, address, &word);
	snprintf(to, 9, "%08X", word);
}

static void test_parse(void)
{
	char line[256], local[9], peer[9];
	struct connection c;

	put_word(local, "10.0.0.1");
	put_word(peer, "192.168.7.9");
	snprintf(line, sizeof line, "   1: %s:1F90 %s:A001 01 " REST "4711 1 0 20", local, peer);
	if (CHECK(connection_parse(&c, line))) {
		CHECK_INT(c.ino, 4711);
		CHECK_STR(c.local, "10.0.0.1:8080");
		CHECK_STR(c.peer, "192.168.7.9:40961");
	}
	put_word(peer, "0.0.0.1");
	snprintf(line, sizeof line,
		 "  12: 000000000000000000000000%s:0016 000000000000000000000000%s:0017 08 " REST
		 "5",
		 peer, peer);
	if (CHECK(connection_parse(&c, line))) {
		CHECK_STR(c.local, "[::1]:22");
		CHECK_STR(c.peer, "[::1]:23");
	}
}

static void test_others(void)
{
	static const char *const rows[] = {
		"",
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid",
		"   0: 00000000:1F90 00000000:0000 0A " REST "4711 1", /* listens */
		"   0: 0100007F:1F90 0100007F:0001 06 " REST "0 3",    /* TIME_WAIT */
		"   0: 0100007:1F90 0100007F:0001 01 " REST "1",
		"   0: 0100007F0100007F:1F90 0100007F:0001 01 " REST "1",
		"   0: 0100007F:1F90 0100007F:0001 01 00000000:00000000",
	};
	struct connection c;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK(!connection_parse(&c, rows[i]));
}

/* A connection of this process with itself. */
static bool make_connection(int ret[3])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof at;

	ret[0] = socket(AF_INET, SOCK_STREAM, 0);
	ret[1] = socket(AF_INET, SOCK_STREAM, 0);
	ret[2] = -1;
	if (bind(ret[0], (struct sockaddr *)&at, len) == 0 && listen(ret[0], 1) == 0 &&
	    getsockname(ret[0], (struct sockaddr *)&at, &len) == 0 &&
	    connect(ret[1], (struct sockaddr *)&at, len) == 0)
		ret[2] = accept(ret[0], NULL, NULL);
	return ret[2] >= 0;
}

static void test_find(void)
{
	struct reloc_inventory s = { .procs = calloc(2, sizeof *s.procs), .strings = strtab_new() };
	struct err e = { 0 };
	size_t count = 0;
	int fds[3];

	if (CHECK(s.procs && s.strings)) {
		s.proc_count = 2;
		s.procs[0].pid = s.procs[1].pid = getpid();
		if (!make_connection(fds))
			SKIP("there is no loopback network");
		else if (CHECK_INT(connections_find(&s, &count, &e), 0)) {
			CHECK_INT(count, 2); /* both ends; the second process shares them */
			CHECK_INT(s.obstacle_count, 2);
			for (size_t i = 0; i < s.obstacle_count; i++) {
				CHECK(s.obstacles[i].kind == RELOC_NOTE);
				CHECK(strncmp(s.obstacles[i].path, "127.0.0.1:", 10) == 0);
			}
		}
		for (size_t i = 0; i < ARRAY_LEN(fds); i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	reloc_inventory_fini(&s);
}

int main(void)
{
	TAP_CASE(test_parse);
	TAP_CASE(test_others);
	TAP_CASE(test_find);
	return tap_done();
}
