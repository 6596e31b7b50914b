/* SPDX-License-Identifier: MIT */
#include "preload/heap/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "preload/heap/pages.h"
#include "preload/heap/spin.h"

#define CHUNKS_A_STEP 4  /* that the file grows by */
#define NAMES_MAX 100000 /* files of one PID */
#define FD_FLOOR 1000    /* programs close and dup2() low descriptors */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

struct heap_file heap_file;

static struct {
	char path[PATH_MAX]; /* "": it has no name */
	int fd;              /* -1: none */
	dev_t device;
	ino_t inode;
	uint64_t limit;
	unsigned char *step; /* memory of the last growth */
	uint32_t step_left;  /* chunks in it that are not used */
} own = { .fd = -1 };

/* A descriptor of the file: the program may have closed ours, and opened another one at its
 * number. */
static int get_fd(void)
{
	struct stat st;

	if (own.fd >= 0 && fstat(own.fd, &st) == 0 && st.st_dev == own.device &&
	    st.st_ino == own.inode)
		return own.fd;
	own.fd = open(own.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (own.fd >= 0 &&
	    (fstat(own.fd, &st) < 0 || st.st_dev != own.device || st.st_ino != own.inode)) {
		close(own.fd);
		own.fd = -1;
	}
	return own.fd;
}

static bool fill(int fd, uint64_t from, uint64_t bytes)
{
	static const char zeroes[4096];

	for (uint64_t at = 0; at < bytes; at += sizeof zeroes)
		if (pwrite(fd, zeroes, sizeof zeroes, (off_t)(from + at)) != sizeof zeroes)
			return false;
	return true;
}

/* [from..from+bytes) of the file, on disk for sure. NULL: no. */
static void *grow(uint64_t from, uint64_t bytes)
{
	struct rlimit size_limit;
	int fd = get_fd();
	void *pages;

	/* More would be answered by SIGXFSZ. */
	if (fd < 0 || (getrlimit(RLIMIT_FSIZE, &size_limit) == 0 &&
		       size_limit.rlim_cur != RLIM_INFINITY && from + bytes > size_limit.rlim_cur))
		return NULL;
	if (own.limit && from + bytes > own.limit)
		return NULL;
	if (fallocate(fd, 0, (off_t)from, (off_t)bytes) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT || !fill(fd, from, bytes)))
		return NULL;
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)from);
	return pages == MAP_FAILED ? NULL : pages;
}

/* A PID may have been used before, and others may take a name. */
static int create(const char *dir, const char *start)
{
	int fd = -1;

	for (int n = 0; fd < 0 && n < NAMES_MAX; n++) {
		int len =
			snprintf(own.path, sizeof own.path, "%s/%s%d.%d", dir, start, getpid(), n);

		if (len < 0 || (size_t)len >= sizeof own.path)
			return -1;
		fd = open(own.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	return fd;
}

/* Not all file systems have O_TMPFILE; else a process that is killed here leaves a name. */
static int create_and_unlink(const char *dir)
{
	int fd = create(dir, HEAP_UNNAMED_START);

	if (fd >= 0)
		unlink(own.path);
	return fd;
}

/* may_be_memory: else a file in memory is none. */
static int create_unnamed(const char *dir, bool may_be_memory)
{
	int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	struct statfs fs;

	if (fd < 0)
		fd = create_and_unlink(dir);
	own.path[0] = '\0';
	if (fd < 0 || may_be_memory || (fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC))
		return fd;
	close(fd);
	return -1;
}

static int create_anywhere(const char *dir)
{
	char name[32];
	int fd = dir[0] ? create_unnamed(dir, true) : -1;

	if (fd < 0)
		fd = create_unnamed("/tmp", false);
	if (fd < 0)
		fd = create_unnamed("/var/tmp", false);
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof name, HEAP_UNNAMED_START "%d", getpid());
	return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC);
}

/* Where programs leave it alone. */
static bool keep(int fd)
{
	struct stat st;

	if (fd < 0)
		return false;
	own.fd = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);
	if (own.fd < 0)
		own.fd = fd;
	else
		close(fd);
	if (fstat(own.fd, &st) < 0)
		return false;
	own.device = st.st_dev;
	own.inode = st.st_ino;
	return true;
}

/* Field 22 of /proc/self/stat; the name before it may have blanks and parentheses. */
static uint64_t start_ticks(void)
{
	char text[1024], *at;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

static uint32_t put_program(void)
{
	char path[HEAP_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n <= 0)
		return HEAP_NO_STRING;
	path[n] = '\0';
	return file_put_string(path);
}

static uint32_t put_arguments(void)
{
	char text[HEAP_PATH_MAX];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return HEAP_NO_STRING;
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	n -= text[n - 1] == ' ';
	text[n] = '\0';
	return file_put_string(text);
}

static bool describe(void)
{
	struct heap_header *h = file_header();
	struct timespec now;
	struct heap_site *site;

	clock_gettime(CLOCK_REALTIME, &now);
	h->version = HEAP_VERSION;
	h->header_size = HEAP_HEADER_SIZE;
	h->chunk_size = HEAP_CHUNK;
	h->machine = OWN_MACHINE;
	h->pid = getpid();
	h->parent = getppid();
	h->start_ticks = start_ticks();
	h->start_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	h->program = put_program();
	h->arguments = put_arguments();
	if (!file_reserve(HEAP_NODES, 0, HEAP_NODES_A_CHUNK, sizeof(struct heap_node)))
		return false;
	file_node(0)->mapping = HEAP_NO_MAPPING;
	site = file_reserve(HEAP_SITES, 0, HEAP_SITES_A_CHUNK, sizeof *site);
	h->node_count = h->site_count = 1;
	return site != NULL;
}

static bool begin(int fd, uint64_t limit)
{
	own.limit = limit;
	if (!keep(fd))
		return false;
	heap_file.head = grow(0, HEAP_HEADER_SIZE);
	return heap_file.head && describe();
}

/* dir is open to the process' user only (0700). */
bool file_open(const char *dir, uint64_t limit)
{
	return begin(create(dir, HEAP_NAME_START), limit);
}

bool file_open_unnamed(const char *dir, uint64_t limit)
{
	return begin(create_anywhere(dir), limit);
}

void file_forget(uint32_t site_base)
{
	heap_file.site_base = site_base;
	heap_file.head = NULL;
	heap_file.lock = 0;
	memset(heap_file.counts, 0, sizeof heap_file.counts);
	own.step_left = 0;
	if (own.fd >= 0 && get_fd() >= 0)
		close(own.fd);
	own.fd = -1;
}

void file_close(void)
{
	for (int kind = 0; kind < HEAP_KINDS; kind++)
		for (uint32_t i = 0; i < heap_file.counts[kind]; i++)
			pages_free(heap_file.chunks[kind][i], HEAP_CHUNK);
	if (own.step_left)
		pages_free(own.step, own.step_left * (size_t)HEAP_CHUNK);
	if (heap_file.head)
		pages_free(heap_file.head, HEAP_HEADER_SIZE);
	file_forget(0);
}

/* One more chunk of a kind. */
static bool add_chunk(enum heap_kind kind)
{
	struct heap_head *head = heap_file.head;
	uint32_t count = head->header.chunk_count;
	uint64_t from = HEAP_HEADER_SIZE + (uint64_t)count * HEAP_CHUNK;

	if (count == HEAP_CHUNKS_MAX)
		return false;
	if (own.step_left == 0) {
		uint32_t chunks = CHUNKS_A_STEP;

		own.step = grow(from, chunks * HEAP_CHUNK);
		if (!own.step) {
			chunks = 1;
			own.step = grow(from, HEAP_CHUNK);
		}
		if (!own.step)
			return false;
		own.step_left = chunks;
	}
	heap_file.chunks[kind][heap_file.counts[kind]++] = own.step;
	own.step += HEAP_CHUNK;
	own.step_left--;
	head->kinds[count] = (unsigned char)kind;
	__atomic_store_n(&head->header.chunk_count, count + 1, __ATOMIC_RELEASE);
	return true;
}

void *file_reserve(enum heap_kind kind, uint32_t index, size_t per, size_t size)
{
	struct heap_header *h = file_header();
	int saved = errno;
	bool ok = index / per < heap_file.counts[kind] ||
		  (!(h->flags & HEAP_FULL) && add_chunk(kind));

	errno = saved;
	if (!ok) {
		__atomic_fetch_or(&h->flags, HEAP_FULL, __ATOMIC_RELAXED);
		return NULL;
	}
	return heap_file.chunks[kind][index / per] + index % per * size;
}

uint32_t file_put_string(const char *text)
{
	struct heap_header *h = file_header();
	size_t len = strnlen(text, HEAP_PATH_MAX - 1);
	uint32_t at = h->string_bytes;
	char *place;

	if (at % HEAP_CHUNK + len + 1 > HEAP_CHUNK)
		at += HEAP_CHUNK - at % HEAP_CHUNK;
	place = file_reserve(HEAP_STRINGS, at, HEAP_CHUNK, 1);
	if (!place)
		return HEAP_NO_STRING;
	memcpy(place, text, len);
	place[len] = '\0';
	__atomic_store_n(&h->string_bytes, at + (uint32_t)len + 1, __ATOMIC_RELEASE);
	return at;
}
