/* SPDX-License-Identifier: MIT */
#include "stage/meter.h"

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

/* Out of the way of numbers that shells and programs use. */
#define FD_LEAST 200

#define STATM "/proc/self/statm"
#define IO "/proc/self/io"

/* The functions of libc are points where a thread may be cancelled, and it may hold locks here. */
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

void meter_files_open(struct meter_files *f)
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

void meter_files_close(struct meter_files *f)
{
	close_own(f->statm, "/statm");
	close_own(f->io, "/io");
	f->statm = -1;
	f->io = -1;
}

/* The number after key, or after the first blank when key is NULL. -1: there is none. */
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

/* A daemon closes all descriptors that it has, ours too. fd: the one that another thread may be
 * opening as well. */
static void open_again(int *fd, const char *path)
{
	int closed = *fd;
	int opened = open_high(path);

	if (opened >= 0 && !__atomic_compare_exchange_n(fd, &closed, opened, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		raw_close(opened);
}

static int read_text(struct meter_files *f, int *fd, const char *path, char *text, size_t size)
{
	ssize_t len = read_at_start(PEEK(*fd), text, size - 1);

	if (len < 0 && PEEK(*fd) >= 0 && errno == EBADF) {
		open_again(fd, path);
		len = read_at_start(PEEK(*fd), text, size - 1);
	}
	if (len <= 0)
		return -1;
	text[len] = '\0';
	__atomic_fetch_add(&f->own_read, (uint64_t)len, __ATOMIC_RELAXED);
	return 0;
}

int64_t meter_rss_kb(struct meter_files *f)
{
	char text[128];
	int64_t pages;

	if (read_text(f, &f->statm, STATM, text, sizeof text) < 0)
		return -1;
	pages = number_after(text, NULL);
	return pages < 0 ? -1 : pages * f->page_kb;
}

/* True when it was read again, like the next. */
static bool read_io(struct meter *m, uint64_t now)
{
	char text[512];
	int64_t read_bytes, write_bytes;
	int64_t own = (int64_t)PEEK(m->files->own_read);

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

static bool read_rss(struct meter *m, int64_t faults, uint64_t now)
{
	int64_t rss_kb;

	if (m->rss_at && faults == m->rss_faults && now - m->rss_at < m->rss_ticks)
		return false;
	m->rss_at = now;
	m->rss_faults = faults;
	rss_kb = meter_rss_kb(m->files);
	if (rss_kb >= 0)
		m->rss_kb = rss_kb;
	return true;
}

int64_t meter_read_process(struct meter *m, int64_t *at, bool is_begin)
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
		getrusage(RUSAGE_SELF, &u); /* what the reading took is no part of the stage */
	POKE(at[COST_CPU_US], (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) +
				      u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	POKE(at[COST_MINOR_FAULTS], u.ru_minflt);
	POKE(at[COST_MAJOR_FAULTS], u.ru_majflt);
	POKE(at[COST_SWITCHES], u.ru_nvcsw + u.ru_nivcsw);
	POKE(at[COST_RSS_KB], m->rss_kb);
	POKE(at[COST_READ_BYTES], m->read_bytes);
	POKE(at[COST_WRITE_BYTES], m->write_bytes);
	errno = saved;
	return u.ru_maxrss > m->rss_kb ? u.ru_maxrss : m->rss_kb;
}

int64_t meter_rss_hwm_kb(void)
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

int meter_reset_rss_hwm(void)
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

static uint32_t page_lock(const struct meter *m)
{
	return __atomic_load_n(&m->page->lock, __ATOMIC_ACQUIRE);
}

/* A switch between the two clocks would make the base wrong, so it must be the same before. */
static void read_base(struct meter *m)
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

void meter_read_thread_slowly(struct meter *m, int64_t *at, bool is_begin)
{
	uint32_t before = m->page ? page_lock(m) : 0;
	bool was_away;

	if (m->page) {
		read_base(m);
		was_away = m->lock != before;
	} else {
		m->base_ns = (int64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
		m->base_at = ticks();
		was_away = m->base_at - (uint64_t)at[COST_WALL] > m->away_ticks;
	}
	if (is_begin)
		POKE(at[COST_WALL], (int64_t)m->base_at);
	POKE(at[COST_WAIT_TICKS], was_away ? at[COST_WALL] : (int64_t)m->base_at);
	POKE(at[COST_WAIT_NS], m->base_ns);
}

/* The mapping keeps the event alive: no descriptor is left open. */
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

void meter_start(struct meter *m, struct meter_files *f, const struct meter_plan *plan)
{
	int saved = errno;

	*m = (struct meter){ .files = f,
			     .rss_ticks = plan->rss_ticks,
			     .io_ticks = plan->io_ticks,
			     .away_ticks = plan->away_ticks };
	m->page = ticks_are_tsc ? map_page() : NULL;
	if (m->page)
		read_base(m);
	errno = saved;
}

void meter_stop(struct meter *m)
{
	if (m->page)
		munmap(m->page, (size_t)sysconf(_SC_PAGESIZE));
	m->page = NULL;
}
