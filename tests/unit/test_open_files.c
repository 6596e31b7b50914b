/* SPDX-License-Identifier: MIT */
#include "cachefs/store/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "cachefs/store/local.h"
#include "tap.h"

#define SIZE 1000

/* A folder with files, and how often one was opened. */
struct folder {
	char path[64];
	int fd;
	_Atomic int opens;
	_Atomic int error; /* of the next open; 0: none */
};

static int open_in(void *context, const char *path)
{
	struct folder *f = context;
	int fd, error = atomic_exchange(&f->error, 0);

	atomic_fetch_add(&f->opens, 1);
	fd = error ? -1 : openat(f->fd, path, O_RDONLY | O_CLOEXEC);
	return error ? -error : fd < 0 ? -errno : fd;
}

static void write_file(const struct folder *f, const char *name, char fill)
{
	char text[SIZE];
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memset(text, fill, sizeof text);
	CHECK_INT(write(fd, text, sizeof text), SIZE);
	close(fd);
}

static void make_folder(struct folder *f)
{
	const char *tmp = getenv("TMPDIR");

	*f = (struct folder){ .fd = -1 };
	snprintf(f->path, sizeof f->path, "%.40s/test-files-XXXXXX", tmp ? tmp : "/tmp");
	if (CHECK(mkdtemp(f->path)))
		f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_folder(struct folder *f)
{
	char name[16];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%d", i);
		unlinkat(f->fd, name, 0);
	}
	close(f->fd);
	CHECK_INT(rmdir(f->path), 0);
}

static int read_some(struct open_files *files, const char *name, size_t len)
{
	struct open_file file;
	char text[SIZE];
	int rc = open_files_get(files, name, &file);

	if (rc < 0)
		return rc;
	CHECK_INT(pread(file.fd, text, len, 0), (int)len);
	open_files_put(files, &file, len);
	return text[0];
}

static size_t open_descriptors(void)
{
	int fd = dup(0);

	close(fd);
	return (size_t)fd;
}

/* One open for all reads of a file; it is closed with the last byte. */
static void test_one_open(void)
{
	struct folder f;
	struct open_files *files = open_files_new(open_in, &f, 4);
	size_t before;

	make_folder(&f);
	write_file(&f, "1", 'a');
	before = open_descriptors();
	for (int i = 0; i < 10; i++)
		CHECK_INT(read_some(files, "1", SIZE / 10), 'a');
	CHECK_INT(f.opens, 1);
	CHECK_INT(open_descriptors(), before);
	CHECK_INT(read_some(files, "1", SIZE), 'a');
	CHECK_INT(open_descriptors(), before);
	CHECK_INT(f.opens, 2);
	CHECK_INT(read_some(files, "none", 1), -ENOENT);
	open_files_free(files);
	remove_folder(&f);
}

/* At most so many stay open, those that were used last. */
static void test_limit(void)
{
	struct folder f;
	struct open_files *files = open_files_new(open_in, &f, 4);
	size_t before;
	char name[16];

	make_folder(&f);
	before = open_descriptors();
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "%d", i);
		write_file(&f, name, 'a');
		CHECK_INT(read_some(files, name, 10), 'a');
		CHECK_INT(read_some(files, "0", 1), 'a');
		CHECK(open_descriptors() <= before + 5);
	}
	CHECK_INT(f.opens, 50);
	CHECK_INT(read_some(files, "1", 10), 'a');
	CHECK_INT(f.opens, 51);
	open_files_free(files);
	CHECK_INT(open_descriptors(), before);
	remove_folder(&f);
}

/* A file that was replaced, removed, or changed is opened again; a dropped one, too. */
static void test_replaced(void)
{
	struct folder f;
	struct open_files *files = open_files_new(open_in, &f, 4);
	struct open_file file;

	make_folder(&f);
	write_file(&f, "1", 'a');
	write_file(&f, "2", 'b');
	CHECK_INT(read_some(files, "1", 1), 'a');
	CHECK_INT(renameat(f.fd, "2", f.fd, "1"), 0);
	CHECK_INT(read_some(files, "1", 1), 'b');
	CHECK_INT(f.opens, 2);
	if (CHECK_INT(open_files_get(files, "1", &file), 0)) {
		CHECK(!file.is_new);
		open_files_drop(files, &file);
	}
	CHECK_INT(read_some(files, "1", 1), 'b');
	CHECK_INT(f.opens, 3);
	unlinkat(f.fd, "1", 0);
	CHECK_INT(read_some(files, "1", 1), -ENOENT);
	f.error = EACCES;
	write_file(&f, "1", 'c');
	CHECK_INT(read_some(files, "1", 1), -EACCES);
	CHECK_INT(read_some(files, "1", 1), 'c');
	open_files_free(files);
	remove_folder(&f);
}

struct crew {
	struct open_files *files;
	pthread_barrier_t begin;
};

static void *read_all(void *arg)
{
	struct crew *crew = arg;
	char name[16];

	pthread_barrier_wait(&crew->begin);
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "%d", i / 40);
		CHECK_INT(read_some(crew->files, name, SIZE / 160), 'a');
	}
	return NULL;
}

/* Four threads that read the same files at once: one open each. */
static void test_threads(void)
{
	struct folder f;
	struct crew crew = { .files = open_files_new(open_in, &f, 16) };
	pthread_t threads[4];
	char name[16];

	make_folder(&f);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof name, "%d", i);
		write_file(&f, name, 'a');
	}
	pthread_barrier_init(&crew.begin, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, read_all, &crew);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(f.opens, 10);
	pthread_barrier_destroy(&crew.begin);
	open_files_free(crew.files);
	remove_folder(&f);
}

/* Of storage: reads of a file with a hole, of one that changed, and of one in place of it. */
static void test_local(void)
{
	enum { BYTES = 3 << 20 };
	struct folder f;
	struct local *l;
	struct err e = { 0 };
	struct storage s;
	struct storage_read got;
	struct stat st;
	char *into = malloc(1 << 20);

	make_folder(&f);
	write_file(&f, "1", 'a');
	CHECK_INT(truncate(f.path, 0), -1);
	if (!CHECK_INT(local_open(f.path, NULL, &l, &e), 0) || !into)
		return;
	s = local_storage(l);
	CHECK_INT(ftruncate(openat(f.fd, "1", O_WRONLY), BYTES), 0);
	CHECK_INT(s.ops->lookup(s.self, "1", &st), 0);
	CHECK_INT(s.ops->read_chunk(s.self, "1", &st, 0, into, 1 << 20, &got), 0);
	CHECK(!got.is_hole && got.len == 1 << 20 && into[0] == 'a' && into[SIZE] == 0);
	CHECK_INT(got.before.st_ino, st.st_ino);
	CHECK_INT(got.after.st_size, BYTES);
	CHECK_INT(s.ops->read_chunk(s.self, "1", &st, 2 << 20, into, 1 << 20, &got), 0);
	CHECK(got.is_hole && got.len == 1 << 20);
	CHECK_INT(s.ops->read_chunk(s.self, "1", &st, BYTES - 10, into, 1 << 20, &got), 0);
	CHECK_INT(got.len, 10);
	write_file(&f, "1", 'b');
	CHECK_INT(s.ops->read_chunk(s.self, "1", &st, 0, into, 10, &got), -ESTALE);
	CHECK_INT(s.ops->lookup(s.self, "1", &st), 0);
	CHECK_INT(s.ops->read_chunk(s.self, "1", &st, 0, into, 10, &got), 0);
	CHECK_INT(into[0], 'b');
	write_file(&f, "2", 'c');
	CHECK_INT(renameat(f.fd, "2", f.fd, "1"), 0);
	CHECK_INT(s.ops->read_chunk(s.self, "1", &st, 0, into, 10, &got), -ESTALE);
	unlinkat(f.fd, "1", 0);
	CHECK_INT(s.ops->read_chunk(s.self, "1", &st, 0, into, 10, &got), -ESTALE);
	local_close(l);
	free(into);
	remove_folder(&f);
}

int main(void)
{
	TAP_CASE(test_one_open);
	TAP_CASE(test_limit);
	TAP_CASE(test_replaced);
	TAP_CASE(test_threads);
	TAP_CASE(test_local);
	return tap_done();
}
