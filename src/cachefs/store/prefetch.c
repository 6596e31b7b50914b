/* SPDX-License-Identifier: MIT */
#include "cachefs/store/prefetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define THREADS 8 /* requests to storage at once */
#define READ_BYTES (1 << 20)
#define REPORT_NS (NS_PER_S / 5)
#define NAP_NS (NS_PER_S / 20) /* how long prefetch_stop may wait for a paused thread */

struct prefetch {
	const struct prefetch_opts *opts; /* this and below: written before start */
	const char *target, *view;
	uint64_t max_bytes, max_file;
	int64_t start_ns;
	pthread_t threads[THREADS];
	unsigned count;

	sem_t begins;               /* posted once for each thread */
	_Atomic pid_t ids[THREADS]; /* 0: none */
	_Atomic bool closing;
	_Atomic size_t next; /* index of the next path */
	_Atomic unsigned working;
	_Atomic uint64_t done, missing, failed, bytes;
	pthread_mutex_t lock;
	int64_t pace_ns;     /* when the rate allows the next read; this and the next: under lock */
	int64_t reported_ns; /* the last report */
};

static void report(struct prefetch *p, bool is_over)
{
	struct prefetch_state state = { .total = p->opts->count,
					.done = p->done,
					.missing = p->missing,
					.failed = p->failed,
					.bytes = p->bytes,
					.ns = clock_mono_ns() - p->start_ns,
					.is_over = is_over };

	if (p->opts->report)
		p->opts->report(p->opts->context, &state);
}

static void report_at_times(struct prefetch *p)
{
	int64_t now_ns = clock_mono_ns();

	pthread_mutex_lock(&p->lock);
	if (now_ns - p->reported_ns >= REPORT_NS) {
		p->reported_ns = now_ns;
		report(p, false);
	}
	pthread_mutex_unlock(&p->lock);
}

/* Sleeps until the rate allows len more bytes. */
static void keep_pace(struct prefetch *p, size_t len)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };
	double rate = (double)p->opts->bytes_per_s;
	int64_t from_ns, now_ns = clock_mono_ns();

	if (rate <= 0)
		return;
	pthread_mutex_lock(&p->lock);
	from_ns = p->pace_ns > now_ns ? p->pace_ns : now_ns;
	p->pace_ns = from_ns + (int64_t)((double)len / rate * (double)NS_PER_S);
	pthread_mutex_unlock(&p->lock);
	while (!p->closing && clock_mono_ns() < from_ns)
		nanosleep(&nap, NULL);
}

static int read_file(struct prefetch *p, const char *path, uint64_t left, char *room)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (left && n > 0 && !p->closing && p->bytes < p->max_bytes) {
		size_t len = left < READ_BYTES ? (size_t)left : READ_BYTES;

		keep_pace(p, len);
		n = read(fd, room, len);
		if (n > 0) {
			atomic_fetch_add(&p->bytes, (uint64_t)n);
			left -= (uint64_t)n;
		}
	}
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

static int read_folder(const char *path)
{
	DIR *dir = opendir(path);

	if (!dir)
		return -errno;
	while (readdir(dir))
		;
	closedir(dir);
	return 0;
}

static int load(struct prefetch *p, const char *path, char *room)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return read_folder(path);
	if (S_ISLNK(st.st_mode))
		return readlink(path, room, READ_BYTES) < 0 ? -errno : 0;
	if (!S_ISREG(st.st_mode) || (p->max_file && (uint64_t)st.st_size >= p->max_file))
		return 0;
	return read_file(p, path, (uint64_t)st.st_size, room);
}

/* The rest of a path below folder: "" or "/..."; NULL: it is not below. */
static const char *behind(const char *folder, const char *path)
{
	size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	if (strncmp(folder, path, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

/* The path in the view. False: it is outside, or too long. */
static bool find_place(const struct prefetch *p, const char *path, char *ret, size_t size)
{
	const char *rest = path[0] == '/' ? behind(p->view, path) : path;

	if (!rest)
		rest = behind(p->target, path);
	return rest &&
	       (size_t)snprintf(ret, size, "%s%s%s", p->view, rest == path ? "/" : "", rest) < size;
}

static void visit(struct prefetch *p, const char *path, char *room)
{
	char place[PATH_MAX];
	int rc = find_place(p, path, place, sizeof place) ? load(p, place, room) : -EXDEV;

	if (rc == -ENOENT || rc == -ENOTDIR)
		atomic_fetch_add(&p->missing, 1);
	else if (rc < 0)
		atomic_fetch_add(&p->failed, 1);
	atomic_fetch_add(&p->done, 1);
}

static void *work(void *arg)
{
	struct prefetch *p = arg;
	char *room = malloc(READ_BYTES);
	unsigned self = 0;
	pid_t none = 0, id = (pid_t)syscall(SYS_gettid);
	size_t i;

	while (sem_wait(&p->begins) < 0)
		continue;
	while (self < THREADS && !atomic_compare_exchange_strong(&p->ids[self], &none, id)) {
		none = 0;
		self++;
	}
	while (room && !p->closing && (i = atomic_fetch_add(&p->next, 1)) < p->opts->count) {
		visit(p, p->opts->paths[i], room);
		report_at_times(p);
	}
	free(room);
	if (atomic_fetch_sub(&p->working, 1) == 1)
		report(p, true);
	return NULL;
}

/* All signals are blocked in them: the main thread handles them. */
static void start_threads(struct prefetch *p)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	p->working = THREADS;
	for (unsigned i = 0; i < THREADS; i++) {
		if (pthread_create(&p->threads[p->count], NULL, work, p) == 0)
			p->count++;
		else
			atomic_fetch_sub(&p->working, 1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int prefetch_new(const struct prefetch_opts *o, const char *target, const char *view,
		 uint64_t max_bytes, uint64_t max_file, struct prefetch **ret, struct err *e)
{
	struct prefetch *p = calloc(1, sizeof *p);

	if (!p)
		return err_nomem(e);
	p->opts = o;
	p->target = target;
	p->view = view;
	p->max_bytes = max_bytes;
	p->max_file = max_file;
	p->start_ns = p->reported_ns = clock_mono_ns();
	sem_init(&p->begins, 0, 0);
	pthread_mutex_init(&p->lock, NULL);
	start_threads(p);
	*ret = p;
	return 0;
}

void prefetch_begin(struct prefetch *p)
{
	if (!p)
		return;
	p->start_ns = p->reported_ns = clock_mono_ns();
	for (unsigned i = 0; i < p->count; i++)
		sem_post(&p->begins);
}

bool prefetch_is_caller(const struct prefetch *p, pid_t thread)
{
	if (!p || !p->working)
		return false;
	for (unsigned i = 0; i < THREADS; i++)
		if (p->ids[i] == thread)
			return true;
	return false;
}

void prefetch_cancel(struct prefetch *p)
{
	if (p)
		p->closing = true;
}

void prefetch_stop(struct prefetch *p)
{
	if (!p)
		return;
	p->closing = true;
	for (unsigned i = 0; i < p->count; i++)
		sem_post(&p->begins);
	for (unsigned i = 0; i < p->count; i++)
		pthread_join(p->threads[i], NULL);
	sem_destroy(&p->begins);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
