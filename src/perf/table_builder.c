/* SPDX-License-Identifier: MIT */
#include "perf/table_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/elf_image.h"
#include "base/fifo.h"
#include "base/storage/storage_open.h"

#define STACK_BYTES ((size_t)1 << 20)         /* of the thread: RLIMIT_AS may be tight */
#define UNWIND_DATA_MAX ((uint64_t)128 << 20) /* bytes read of a file */

/* A file on its way to a table. */
struct job {
	struct fifo_link link;
	uint32_t key;
	int fd;                     /* its own */
	struct unwind_table *table; /* when finished */
};

struct table_builder {
	pthread_t thread;
	bool has_thread; /* written by the caller's thread only */
	size_t pending;  /* and not taken; the caller's thread only */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct fifo todo, done; /* under lock */
	bool is_ending;         /* under lock */
};

static struct job *take(struct fifo *f)
{
	return (struct job *)fifo_take(f);
}

static void job_free(struct job *job)
{
	if (job->fd >= 0)
		close(job->fd);
	unwind_table_free(job->table);
	free(job);
}

struct table_builder *table_builder_new(void)
{
	struct table_builder *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	return m;
}

void table_builder_free(struct table_builder *m)
{
	struct job *job;

	if (!m)
		return;
	if (m->has_thread) {
		pthread_mutex_lock(&m->lock);
		m->is_ending = true;
		pthread_cond_broadcast(&m->changed);
		pthread_mutex_unlock(&m->lock);
		pthread_join(m->thread, NULL);
	}
	while ((job = take(&m->todo)) || (job = take(&m->done)))
		job_free(job);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

int table_builder_make(int fd, struct unwind_table **ret, struct err *e)
{
	struct elf_image image;
	int rc = elf_image_open_fd(&image, fd, "mapped file", e);

	if (rc < 0)
		return rc;
	elf_image_limit(&image, UNWIND_DATA_MAX);
	rc = unwind_table_new(&image, NULL, ret, e);
	elf_image_close(&image);
	return rc;
}

/* In a forked process: what a table is made of, so that it is in the kernel's memory. */
static void read_tables(int fd)
{
	static const char *const names[] = { ".eh_frame_hdr", ".eh_frame", ".debug_frame" };
	struct elf_section section;
	struct elf_image image;
	struct err e;

	if (elf_image_open_fd(&image, fd, "mapped file", &e) < 0)
		return;
	elf_image_limit(&image, UNWIND_DATA_MAX);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (elf_find_section(&image, names[i], &section))
			elf_section_bytes(&image, &section);
}

static void make(struct job *job)
{
	struct err e;

	if (!storage_replies(job->fd, read_tables) ||
	    table_builder_make(job->fd, &job->table, &e) < 0)
		job->table = NULL;
}

static void *work(void *context)
{
	struct table_builder *m = context;

	pthread_mutex_lock(&m->lock);
	while (!m->is_ending) {
		struct job *job = take(&m->todo);

		if (!job) {
			pthread_cond_wait(&m->changed, &m->lock);
			continue;
		}
		pthread_mutex_unlock(&m->lock);
		make(job);
		pthread_mutex_lock(&m->lock);
		fifo_put(&m->done, &job->link);
		pthread_cond_broadcast(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static int start_thread(struct table_builder *m)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int rc;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_sigmask(SIG_BLOCK, &all, &before); /* the caller's thread handles them */
	rc = pthread_create(&m->thread, &attr, work, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	m->has_thread = rc == 0;
	return rc;
}

int table_builder_request(struct table_builder *m, uint32_t key, int fd)
{
	struct job *job;
	int rc;

	if (!m->has_thread) {
		rc = start_thread(m);
		if (rc)
			return -rc;
	}
	job = calloc(1, sizeof *job);
	if (!job)
		return -ENOMEM;
	job->key = key;
	job->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (job->fd < 0) {
		rc = -errno;
		job_free(job);
		return rc;
	}
	pthread_mutex_lock(&m->lock);
	fifo_put(&m->todo, &job->link);
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	m->pending++;
	return 0;
}

bool table_builder_take(struct table_builder *m, uint32_t *ret_key, struct unwind_table **ret_table)
{
	struct job *job;

	if (m->pending == 0)
		return false;
	pthread_mutex_lock(&m->lock);
	job = take(&m->done);
	pthread_mutex_unlock(&m->lock);
	if (!job)
		return false;
	m->pending--;
	*ret_key = job->key;
	*ret_table = job->table;
	job->table = NULL;
	job_free(job);
	return true;
}

void table_builder_wait(struct table_builder *m)
{
	if (m->pending == 0)
		return;
	pthread_mutex_lock(&m->lock);
	while (!m->done.first)
		pthread_cond_wait(&m->changed, &m->lock);
	pthread_mutex_unlock(&m->lock);
}
