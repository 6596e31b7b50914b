/* SPDX-License-Identifier: MIT */
/* job_share: threads, processes and descriptors that share files. */
#include "job.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Without O_APPEND: both descriptors have one position. */
static void dup_pair(void)
{
	int one = make("log", O_WRONLY), two = must(dup(one), "dup");
	unsigned n = 0, m = 0;

	ready();
	while (going()) {
		put(one, 'o', &n);
		put(two, 'e', &m);
	}
	say_records('o', n, "log");
	say_records('e', m, "log");
}

static unsigned *shared_counts(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* A parent and its child write through a shared descriptor, without O_APPEND. */
static void family(void)
{
	unsigned *counts = shared_counts();
	int fd = make("log", O_WRONLY);
	pid_t child = must(fork(), "fork");

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (going())
			put(fd, 'c', &counts[0]);
		_exit(0);
	}
	ready();
	while (going())
		put(fd, 'p', &counts[1]);
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	say_records('c', counts[0], "log");
	say_records('p', counts[1], "log");
}

struct lane {
	int fd;
	char name;
	unsigned count;
	bool is_short; /* ends after a few records */
};

static void *write_lane(void *arg)
{
	struct lane *l = arg;
	unsigned end = l->count + 10;

	while (!stopping() && !(l->is_short && l->count == end)) {
		put(l->fd, l->name, &l->count);
		usleep(500);
	}
	return NULL;
}

static void run_threads(size_t count)
{
	int fd = make("log", O_WRONLY | O_APPEND);
	pthread_t *threads = calloc(count, sizeof *threads);
	struct lane *lanes = calloc(count, sizeof *lanes);

	for (size_t i = 0; i < count; i++) {
		lanes[i] = (struct lane){ .fd = fd, .name = (char)('!' + i % 90) };
		if (i >= 90)
			lanes[i].fd = must(open("/dev/null", O_WRONLY), "/dev/null");
		must(-pthread_create(&threads[i], NULL, write_lane, &lanes[i]), "pthread_create");
	}
	ready();
	while (going())
		;
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < count && i < 90; i++)
		say_records(lanes[i].name, lanes[i].count, "log");
	free(lanes);
	free(threads);
}

static void threads(void)
{
	run_threads(6);
}

static void threads_256(void)
{
	run_threads(256);
}

static void thread_churn(void)
{
	int fd = make("log", O_WRONLY | O_APPEND);
	struct lane lanes[4];

	for (int i = 0; i < 4; i++)
		lanes[i] = (struct lane){ .fd = fd, .name = (char)('a' + i), .is_short = true };
	ready();
	while (going()) {
		pthread_t t[4];

		for (int i = 0; i < 4; i++)
			must(-pthread_create(&t[i], NULL, write_lane, &lanes[i]), "pthread_create");
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	for (int i = 0; i < 4; i++)
		say_records(lanes[i].name, lanes[i].count, "log");
}

/* Children by vfork and exec, one after another, each with a descriptor of the file. */
static void vfork_churn(void)
{
	int fd = make("log", O_WRONLY | O_APPEND);
	unsigned n = 0;

	ready();
	while (going()) {
		int status;
		pid_t child;

		put(fd, 'v', &n);
		child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			wrong("vfork");
	}
	say_records('v', n, "log");
}

static struct {
	int fd;
	unsigned *count;
} helper_of;

static int help(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (going())
		put(helper_of.fd, 'h', helper_of.count);
	return 0;
}

/* A process that shares the descriptor table, but no memory. */
static void files_shared(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	unsigned *counts = shared_counts();
	int fd = make("log", O_WRONLY), late;
	pid_t child;

	helper_of.fd = fd;
	helper_of.count = &counts[0];
	child = must(clone(help, stack + sizeof stack, CLONE_FILES | SIGCHLD, NULL), "clone");
	late = make("late", O_WRONLY);
	ready();
	while (going()) {
		put(fd, 'p', &counts[1]);
		put(late, 'l', &counts[2]);
	}
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	say_records('h', counts[0], "log");
	say_records('p', counts[1], "log");
	say_records('l', counts[2], "late");
}

const struct job_case share_cases[] = {
	{ "dup", dup_pair },
	{ "family", family },
	{ "threads", threads },
	{ "threads-256", threads_256 },
	{ "thread-churn", thread_churn },
	{ "vfork-churn", vfork_churn },
	{ "files-shared", files_shared },
	{ NULL, NULL },
};
