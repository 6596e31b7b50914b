/* SPDX-License-Identifier: MIT */
/*
 * threads MS: four threads of names, the n-th of which uses n times MS milliseconds of CPU
 * time. Prints "NAME TID NANOSECONDS" for each.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

struct job {
	pthread_t thread;
	char name[16];
	int64_t ns, used_ns;
	long tid;
};

static NOINLINE void *run(void *context)
{
	struct job *job = context;

	job->tid = syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), job->name);
	job->used_ns = spin(job->ns);
	return NULL;
}

int main(int argc, char **argv)
{
	int64_t ns = (argc > 1 ? atol(argv[1]) : 50) * INT64_C(1000000);
	struct job jobs[4];

	for (int i = 0; i < 4; i++) {
		snprintf(jobs[i].name, sizeof jobs[i].name, "worker-%d", i + 1);
		jobs[i].ns = (i + 1) * ns;
		if (pthread_create(&jobs[i].thread, NULL, run, &jobs[i]) != 0)
			return 1;
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(jobs[i].thread, NULL);
		printf("%s %ld %lld\n", jobs[i].name, jobs[i].tid, (long long)jobs[i].used_ns);
	}
	return 0;
}
