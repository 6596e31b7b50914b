/* SPDX-License-Identifier: MIT */
/*
 * cache_ops KIND SECONDS THREADS ROOT...: how often a second one operation is done on the files
 * that cache_tree.py laid out below each ROOT. The roots take turns of 20 ms. Prints a line for
 * each turn, with a number for each root: operations a second of all threads; of read and map,
 * bytes. Of map_cold and read_cold, the kernel has no page of the file, except below the first
 * ROOT; the time in which it drops them does not count.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILES 2000
#define SMALL_FILES 1000
#define FOLDERS 50
#define ABSENT 200
#define BIG_BYTES (64 << 20)
#define TURN_S 0.02
#define MAX_ROOTS 4
#define MAX_THREADS 64

struct code_address {
	const char *root;
	char paths[FILES][256];
	int big_fd, folder_fd;
	bool is_first; /* of the roots */
	uint64_t turn; /* operations from its beginning, of all threads */
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t op_stat(const struct code_address *p, uint64_t i, char *room)
{
	struct stat st;

	(void)room;
	if (stat(p->paths[i % FILES], &st) != 0)
		die(p->paths[i % FILES]);
	return 1;
}

static uint64_t op_stat_at(const struct code_address *p, uint64_t i, char *room)
{
	struct stat st;

	(void)room;
	if (fstatat(p->folder_fd, strrchr(p->paths[i % FILES], '/') + 1, &st, 0) != 0)
		die(p->paths[i % FILES]);
	return 1;
}

static uint64_t op_fstat(const struct code_address *p, uint64_t i, char *room)
{
	struct stat st;

	(void)i;
	(void)room;
	if (fstat(p->big_fd, &st) != 0)
		die("big");
	return 1;
}

static uint64_t op_absent(const struct code_address *p, uint64_t i, char *room)
{
	struct stat st;
	char path[300];

	(void)room;
	snprintf(path, sizeof path, "%s/d1/d2/d3/files/absent%d", p->root, (int)(i % ABSENT));
	if (stat(path, &st) == 0)
		die(path);
	return 1;
}

static void list(const char *path)
{
	DIR *dir = opendir(path);

	if (!dir)
		die(path);
	while (readdir(dir))
		;
	closedir(dir);
}

static uint64_t op_readdir(const struct code_address *p, uint64_t i, char *room)
{
	char path[300];

	(void)i;
	(void)room;
	snprintf(path, sizeof path, "%s/d1/d2/d3/files", p->root);
	list(path);
	return 1;
}

static uint64_t op_readdir_small(const struct code_address *p, uint64_t i, char *room)
{
	char path[300];

	(void)room;
	snprintf(path, sizeof path, "%s/folders/%d", p->root, (int)(i % FOLDERS));
	list(path);
	return 1;
}

static uint64_t op_read(const struct code_address *p, uint64_t i, char *room)
{
	ssize_t n = pread(p->big_fd, room, 1 << 20, (off_t)(i << 20) % BIG_BYTES);

	if (n < 0)
		die("read");
	return (uint64_t)n;
}

static uint64_t op_pread(const struct code_address *p, uint64_t i, char *room)
{
	uint64_t page = i * 0x9e3779b97f4a7c15u >> 32;

	if (pread(p->big_fd, room, 4096, (off_t)(page % (BIG_BYTES / 4096) * 4096)) != 4096)
		die("pread");
	return 1;
}

static uint64_t op_map(const struct code_address *p, uint64_t i, char *room)
{
	volatile const char *bytes = mmap(NULL, BIG_BYTES, PROT_READ, MAP_PRIVATE, p->big_fd, 0);
	unsigned sum = 0;

	(void)i;
	(void)room;
	if (bytes == MAP_FAILED)
		die("mmap");
	for (size_t at = 0; at < BIG_BYTES; at += 4096)
		sum += (unsigned char)bytes[at];
	if (sum == 1)
		puts("");
	munmap((void *)(uintptr_t)bytes, BIG_BYTES);
	return BIG_BYTES;
}

static _Thread_local double paused_s; /* of the turn: what does not count */

static void drop_pages(const struct code_address *p)
{
	double begin = now_s();

	if (!p->is_first)
		posix_fadvise(p->big_fd, 0, 0, POSIX_FADV_DONTNEED);
	paused_s += now_s() - begin;
}

static uint64_t op_map_cold(const struct code_address *p, uint64_t i, char *room)
{
	drop_pages(p);
	return op_map(p, i, room);
}

static uint64_t op_read_cold(const struct code_address *p, uint64_t i, char *room)
{
	uint64_t sum = 0;

	(void)i;
	drop_pages(p);
	for (uint64_t at = 0; at < BIG_BYTES >> 20; at++)
		sum += op_read(p, at, room);
	return sum;
}

static uint64_t op_small(const struct code_address *p, uint64_t i, char *room)
{
	char path[300];
	int fd;

	snprintf(path, sizeof path, "%s/small/%d", p->root, (int)(i % SMALL_FILES));
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, room, 8192) != 8192)
		die(path);
	close(fd);
	return 1;
}

static const struct kind {
	const char *name;
	uint64_t (*run)(const struct code_address *p, uint64_t i, char *room);
	uint64_t warm;    /* operations before the clock starts */
	const char *file; /* that is big_fd; NULL: "big" */
} kinds[] = {
	{ "stat", op_stat, FILES, NULL },
	{ "stat_at", op_stat_at, FILES, NULL },
	{ "fstat", op_fstat, 1, NULL },
	{ "absent", op_absent, ABSENT, NULL },
	{ "readdir", op_readdir, 3, NULL },
	{ "readdir_small", op_readdir_small, 2 * FOLDERS, NULL },
	{ "read", op_read, 64, NULL },
	{ "read_large", op_read, 64, "large" },
	{ "pread", op_pread, 16384, NULL },
	{ "map", op_map, 2, NULL },
	{ "map_large", op_map, 2, "large" },
	{ "map_cold", op_map_cold, 2, NULL },
	{ "read_cold", op_read_cold, 2, NULL },
	{ "small", op_small, SMALL_FILES, NULL },
};

struct task {
	pthread_t thread;
	const struct kind *kind;
	const struct code_address *place;
	uint64_t first, done;
	double rate;
};

/* One thread's turn. */
static void *work(void *arg)
{
	struct task *t = arg;
	double begin = now_s(), now = begin;
	char *room = malloc(1 << 20);
	uint64_t bytes = 0;

	paused_s = 0;
	if (!room)
		die("malloc");
	while (now < begin + TURN_S) {
		uint64_t batch = t->kind->warm < 200 ? 1 : 16;

		for (uint64_t i = 0; i < batch; i++)
			bytes += t->kind->run(t->place, t->first + t->done++, room);
		now = now_s();
	}
	t->rate = (double)bytes / (now - begin - paused_s);
	free(room);
	return NULL;
}

static double turn(const struct kind *kind, struct code_address *p, unsigned threads)
{
	struct task tasks[MAX_THREADS];
	double rate = 0;

	for (unsigned i = 0; i < threads; i++) {
		tasks[i] = (struct task){ .kind = kind, .place = p, .first = p->turn + i * 37 };
		if (threads == 1)
			work(&tasks[i]);
		else if (pthread_create(&tasks[i].thread, NULL, work, &tasks[i]) != 0)
			die("thread");
	}
	for (unsigned i = 0; i < threads; i++) {
		if (threads > 1)
			pthread_join(tasks[i].thread, NULL);
		rate += tasks[i].rate;
	}
	p->turn += tasks[0].done;
	return rate;
}

static void prepare(struct code_address *p, const char *root, const struct kind *kind)
{
	char path[300];
	char *room = malloc(1 << 20);

	p->root = root;
	for (int i = 0; i < FILES; i++)
		snprintf(p->paths[i], sizeof p->paths[i], "%s/d1/d2/d3/files/%d", root, i);
	snprintf(path, sizeof path, "%s/%s", root, kind->file ? kind->file : "big");
	p->big_fd = open(path, O_RDONLY);
	snprintf(path, sizeof path, "%s/d1/d2/d3/files", root);
	p->folder_fd = open(path, O_RDONLY | O_DIRECTORY);
	if (p->big_fd < 0 || p->folder_fd < 0 || !room)
		die(root);
	for (uint64_t i = 0; i < kind->warm; i++)
		kind->run(p, i, room);
	free(room);
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct kind *kind = argc > 4 ? find_kind(argv[1]) : NULL;
	unsigned threads = argc > 4 ? (unsigned)atoi(argv[3]) : 0, roots = (unsigned)argc - 4;
	struct code_address *places = calloc(MAX_ROOTS, sizeof *places);
	double end;

	if (!kind || !places || threads < 1 || threads > MAX_THREADS || roots > MAX_ROOTS) {
		fputs("cache_ops KIND SECONDS THREADS ROOT...\n", stderr);
		return 2;
	}
	places->is_first = true;
	for (unsigned i = 0; i < roots; i++)
		prepare(&places[i], argv[i + 4], kind);
	end = now_s() + atof(argv[2]);
	while (now_s() < end)
		for (unsigned i = 0; i < roots; i++)
			printf("%.1f%c", turn(kind, &places[i], threads),
			       i + 1 < roots ? ' ' : '\n');
	free(places);
	return 0;
}
