/* SPDX-License-Identifier: MIT */
#include "cachefs/store/open_files.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define BUCKETS 256
#define IDLE_NS (10 * NS_PER_S)
#define TRIES 3 /* to open a file that changes */

struct open_entry {
	struct open_entry *next;           /* in its bucket; under lock, as all but the last ones */
	struct open_entry *before, *after; /* by last use; the head of the list is in open_files */
	uint32_t hash;
	unsigned users;
	bool is_listed; /* get finds it; else the last user closes it */
	int64_t used_ns;
	uint64_t bytes; /* that were read */

	pthread_mutex_t opening; /* of the next two; never held together with lock */
	int fd;                  /* negative: not open yet; it never changes while it is open */
	struct stat attr;
	char path[];
};

struct open_files {
	open_files_open *open; /* this and the next two never change */
	void *context;
	unsigned max;
	pthread_mutex_t lock; /* of all below */
	unsigned count;
	struct open_entry *buckets[BUCKETS]; /* [hash % BUCKETS] */
	struct open_entry *newest, *oldest;
};

struct open_files *open_files_new(open_files_open *open, void *context, unsigned max)
{
	struct open_files *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->open = open;
	f->context = context;
	f->max = max;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

static void free_entry(struct open_entry *entry)
{
	if (entry->fd >= 0)
		close(entry->fd);
	pthread_mutex_destroy(&entry->opening);
	free(entry);
}

void open_files_free(struct open_files *f)
{
	if (!f)
		return;
	for (struct open_entry *entry = f->newest, *after; entry; entry = after) {
		after = entry->after;
		free_entry(entry);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Under lock, as all up to unlock_and_close. */
static void enlist(struct open_files *f, struct open_entry *entry)
{
	entry->before = NULL;
	entry->after = f->newest;
	if (f->newest)
		f->newest->before = entry;
	else
		f->oldest = entry;
	f->newest = entry;
}

static void unlist(struct open_files *f, struct open_entry *entry)
{
	if (entry->before)
		entry->before->after = entry->after;
	else
		f->newest = entry->after;
	if (entry->after)
		entry->after->before = entry->before;
	else
		f->oldest = entry->before;
}

static void remove_entry(struct open_files *f, struct open_entry *entry)
{
	struct open_entry **at = &f->buckets[entry->hash % BUCKETS];

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	unlist(f, entry);
	entry->is_listed = false;
	f->count--;
}

static struct open_entry *find(const struct open_files *f, const char *path, uint32_t hash)
{
	struct open_entry *entry = f->buckets[hash % BUCKETS];

	while (entry && (entry->hash != hash || strcmp(entry->path, path) != 0))
		entry = entry->next;
	return entry;
}

static struct open_entry *add(struct open_files *f, const char *path, uint32_t hash)
{
	size_t len = strlen(path) + 1;
	struct open_entry *entry = calloc(1, sizeof *entry + len);

	if (!entry)
		return NULL;
	memcpy(entry->path, path, len);
	entry->hash = hash;
	entry->fd = -1;
	pthread_mutex_init(&entry->opening, NULL);
	entry->next = f->buckets[hash % BUCKETS];
	f->buckets[hash % BUCKETS] = entry;
	enlist(f, entry);
	entry->is_listed = true;
	f->count++;
	return entry;
}

/* Removes what was not used for the longest time, if it must go. NULL: all may stay. */
static struct open_entry *take_oldest(struct open_files *f, int64_t now_ns)
{
	struct open_entry *entry = f->oldest;

	while (entry && entry->users)
		entry = entry->before;
	if (!entry || (f->count <= f->max && now_ns - entry->used_ns < IDLE_NS))
		return NULL;
	remove_entry(f, entry);
	return entry;
}

/* Closes without the lock, because that may be a request to storage; at most two files, so that no
 * read waits for many. */
static void unlock_and_close(struct open_files *f, struct open_entry *entry)
{
	struct open_entry *oldest = take_oldest(f, clock_mono_ns());

	pthread_mutex_unlock(&f->lock);
	if (entry)
		free_entry(entry);
	if (oldest)
		free_entry(oldest);
}

/* The end of one use, which read these bytes. The last one of those that read size bytes in all
 * closes the file. */
static void release(struct open_files *f, struct open_entry *entry, uint64_t bytes, uint64_t size)
{
	pthread_mutex_lock(&f->lock);
	entry->bytes += bytes;
	if (entry->bytes >= size && entry->is_listed)
		remove_entry(f, entry);
	entry->users--;
	unlock_and_close(f, entry->users || entry->is_listed ? NULL : entry);
}

static int open_entry(const struct open_files *f, struct open_entry *entry, bool *ret_is_new)
{
	int fd, rc = 0;

	pthread_mutex_lock(&entry->opening);
	*ret_is_new = entry->fd < 0;
	if (*ret_is_new) {
		fd = f->open(f->context, entry->path);
		rc = fd < 0 ? fd : fstat(fd, &entry->attr) < 0 ? -errno : 0;
		if (rc < 0 && fd >= 0)
			close(fd);
		entry->fd = rc < 0 ? -1 : fd;
	}
	pthread_mutex_unlock(&entry->opening);
	return rc;
}

/* NULL: out of memory. */
static struct open_entry *begin_use(struct open_files *f, const char *path)
{
	uint32_t hash = (uint32_t)hash_bytes(path, strlen(path));
	struct open_entry *entry;

	pthread_mutex_lock(&f->lock);
	entry = find(f, path, hash);
	if (entry) {
		unlist(f, entry);
		enlist(f, entry);
	} else {
		entry = add(f, path, hash);
	}
	if (entry) {
		entry->users++;
		entry->used_ns = clock_mono_ns();
	}
	unlock_and_close(f, NULL);
	return entry;
}

/* Is it as it was when it was opened, at the same place? The number of links changes at once, ctime
 * perhaps with the next tick of the clock. */
static bool is_unchanged(const struct open_file *file)
{
	const struct stat *now = &file->attr, *then = &file->entry->attr;

	return now->st_ctim.tv_sec == then->st_ctim.tv_sec &&
	       now->st_ctim.tv_nsec == then->st_ctim.tv_nsec && now->st_nlink == then->st_nlink;
}

int open_files_get(struct open_files *f, const char *path, struct open_file *ret)
{
	for (int tries = 0; tries < TRIES; tries++) {
		struct open_file file = { .entry = begin_use(f, path) };
		int rc = file.entry ? open_entry(f, file.entry, &file.is_new) : -ENOMEM;

		if (rc < 0) {
			if (file.entry)
				open_files_drop(f, &file);
			return rc;
		}
		file.fd = file.entry->fd;
		file.attr = file.entry->attr;
		if (file.is_new || (fstat(file.fd, &file.attr) == 0 && is_unchanged(&file))) {
			*ret = file;
			return 0;
		}
		open_files_drop(f, &file);
	}
	return -ESTALE;
}

void open_files_put(struct open_files *f, const struct open_file *file, uint64_t bytes)
{
	release(f, file->entry, bytes, (uint64_t)file->attr.st_size);
}

void open_files_drop(struct open_files *f, const struct open_file *file)
{
	release(f, file->entry, 0, 0);
}
