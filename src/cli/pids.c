/* SPDX-License-Identifier: MIT */
#include "cli/pids.h"

#include <stdint.h>
#include <stdlib.h>

#include "cli/cmd.h"

int pids_parse(const struct opt_list *texts, pid_t pids[PIDS_MAX], size_t *ret_count, struct err *e)
{
	*ret_count = 0;
	for (size_t i = 0; i < texts->count; i++) {
		const char *at = texts->items[i];

		do {
			char *end;
			long pid = strtol(at, &end, 10);

			if (end == at || pid <= 0 || pid > INT32_MAX || (*end && *end != ','))
				return err_usage(e, "--pid: '%s' is not a list of process ids",
						 texts->items[i]);
			if (*ret_count == PIDS_MAX)
				return err_usage(e, "--pid: more than %d processes", PIDS_MAX);
			pids[(*ret_count)++] = (pid_t)pid;
			at = *end ? end + 1 : end;
		} while (*at);
	}
	return 0;
}
