/* SPDX-License-Identifier: MIT */
/* Any text taken for a line of /proc/net/tcp: a connection has an inode, and two addresses that end
 * in a port. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "target/connections.h"

static void check_end(const char *end)
{
	const char *colon = strrchr(end, ':');
	unsigned port;

	FUZZ_CHECK(strlen(end) < 56 && colon && colon > end);
	FUZZ_CHECK(sscanf(colon, ":%u", &port) == 1 && port < 65536);
	FUZZ_CHECK(*end != '[' || colon[-1] == ']');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf line = { 0 };
	struct connection c;

	buf_put(&line, data, size);
	buf_put_byte(&line, '\0');
	if (connection_parse(&c, line.data)) {
		FUZZ_CHECK(c.ino);
		check_end(c.local);
		check_end(c.peer);
	}
	buf_fini(&line);
	return 0;
}
