/* SPDX-License-Identifier: MIT */
#include "cachefs/store/dirlist.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* An entry as it is stored. */
struct stored {
	uint64_t ino;
	uint32_t name; /* offset in the text */
	uint16_t len;  /* of the name */
	unsigned char dtype;
};

struct dirlist {
	_Atomic unsigned refs;
	struct stored *entries; /* [count] of [cap] */
	size_t count, cap;
	struct buf text; /* the names, a NUL behind each */
	uint64_t dots[2];
	enum dirlist_unlisted unlisted;
};

struct dirlist *dirlist_new(void)
{
	struct dirlist *l = calloc(1, sizeof *l);

	if (l)
		l->refs = 1;
	return l;
}

struct dirlist *dirlist_ref(struct dirlist *l)
{
	atomic_fetch_add(&l->refs, 1);
	return l;
}

void dirlist_unref(struct dirlist *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return;
	free(l->entries);
	buf_fini(&l->text);
	free(l);
}

static int grow(struct dirlist *l)
{
	size_t cap = l->cap ? 2 * l->cap : 16;
	struct stored *entries = realloc(l->entries, cap * sizeof *entries);

	if (!entries)
		return -ENOMEM;
	l->entries = entries;
	l->cap = cap;
	return 0;
}

int dirlist_add(struct dirlist *l, const char *name, uint64_t ino, unsigned char dtype)
{
	size_t start = l->text.len, len = strlen(name);

	if (start > UINT32_MAX || len > UINT16_MAX)
		return -EOVERFLOW;
	if (l->count == l->cap && grow(l) < 0)
		return -ENOMEM;
	buf_put(&l->text, name, len + 1);
	if (buf_error(&l->text) < 0)
		return -ENOMEM;
	l->entries[l->count++] = (struct stored){
		.ino = ino, .name = (uint32_t)start, .len = (uint16_t)len, .dtype = dtype
	};
	return 0;
}

void dirlist_set_dot(struct dirlist *l, size_t index, uint64_t ino)
{
	l->dots[index] = ino;
}

uint64_t dirlist_dot(const struct dirlist *l, size_t index)
{
	return l->dots[index];
}

static int by_name(const void *a, const void *b, void *text)
{
	const struct stored *one = a, *two = b;

	return strcmp((const char *)text + one->name, (const char *)text + two->name);
}

/* Shrinks the arrays to their size, because a listing stays cached for long. */
void dirlist_seal(struct dirlist *l)
{
	struct stored *entries;
	char *text;

	if (!l->count)
		return;
	qsort_r(l->entries, l->count, sizeof *l->entries, by_name, l->text.data);
	entries = realloc(l->entries, l->count * sizeof *entries);
	if (entries) {
		l->entries = entries;
		l->cap = l->count;
	}
	text = realloc(l->text.data, l->text.len + 1);
	if (text) {
		l->text.data = text;
		l->text.cap = l->text.len + 1;
	}
}

size_t dirlist_count(const struct dirlist *l)
{
	return l->count;
}

struct dirlist_entry dirlist_get(const struct dirlist *l, size_t i)
{
	const struct stored *e = &l->entries[i];

	return (struct dirlist_entry){
		.name = l->text.data + e->name, .len = e->len, .ino = e->ino, .dtype = e->dtype
	};
}

const char *dirlist_name(const struct dirlist *l, size_t i)
{
	return l->text.data + l->entries[i].name;
}

size_t dirlist_write(const struct dirlist *l, const struct dirlist_entry dots[2], size_t from,
		     char *bytes, size_t size)
{
	size_t used = 0;

	for (size_t i = from; i < l->count + 2; i++) {
		const struct dirlist_entry e = i < 2 ? dots[i] : dirlist_get(l, i - 2);
		struct fuse_dirent *to = (struct fuse_dirent *)(void *)(bytes + used);
		size_t taken = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + e.len);

		if (taken > size - used)
			break;
		used += taken;
		memset(bytes + used - sizeof(uint64_t), 0, sizeof(uint64_t)); /* behind the name */
		to->ino = e.ino;
		to->off = i + 1;
		to->namelen = (uint32_t)e.len;
		to->type = e.dtype;
		memcpy(to->name, e.name, e.len);
	}
	return used;
}

ptrdiff_t dirlist_find(const struct dirlist *l, const char *name)
{
	size_t from = 0, to = l->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(dirlist_name(l, middle), name);

		if (order == 0)
			return (ptrdiff_t)middle;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return -1;
}

bool dirlist_has(const struct dirlist *l, const char *name)
{
	return dirlist_find(l, name) >= 0;
}

bool dirlist_lacks(const struct dirlist *l, const char *name)
{
	return l->unlisted == UNLISTED_DOT && name[0] != '.' && !dirlist_has(l, name);
}

void dirlist_set_unlisted(struct dirlist *l, enum dirlist_unlisted unlisted)
{
	l->unlisted = unlisted;
}

enum dirlist_unlisted dirlist_unlisted_names(const struct dirlist *l)
{
	return l->unlisted;
}

size_t dirlist_bytes(const struct dirlist *l)
{
	return sizeof *l + l->cap * sizeof *l->entries + l->text.cap;
}
