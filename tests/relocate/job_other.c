/* SPDX-License-Identifier: MIT */
/* job_other: mappings, locks, directories, FIFOs. */
#include "job.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAP_BYTES (1 << 20)

static unsigned char model[MAP_BYTES];

static void scribble(unsigned char *map)
{
	size_t at = (size_t)rand() % MAP_BYTES;

	map[at] = model[at] = (unsigned char)rand();
	if (map[at / 2] != model[at / 2])
		wrong("byte %zu is not what was written", at / 2);
}

static void mapped(bool closes)
{
	int fd = make("map", O_RDWR);
	unsigned char *map;

	must(ftruncate(fd, MAP_BYTES), "ftruncate");
	map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (closes)
		close(fd);
	ready();
	while (going())
		for (int i = 0; i < 100; i++)
			scribble(map);
	if (memcmp(map, model, MAP_BYTES) != 0)
		wrong("the mapping is not what was written");
	say_sum(model, MAP_BYTES, "map");
}

static void map_shared(void)
{
	mapped(false);
}

static void map_closed(void)
{
	mapped(true);
}

/* Half of the pages become private, half stay the file's; then the mapping is read-only. */
static void map_private(void)
{
	int fd = make("map", O_RDWR);
	unsigned char *map;

	for (size_t i = 0; i < MAP_BYTES; i++)
		model[i] = (unsigned char)(i / 4096);
	must((int)write(fd, model, MAP_BYTES), "write");
	map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	say_sum(model, MAP_BYTES, "map");
	for (size_t i = 0; i < MAP_BYTES; i += 8192)
		map[i] = model[i] = 0xee;
	must(mprotect(map, MAP_BYTES / 2, PROT_READ), "mprotect");
	ready();
	while (going())
		if (memcmp(map, model, MAP_BYTES) != 0) {
			wrong("the mapping has changed");
			break;
		}
}

static int lock_fd;

/* Can another process take the lock? */
static bool is_free(bool (*take)(int fd))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		char path[64];

		snprintf(path, sizeof path, "/proc/self/fd/%d", lock_fd);
		_exit(take(open(path, O_RDWR)) ? 0 : 1);
	}
	return waitpid(child, &status, 0) == child && status == 0;
}

static bool take_flock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static bool take_posix(int fd)
{
	return fcntl(fd, F_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_start = 150 }) == 0;
}

static bool take_ofd(int fd)
{
	return fcntl(fd, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_start = 150 }) == 0;
}

static void locks(int command, bool (*take)(int fd))
{
	struct flock range = { .l_type = F_WRLCK, .l_start = 100, .l_len = 100 };
	unsigned n = 0;

	lock_fd = make("log", O_RDWR);
	must(command ? fcntl(lock_fd, command, &range) : flock(lock_fd, LOCK_EX), "lock");
	if (is_free(take))
		wrong("the lock is free at first");
	ready();
	while (going())
		put(lock_fd, 'l', &n);
	if (is_free(take))
		wrong("the lock is free");
	if (command) {
		range.l_type = F_UNLCK;
		must(fcntl(lock_fd, command, &range), "unlock");
	} else {
		flock(lock_fd, LOCK_UN);
	}
	if (!is_free(take))
		wrong("the lock cannot be given back");
	say_records('l', n, "log");
}

static void lock_flock(void)
{
	locks(0, take_flock);
}

static void lock_posix(void)
{
	locks(F_SETLK, take_posix);
}

static void lock_ofd(void)
{
	locks(F_OFD_SETLK, take_ofd);
}

struct waiter {
	int fd;
	bool is_ofd;
	_Atomic bool has_it;
};

static void *wait_for_lock(void *arg)
{
	struct waiter *w = arg;
	struct flock range = { .l_type = F_WRLCK };

	must(w->is_ofd ? fcntl(w->fd, F_OFD_SETLKW, &range) : flock(w->fd, LOCK_EX), "waiting");
	w->has_it = true;
	return NULL;
}

/* A thread waits for the lock of another description and gets it at the end. */
static void lock_wait(bool is_ofd)
{
	struct flock range = { .l_type = F_WRLCK };
	int fd = make("log", O_RDWR | O_APPEND);
	struct waiter w = { .fd = make("log", O_RDWR), .is_ofd = is_ofd };
	pthread_t t;
	unsigned n = 0;

	must(is_ofd ? fcntl(fd, F_OFD_SETLK, &range) : flock(fd, LOCK_EX), "lock");
	pthread_create(&t, NULL, wait_for_lock, &w);
	usleep(50000);
	ready();
	while (going())
		put(fd, 'l', &n);
	if (w.has_it)
		wrong("two have the lock");
	range.l_type = F_UNLCK;
	must(is_ofd ? fcntl(fd, F_OFD_SETLK, &range) : flock(fd, LOCK_UN), "unlock");
	pthread_join(t, NULL);
	say_records('l', n, "log");
}

static void lock_wait_flock(void)
{
	lock_wait(false);
}

static void lock_wait_ofd(void)
{
	lock_wait(true);
}

/* Opens another name each time, relative to the working directory. */
static void cwd(void)
{
	unsigned n = 0;

	must(mkdir("sub", 0755), "mkdir");
	must(chdir("sub"), "chdir");
	ready();
	while (going()) {
		int fd = make("log", O_WRONLY | O_APPEND);

		put(fd, 'r', &n);
		close(fd);
	}
	say_records('r', n, "sub/log");
}

struct walker {
	unsigned count;
	_Atomic bool is_there;
};

static void *walk(void *arg)
{
	struct walker *w = arg;

	must(unshare(CLONE_FS), "unshare");
	must(chdir("other"), "chdir");
	w->is_there = true;
	while (!stopping()) {
		int fd = make("log", O_WRONLY | O_APPEND);

		put(fd, 'w', &w->count);
		close(fd);
		usleep(300);
	}
	return NULL;
}

/* A thread with a working directory of its own. */
static void cwd_of_thread(void)
{
	struct walker w = { 0 };
	unsigned n = 0;
	pthread_t t;

	must(mkdir("other", 0755), "mkdir");
	pthread_create(&t, NULL, walk, &w);
	while (!w.is_there)
		usleep(1000);
	ready();
	while (going()) {
		int fd = make("log", O_WRONLY | O_APPEND);

		put(fd, 'r', &n);
		close(fd);
	}
	pthread_join(t, NULL);
	say_records('r', n, "log");
	say_records('w', w.count, "other/log");
}

static void dir_fds(void)
{
	int dir = must(open(".", O_RDONLY | O_DIRECTORY), "."), path;
	DIR *read_up = opendir(".");
	unsigned n = 0;

	while (readdir(read_up))
		;
	path = must(open(".", O_PATH), "O_PATH");
	must(chdir("/"), "chdir");
	ready();
	while (going()) {
		int fd =
			must(openat(n % 2 ? dir : path, "log", O_WRONLY | O_APPEND | O_CREAT, 0644),
			     "openat");

		put(fd, 'd', &n);
		close(fd);
	}
	if (readdir(read_up))
		wrong("the directory is not at its end any more");
	closedir(read_up);
	say_records('d', n, "log");
}

static void *write_fifo(void *arg)
{
	int fd = *(int *)arg;
	unsigned n = 0;

	while (!stopping()) {
		put(fd, 'p', &n);
		usleep(200);
	}
	close(fd);
	return NULL;
}

/* One thread writes; the other waits by epoll and leaves some bytes unread. */
static void fifo(void)
{
	int epoll = epoll_create1(0), ends[2];
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = UINT64_C(0x123456789abc) };
	unsigned n = 0;
	pthread_t t;
	ssize_t got;

	must(mkfifo("fifo", 0644), "mkfifo");
	ends[0] = must(open("fifo", O_RDONLY | O_NONBLOCK), "fifo");
	ends[1] = must(open("fifo", O_WRONLY), "fifo");
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), "epoll_ctl");
	pthread_create(&t, NULL, write_fifo, &ends[1]);
	usleep(20000);
	ready();
	do {
		char record[RECORD + 1], is[RECORD];

		do {
			got = epoll_wait(epoll, &event, 1, 30000);
		} while (got < 0 && errno == EINTR && stopping()); /* SIGTERM ends the wait */
		if (got != 1 || event.data.u64 != UINT64_C(0x123456789abc)) {
			wrong("epoll_wait: %zd: %s", got, strerror(errno));
			break;
		}
		got = read(ends[0], is, RECORD);
		make_record(record, 'p', n++);
		if (got == RECORD && memcmp(is, record, RECORD) != 0)
			wrong("record %u", n - 1);
		going();
	} while (got > 0);
	pthread_join(t, NULL);
}

struct watcher {
	int fd, wd;
	_Atomic bool is_over;
};

static void *watch_log(void *arg)
{
	_Alignas(struct inotify_event) char events[4096];
	struct watcher *w = arg;

	while (!w->is_over) {
		ssize_t len = read(w->fd, events, sizeof events);

		for (ssize_t at = 0; at < len; at += (ssize_t)sizeof(struct inotify_event)) {
			const struct inotify_event *e = (const void *)(events + at);

			if (e->wd != w->wd || e->mask != IN_MODIFY || e->len)
				wrong("event %x of watch %d", e->mask, e->wd);
		}
	}
	return NULL;
}

/* One thread writes; the other gets inotify events. */
static void watch(void)
{
	struct watcher w = { .fd = must(inotify_init1(IN_CLOEXEC), "inotify") };
	int fd = make("log", O_WRONLY | O_APPEND);
	unsigned n = 0;
	pthread_t t;

	w.wd = must(inotify_add_watch(w.fd, "log", IN_MODIFY), "watch");
	pthread_create(&t, NULL, watch_log, &w);
	ready();
	while (going())
		put(fd, 'i', &n);
	w.is_over = true;
	put(fd, 'i', &n); /* ends the wait of the other thread */
	pthread_join(t, NULL);
	say_records('i', n, "log");
}

/* Uses a library in the directory, with private pages and running code. */
static void library(void)
{
	void *lib = dlopen("./libm.so", RTLD_NOW);
	double (*cosine)(double) = NULL;
	unsigned n = 0;
	int fd = make("log", O_WRONLY | O_APPEND);

	if (lib)
		*(void **)&cosine = dlsym(lib, "cos");
	if (!cosine) {
		wrong("%s", dlerror());
		return;
	}
	ready();
	while (going()) {
		if (cosine(0) < 1)
			wrong("cos");
		put(fd, 'c', &n);
	}
	say_records('c', n, "log");
	dlclose(lib);
}

const struct job_case other_cases[] = {
	{ "map-shared", map_shared },
	{ "map-closed", map_closed },
	{ "map-private", map_private },
	{ "lock-flock", lock_flock },
	{ "lock-posix", lock_posix },
	{ "lock-ofd", lock_ofd },
	{ "lock-wait-flock", lock_wait_flock },
	{ "lock-wait-ofd", lock_wait_ofd },
	{ "library", library },
	{ "cwd", cwd },
	{ "cwd-thread", cwd_of_thread },
	{ "dir-fds", dir_fds },
	{ "fifo", fifo },
	{ "watch", watch },
	{ NULL, NULL },
};
