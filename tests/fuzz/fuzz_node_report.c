/* SPDX-License-Identifier: MIT */
/* Any text taken for the file of a node of an overlay. What is accepted has a rank and no negative
 * counts, and its texts end. */
#include <string.h>

#include "cachejob/nodes.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct node_report r;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (node_report_read(text, size, &r) == 0) {
		FUZZ_CHECK(r.rank >= 0 && r.rank < r.ranks && r.requests >= 0);
		FUZZ_CHECK(memchr(r.host, '\0', sizeof r.host) &&
			   memchr(r.view, '\0', sizeof r.view));
		for (size_t i = 0; i < NODE_LEVELS; i++)
			FUZZ_CHECK(r.levels[i].requests >= 0 && r.levels[i].longest_ns >= 0);
	}
	free(text);
	return 0;
}
