/* SPDX-License-Identifier: MIT */
/* job_write: single processes that write and read in many ways. */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static void append(void)
{
	int fd = make("log", O_WRONLY | O_APPEND);
	unsigned n = 0;

	ready();
	while (going())
		put(fd, 'a', &n);
	say_records('a', n, "log");
}

/* Writes, reads and truncates at random places, and compares with a copy in memory. */
#define MODEL 65536

static void seek_model(void)
{
	static unsigned char model[MODEL], back[MODEL];
	int fd = make("data", O_RDWR | O_NOATIME);
	size_t size = MODEL;

	must((int)pwrite(fd, model, MODEL, 0), "pwrite");
	ready();
	while (going()) {
		size_t at = (size_t)rand() % (MODEL - 64);
		unsigned char bytes[64];

		memset(bytes, rand(), sizeof bytes);
		if (rand() % 50 == 0) {
			must(ftruncate(fd, (off_t)at), "ftruncate");
			must(ftruncate(fd, MODEL), "ftruncate");
			memset(model + at, 0, MODEL - at);
		}
		if (rand() % 2) {
			must((int)pwrite(fd, bytes, sizeof bytes, (off_t)at), "pwrite");
		} else {
			must((int)lseek(fd, (off_t)at, SEEK_SET), "lseek");
			must((int)write(fd, bytes, sizeof bytes), "write");
		}
		memcpy(model + at, bytes, sizeof bytes);
		if (pread(fd, back, 4096, (off_t)(at & ~(size_t)4095)) != 4096 ||
		    memcmp(back, model + (at & ~(size_t)4095), 4096) != 0)
			wrong("what was read is not what was written");
	}
	say_sum(model, size, "data");
}

/* A file so large that the pause does not compare all of it, changed in every possible way. */
#define LARGE ((size_t)8 << 20)
#define UNIT ((size_t)65536)
#define PAGE ((size_t)4096)

static void change_extents(int fd, unsigned char *model, size_t at)
{
	size_t behind = LARGE - at - UNIT;

	switch (rand() % 4) {
	case 0:
		must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, UNIT),
		     "punch");
		memset(model + at, 0, UNIT);
		break;
	case 1:
		must(fallocate(fd, FALLOC_FL_ZERO_RANGE, (off_t)at, UNIT), "zero");
		memset(model + at, 0, UNIT);
		break;
	case 2: /* the rest moves down, and zeros follow it */
		must(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, (off_t)at, UNIT), "collapse");
		must(ftruncate(fd, LARGE), "ftruncate");
		memmove(model + at, model + at + UNIT, behind);
		memset(model + LARGE - UNIT, 0, UNIT);
		break;
	default:
		must(ftruncate(fd, (off_t)at), "ftruncate");
		must(ftruncate(fd, LARGE), "ftruncate");
		memset(model + at, 0, LARGE - at);
		break;
	}
}

static void large_model(void)
{
	static unsigned char model[LARGE];
	int fd = make("data", O_RDWR);

	for (size_t i = 0; i < LARGE; i++)
		model[i] = (unsigned char)(i * 2654435761u >> 24);
	/* What one call wrote as a whole, the kernel stores and reports as one extent. */
	for (size_t at = 0; at < LARGE; at += at < LARGE / 2 ? PAGE : LARGE / 2)
		must((int)pwrite(fd, model + at, at < LARGE / 2 ? PAGE : LARGE / 2, (off_t)at),
		     "pwrite");
	ready();
	while (going()) {
		size_t at = (size_t)rand() % (LARGE - UNIT), len = (size_t)rand() % 9000;

		memset(model + at, rand(), len);
		must((int)pwrite(fd, model + at, len, (off_t)at), "pwrite");
		if (rand() % 500 == 0)
			change_extents(fd, model, (size_t)rand() % (LARGE / UNIT - 1) * UNIT);
	}
	say_sum(model, LARGE, "data");
}

static void stdio_buffer(void)
{
	static char room[65536];
	FILE *f = fopen("log", "w");
	char record[RECORD + 1];
	unsigned n = 0;

	setvbuf(f, room, _IOFBF, sizeof room);
	ready();
	while (going())
		for (int i = 0; i < 7; i++) {
			make_record(record, 's', n++);
			fputs(record, f);
		}
	if (fclose(f))
		wrong("fclose");
	say_records('s', n, "log");
}

static int timer_fd;
static unsigned timer_count;

static void on_timer(int sig)
{
	int saved = errno;

	(void)sig;
	put(timer_fd, 't', &timer_count);
	errno = saved;
}

/* A signal handler writes every 2 ms. */
static void timer(void)
{
	struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct itimerval every = { { .tv_usec = 2000 }, { .tv_usec = 2000 } };
	unsigned n = 0;

	timer_fd = make("log", O_WRONLY | O_APPEND);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	ready();
	while (going())
		put(timer_fd, 'm', &n);
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0 }, { 0 } }, NULL);
	say_records('m', n, "log");
	say_records('t', timer_count, "log");
}

/* An unlinked file: only the job can check its content. */
static void check_all(int fd, char lane, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char record[RECORD + 1], got[RECORD];

		make_record(record, lane, i);
		if (pread(fd, got, RECORD, (off_t)i * RECORD) != RECORD ||
		    memcmp(got, record, RECORD) != 0) {
			wrong("record %u is not there", i);
			return;
		}
	}
}

static void nameless(int fd)
{
	struct stat st;
	unsigned n = 0;

	ready();
	while (going())
		put(fd, 'd', &n);
	check_all(fd, 'd', n);
	if (fstat(fd, &st) < 0 || st.st_nlink != 0)
		wrong("it has a name");
}

static void deleted(void)
{
	int fd = make("log", O_RDWR);

	unlink("log");
	nameless(fd);
}

/* Another file gets the name. */
static void replaced(void)
{
	int fd = make("log", O_RDWR), other;
	unsigned n = 0;

	unlink("log");
	other = make("log", O_WRONLY | O_APPEND);
	put(other, 'o', &n);
	close(other);
	nameless(fd);
	say_records('o', n, "log");
}

static void tmpfile_open(void)
{
	nameless(must(open(".", O_TMPFILE | O_RDWR, 0600), "O_TMPFILE"));
}

static void direct(void)
{
	int fd = make("log", O_RDWR | O_DIRECT | O_DSYNC);
	char *block;
	unsigned n = 0;

	if (posix_memalign((void **)&block, 4096, 4096))
		return;
	ready();
	while (going()) {
		for (int i = 0; i < 4096 / RECORD; i++) {
			char record[RECORD + 1];

			make_record(record, 'b', n++);
			memcpy(block + i * RECORD, record, RECORD);
		}
		must((int)write(fd, block, 4096), "write");
	}
	if (!(fcntl(fd, F_GETFL) & O_DIRECT))
		wrong("no O_DIRECT any more");
	free(block);
	say_records('b', n, "log");
}

/* Root opened the file for writing; its mode forbids that, and the process is nobody by now. */
static void dropped(void)
{
	int fd = make("log", O_WRONLY | O_APPEND);
	unsigned n = 0;

	must(fchmod(fd, 0400), "fchmod");
	must(setgid(65534), "setgid");
	must(setuid(65534), "setuid");
	prctl(PR_SET_DUMPABLE, 1);
	ready();
	while (going())
		put(fd, 'a', &n);
	say_records('a', n, "log");
}

#define FAR (INT64_C(6) << 30)

static void sparse(void)
{
	int fd = make("log", O_RDWR);
	struct stat st;
	unsigned n = 0;

	must(lseek(fd, FAR, SEEK_SET) == FAR ? 0 : -1, "lseek");
	ready();
	while (going())
		put(fd, 'f', &n);
	for (unsigned i = 0; i < n; i++) {
		char record[RECORD + 1], got[RECORD];

		make_record(record, 'f', i);
		if (pread(fd, got, RECORD, FAR + (off_t)i * RECORD) != RECORD ||
		    memcmp(got, record, RECORD) != 0)
			wrong("record %u is not there", i);
	}
	if (fstat(fd, &st) < 0 || st.st_blocks > 1 << 20)
		wrong("the hole is filled");
}

/* A file with two names, opened by both. */
static void hard_links(void)
{
	int one = make("log", O_WRONLY | O_APPEND), two;
	unsigned n = 0, m = 0;

	must(link("log", "log2"), "link");
	two = make("log2", O_WRONLY | O_APPEND);
	ready();
	while (going()) {
		put(one, 'x', &n);
		put(two, 'y', &m);
	}
	say_records('x', n, "log");
	say_records('y', m, "log2");
}

static void read_only(void)
{
	int fd = make("input", O_RDWR), in;
	unsigned n = 0, seen = 0;

	while (n < 20000)
		put(fd, 'i', &n);
	close(fd);
	in = must(open("input", O_RDONLY), "input");
	ready();
	while (going()) {
		char record[RECORD + 1], got[RECORD];

		if (read(in, got, RECORD) == 0) {
			lseek(in, 0, SEEK_SET);
			seen = 0;
			continue;
		}
		make_record(record, 'i', seen++);
		if (memcmp(got, record, RECORD) != 0)
			wrong("record %u was read wrong", seen - 1);
	}
	say_records('i', n, "input");
}

static void many_files(void)
{
	int fds[300];
	unsigned n[300] = { 0 };
	char name[32];

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "log%d", i);
		fds[i] = make(name, O_WRONLY | (i % 2 ? O_APPEND : 0) | (i % 3 ? O_CLOEXEC : 0));
	}
	ready();
	while (going())
		for (int i = 0; i < 300; i += 1 + rand() % 50)
			put(fds[i], 'a', &n[i]);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "log%d", i);
		say_records('a', n[i], name);
		if ((fcntl(fds[i], F_GETFD) & FD_CLOEXEC) != (i % 3 ? FD_CLOEXEC : 0))
			wrong("close-on-exec of %d", fds[i]);
	}
}

/* The filter allows only read, write, exit and sigreturn. */
static void seccomp(void)
{
	int fd = make("log", O_WRONLY | O_APPEND);
	unsigned n = 0;

	ready();
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "seccomp");
	while (!stopping())
		if (n < 2000000)
			put(fd, 'a', &n);
	say_records('a', n, "log");
	fflush(stdout);
	syscall(SYS_exit, 0);
}

/* Opens an absolute path each time: only --swap helps. */
static void abs_path(void)
{
	char path[4096];
	unsigned n = 0;

	if (!getcwd(path, sizeof path - 8))
		return;
	strcat(path, "/log");
	make("kept", O_WRONLY);
	must(chdir("/"), "chdir");
	ready();
	while (going()) {
		int fd = make(path, O_WRONLY | O_APPEND);

		put(fd, 'a', &n);
		close(fd);
	}
	say_records('a', n, "log");
}

const struct job_case write_cases[] = {
	{ "append", append },
	{ "seek", seek_model },
	{ "large", large_model },
	{ "stdio", stdio_buffer },
	{ "timer", timer },
	{ "deleted", deleted },
	{ "replaced", replaced },
	{ "tmpfile", tmpfile_open },
	{ "direct", direct },
	{ "dropped", dropped },
	{ "sparse", sparse },
	{ "hard-links", hard_links },
	{ "read-only", read_only },
	{ "many-files", many_files },
	{ "seccomp", seccomp },
	{ "abs-path", abs_path },
	{ NULL, NULL },
};
