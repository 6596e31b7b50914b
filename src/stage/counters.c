/* SPDX-License-Identifier: MIT */
#include "stage/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stage/ticks.h"

/* Above the descriptors that shells and programs choose themselves. */
#define FD_LEAST 200

#define STATM "/proc/self/statm"
#define IO "/proc/self/io"

/* libc's functions are cancellation points, and the thread may hold locks here. */
static int raw_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags);
}

static void raw_close(int fd)
{
	syscall(SYS_close, fd);
}

static int open_high(const char *path)
{
	int fd = raw_open(path, O_RDONLY | O_CLOEXEC);
	int high;

	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);
	if (high < 0)
		return fd;
	raw_close(fd);
	return high;
}

void counter_files_open(struct counter_files *f)
{
	f->statm = open_high(STATM);
	f->io = open_high(IO);
	f->page_kb = sysconf(_SC_PAGESIZE) / 1024;
}

static void close_own(int fd, const char *ending)
{
	char link[64], target[64];
	size_t len = strlen(ending);
	ssize_t got;

	if (fd < 0)
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	got = readlink(link, target, sizeof target);
	if (got > (ssize_t)len && memcmp(target, "/proc/", 6) == 0 &&
	    memcmp(target + got - len, ending, len) == 0)
		raw_close(fd);
}

void counter_files_close(struct counter_files *f)
{
	close_own(f->statm, "/statm");
	close_own(f->io, "/io");
	f->statm = -1;
	f->io = -1;
}

/* The number after key, or after the first blank when key is NULL. -1: none. */
static int64_t number_after(const char *text, const char *key)
{
	const char *at = key ? strstr(text, key) : strchr(text, ' ');
	int64_t value = 0;

	if (!at)
		return -1;
	at += key ? strlen(key) : 1;
	if (*at < '0' || *at > '9')
		return -1;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (*at - '0');
	return value;
}

static ssize_t read_at_start(int fd, char *text, size_t size)
{
	return fd < 0 ? -1 : syscall(SYS_pread64, fd, text, size, 0L);
}

/* A daemon closes all its descriptors, ours included. Another thread may reopen *fd at the same
 * time. */
static void open_again(int *fd, const char *path)
{
	int closed = *fd;
	int opened = open_high(path);

	if (opened >= 0 && !__atomic_compare_exchange_n(fd, &closed, opened, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		raw_close(opened);
}

static int read_text(struct counter_files *f, int *fd, const char *path, char *text, size_t size)
{
	ssize_t len = read_at_start(LOAD_ACQUIRE(*fd), text, size - 1);

	if (len < 0 && LOAD_ACQUIRE(*fd) >= 0 && errno == EBADF) {
		open_again(fd, path);
		len = read_at_start(LOAD_ACQUIRE(*fd), text, size - 1);
	}
	if (len <= 0)
		return -1;
	text[len] = '\0';
	__atomic_fetch_add(&f->own_read, (uint64_t)len, __ATOMIC_RELAXED);
	return 0;
}

int64_t counters_rss_kb(struct counter_files *f)
{
	char text[128];
	int64_t pages;

	if (read_text(f, &f->statm, STATM, text, sizeof text) < 0)
		return -1;
	pages = number_after(text, NULL);
	return pages < 0 ? -1 : pages * f->page_kb;
}

/* Returns true when it read the file, like read_rss(). */
static bool read_io(struct counters *m, uint64_t now)
{
	char text[512];
	int64_t read_bytes, write_bytes;
	int64_t own = (int64_t)LOAD_ACQUIRE(m->files->own_read);

	if (m->io_at && now - m->io_at < m->io_ticks)
		return false;
	m->io_at = now;
	if (read_text(m->files, &m->files->io, IO, text, sizeof text) < 0)
		return false;
	read_bytes = number_after(text, "rchar: ");
	write_bytes = number_after(text, "wchar: ");
	if (read_bytes >= 0 && write_bytes >= 0) {
		m->read_bytes = read_bytes - own;
		m->write_bytes = write_bytes;
	}
	return true;
}

static bool read_rss(struct counters *m, int64_t faults, uint64_t now)
{
	int64_t rss_kb;

	if (m->rss_at && faults == m->rss_faults && now - m->rss_at < m->rss_ticks)
		return false;
	m->rss_at = now;
	m->rss_faults = faults;
	rss_kb = counters_rss_kb(m->files);
	if (rss_kb >= 0)
		m->rss_kb = rss_kb;
	return true;
}

int64_t counters_read_process(struct counters *m, int64_t *at, bool is_begin)
{
	int saved = errno;
	bool has_read;
	struct rusage u;
	uint64_t now;

	getrusage(RUSAGE_SELF, &u);
	now = ticks();
	has_read = read_rss(m, u.ru_minflt + u.ru_majflt, now);
	has_read |= read_io(m, now);
	if (has_read && is_begin)
		getrusage(RUSAGE_SELF, &u); /* the stage excludes the cost of the reads */
	STORE_RELEASE(at[COST_CPU_US], (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) +
					       u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	STORE_RELEASE(at[COST_MINOR_FAULTS], u.ru_minflt);
	STORE_RELEASE(at[COST_MAJOR_FAULTS], u.ru_majflt);
	STORE_RELEASE(at[COST_SWITCHES], u.ru_nvcsw + u.ru_nivcsw);
	STORE_RELEASE(at[COST_RSS_KB], m->rss_kb);
	STORE_RELEASE(at[COST_READ_BYTES], m->read_bytes);
	STORE_RELEASE(at[COST_WRITE_BYTES], m->write_bytes);
	errno = saved;
	return u.ru_maxrss > m->rss_kb ? u.ru_maxrss : m->rss_kb;
}

int64_t counters_rss_hwm_kb(void)
{
	static const char key[] = "VmHWM:";
	int saved = errno;
	char text[4096];
	int fd = raw_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof text - 1);
	const char *at = NULL;

	if (fd >= 0)
		raw_close(fd);
	if (len > 0) {
		text[len] = '\0';
		at = strstr(text, key);
	}
	errno = saved;
	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

int counters_reset_rss_hwm(void)
{
	int saved = errno;
	int status = 0;
	int fd = raw_open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_write, fd, "5", 1L) < 0)
		status = -errno;
	if (fd >= 0)
		raw_close(fd);
	errno = saved;
	return status;
}

static uint32_t page_lock(const struct counters *m)
{
	return __atomic_load_n(&m->page->lock, __ATOMIC_ACQUIRE);
}

/* A context switch between the two clock reads makes the base wrong, so lock must not change. */
static void read_base(struct counters *m)
{
	for (int i = 0; i < 4; i++) {
		uint32_t before = page_lock(m);

		m->base_ns = (int64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
		m->base_at = ticks();
		m->lock = page_lock(m);
		if (before == m->lock)
			return;
	}
}

void counters_read_thread_slowly(struct counters *m, int64_t *at, bool is_begin)
{
	uint32_t before = m->page ? page_lock(m) : 0;
	bool was_switched_out;

	if (m->page) {
		read_base(m);
		was_switched_out = m->lock != before;
	} else {
		m->base_ns = (int64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
		m->base_at = ticks();
		was_switched_out = m->base_at - (uint64_t)at[COST_WALL] > m->clock_read_ticks;
	}
	if (is_begin)
		STORE_RELEASE(at[COST_WALL], (int64_t)m->base_at);
	STORE_RELEASE(at[COST_WAIT_TICKS], was_switched_out ? at[COST_WALL] : (int64_t)m->base_at);
	STORE_RELEASE(at[COST_WAIT_NS], m->base_ns);
}

/* The mapping keeps the event open: the descriptor is closed. */
static struct perf_event_mmap_page *map_page(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *page;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	raw_close(fd);
	return page == MAP_FAILED ? NULL : page;
}

void counters_start(struct counters *m, struct counter_files *f, const struct counter_plan *plan)
{
	int saved = errno;

	*m = (struct counters){ .files = f,
				.rss_ticks = plan->rss_ticks,
				.io_ticks = plan->io_ticks,
				.clock_read_ticks = plan->clock_read_ticks };
	m->page = ticks_are_tsc ? map_page() : NULL;
	if (m->page)
		read_base(m);
	errno = saved;
}

void counters_stop(struct counters *m)
{
	if (m->page)
		munmap(m->page, (size_t)sysconf(_SC_PAGESIZE));
	m->page = NULL;
}
