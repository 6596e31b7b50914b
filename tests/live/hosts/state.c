/* SPDX-License-Identifier: MIT */
/* state FILE MS: appends to FILE what this process inherited, one line a fact, then spins MS of CPU
 * time. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define FDS 64

static void put_signals(FILE *to)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	while (status && fgets(line, sizeof line, status))
		if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0)
			fputs(line, to);
	if (status)
		fclose(status);
}

static void put_limit(FILE *to, const char *name, enum __rlimit_resource resource)
{
	struct rlimit limit = { 0 };

	getrlimit(resource, &limit);
	fprintf(to, "%s: %lld %lld\n", name, (long long)limit.rlim_cur, (long long)limit.rlim_max);
}

int main(int argc, char **argv)
{
	char is_open[FDS];
	FILE *to;

	for (int fd = 0; fd < FDS; fd++)
		is_open[fd] = fcntl(fd, F_GETFD) >= 0;
	to = argc == 3 ? fopen(argv[1], "ae") : NULL;
	if (!to)
		return 2;
	for (int fd = 0; fd < FDS; fd++)
		if (is_open[fd])
			fprintf(to, "open: %d\n", fd);
	put_signals(to);
	put_limit(to, "files", RLIMIT_NOFILE);
	put_limit(to, "memory", RLIMIT_AS);
	fclose(to);
	while (clock() < atol(argv[2]) * (CLOCKS_PER_SEC / 1000))
		;
	return 7;
}
