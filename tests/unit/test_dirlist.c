/* SPDX-License-Identifier: MIT */
#include "cachefs/store/dirlist.h"

#include <dirent.h>
#include <errno.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static const struct dirlist_entry dots[2] = {
	{ .name = ".", .len = 1, .ino = 7, .dtype = DT_DIR },
	{ .name = "..", .len = 2, .ino = 5, .dtype = DT_DIR },
};

/* Names of 1 to 40 bytes, in order: "a", "aa", ... */
static struct dirlist *listing_of(size_t count)
{
	struct dirlist *l = dirlist_new();
	char name[64] = "";

	for (size_t i = 0; l && i < count; i++) {
		name[i % 40] = 'a';
		name[i % 40 + 1] = '\0';
		if (dirlist_add(l, name, 100 + i, i % 2 ? DT_REG : DT_LNK) < 0)
			exit(1);
	}
	if (!l)
		exit(1);
	dirlist_seal(l);
	return l;
}

/* True: an entry of the stream at *at, which moves on, is number i of the listing. */
static bool is_entry(const struct dirlist *l, size_t i, const char *bytes, size_t *at)
{
	struct dirlist_entry want = i < 2 ? dots[i] : dirlist_get(l, i - 2);
	struct fuse_dirent got;
	const char *name = bytes + *at + FUSE_NAME_OFFSET;
	bool is_clean = true;

	memcpy(&got, bytes + *at, FUSE_NAME_OFFSET);
	*at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + want.len);
	for (const char *end = name + want.len; end < bytes + *at; end++)
		is_clean &= *end == '\0';
	return is_clean && got.ino == want.ino && got.off == i + 1 && got.namelen == want.len &&
	       got.type == want.dtype && memcmp(name, want.name, want.len) == 0;
}

/* Asked for in parts, as the kernel does, everything comes once, and no byte more is written. */
static void test_write(void)
{
	static const size_t rooms[] = { 72, 80, 96, 200, 4096 };
	struct dirlist *l = listing_of(40);

	for (size_t r = 0; r < ARRAY_LEN(rooms); r++) {
		char *bytes = malloc(rooms[r]);
		size_t i = 0;

		for (size_t used = 1; bytes && used;) {
			size_t at = 0;

			memset(bytes, 'x', rooms[r]);
			used = dirlist_write(l, dots, i, bytes, rooms[r]);
			for (; at < used; i++)
				if (!CHECK(is_entry(l, i, bytes, &at)))
					return;
			CHECK_INT(at, used);
			for (; at < rooms[r]; at++)
				CHECK(bytes[at] == 'x');
		}
		CHECK_INT(i, 42);
		free(bytes);
	}
	dirlist_unref(l);
}

static void test_bounds(void)
{
	struct dirlist *l = listing_of(3);
	static uint64_t room[8];
	char *bytes = (char *)room;

	CHECK_INT(dirlist_write(l, dots, 5, bytes, sizeof room), 0);
	CHECK_INT(dirlist_write(l, dots, SIZE_MAX, bytes, sizeof room), 0);
	CHECK_INT(dirlist_write(l, dots, 0, bytes, 31), 0);
	CHECK_INT(dirlist_write(l, dots, 0, bytes, 32), 32);
	CHECK_INT(dirlist_write(l, dots, 0, bytes, 0), 0);
	dirlist_unref(l);
}

static void test_names(void)
{
	struct dirlist *l = dirlist_new();
	char *name = malloc(UINT16_MAX + 2);

	if (!l || !name)
		exit(1);
	memset(name, 'n', UINT16_MAX + 1);
	name[UINT16_MAX + 1] = '\0';
	CHECK_INT(dirlist_add(l, name, 1, DT_REG), -EOVERFLOW);
	name[UINT16_MAX] = '\0';
	CHECK_INT(dirlist_add(l, name, 1, DT_REG), 0);
	CHECK_INT(dirlist_add(l, "b", 2, DT_DIR), 0);
	dirlist_seal(l);
	CHECK_INT(dirlist_count(l), 2);
	CHECK_STR(dirlist_get(l, 0).name, "b");
	CHECK_INT(dirlist_get(l, 1).len, UINT16_MAX);
	CHECK(dirlist_has(l, name));
	CHECK(!dirlist_has(l, "c"));
	free(name);
	dirlist_unref(l);
}

int main(void)
{
	TAP_CASE(test_write);
	TAP_CASE(test_bounds);
	TAP_CASE(test_names);
	return tap_done();
}
