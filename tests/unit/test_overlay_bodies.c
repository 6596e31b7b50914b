/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>

#include "cachefs/overlay/bodies.h"
#include "cachefs/overlay/xattr_table.h"
#include "tap.h"

static const struct stat one = {
	.st_dev = UINT64_MAX - 1,
	.st_ino = UINT64_MAX,
	.st_mode = S_IFREG | 0640,
	.st_nlink = 3,
	.st_uid = 1000,
	.st_gid = UINT32_MAX - 1,
	.st_size = (off_t)1 << 50,
	.st_blocks = 7,
	.st_blksize = 4096,
	.st_mtim = { .tv_sec = -2, .tv_nsec = 1 },
	.st_ctim = { .tv_sec = 1700000000, .tv_nsec = 999999999 },
};

static bool is_equal(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode &&
	       a->st_nlink == b->st_nlink && a->st_uid == b->st_uid && a->st_gid == b->st_gid &&
	       a->st_rdev == b->st_rdev && a->st_size == b->st_size &&
	       a->st_blocks == b->st_blocks && a->st_blksize == b->st_blksize &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void test_attr(void)
{
	struct file_attr attr = attr_of(&one);
	struct file_identity identity = identity_of(&one);
	struct stat back = stat_of(&attr), part = stat_of_identity(&identity);

	CHECK(is_equal(&back, &one));
	CHECK(file_identity_equals(&identity, &attr.identity));
	CHECK(part.st_ino == one.st_ino && part.st_dev == one.st_dev &&
	      part.st_size == one.st_size && part.st_ctim.tv_nsec == one.st_ctim.tv_nsec);
	back.st_ctim.tv_sec = INT64_MAX; /* beyond what has nanoseconds in 64 bits */
	CHECK(identity_of(&back).ctime_ns == INT64_MAX);
}

static struct dirlist *make_listing(void)
{
	struct dirlist *l = dirlist_new();

	if (!l)
		return NULL;
	CHECK_INT(dirlist_add(l, "b", 2, 8), 0);
	CHECK_INT(dirlist_add(l, "a", 1, 4), 0);
	CHECK_INT(dirlist_add(l, "c", 3, 10), 0);
	dirlist_set_dot(l, 0, 77);
	dirlist_set_dot(l, 1, 78);
	dirlist_set_unlisted(l, UNLISTED_ANY);
	dirlist_seal(l);
	return l;
}

static void test_listing(void)
{
	CLEANUP(listing_attrs_fini) struct listing_attrs attrs = { 0 }, got_attrs = { 0 };
	CLEANUP(buf_fini) struct buf body = { 0 };
	struct dirlist *l = make_listing(), *got = NULL;

	if (!l || !CHECK_INT(listing_attrs_init(&attrs, 2), 0))
		return;
	attrs.attrs[1] = one;
	attrs.codes[1] = 0; /* of "b" */
	CHECK_INT(listing_write(l, &attrs, &body), 0);
	if (CHECK_INT(listing_read(body.data, body.len, &got, &got_attrs), 0)) {
		CHECK_INT(dirlist_count(got), 3);
		CHECK_STR(dirlist_name(got, 2), "c");
		CHECK_INT(dirlist_get(got, 0).ino, 1);
		CHECK_INT(dirlist_get(got, 0).dtype, 4);
		CHECK_INT(dirlist_get(got, 2).dtype, 10);
		CHECK_INT(dirlist_dot(got, 0), 77);
		CHECK_INT(dirlist_dot(got, 1), 78);
		CHECK_INT(dirlist_unlisted_names(got), UNLISTED_ANY);
		CHECK(got_attrs.codes[0] < 0 && got_attrs.codes[1] == 0 && got_attrs.codes[2] < 0);
		CHECK(is_equal(&got_attrs.attrs[1], &one));
		dirlist_unref(got);
	}
	for (size_t len = 0; len < body.len; len++) { /* cut anywhere: refused, or fewer names */
		struct listing_attrs cut = { 0 };

		if (listing_read(body.data, len, &got, &cut) == 0) {
			CHECK(dirlist_count(got) < 3);
			dirlist_unref(got);
		}
		listing_attrs_fini(&cut);
	}
	dirlist_unref(l);
}

static void test_xattrs(void)
{
	CLEANUP(buf_fini) struct buf body = { 0 }, got = { 0 };

	wire_put_xattr(&body, (struct str){ "user.a", 6 }, (struct str){ "one", 3 });
	wire_put_xattr(&body, (struct str){ "user.b", 6 }, (struct str){ "", 0 });
	CHECK_INT(xattrs_read(body.data, body.len, NULL, &got), 0);
	CHECK(got.len == 14 && memcmp(got.data, "user.a\0user.b", 14) == 0);
	buf_clear(&got);
	CHECK_INT(xattrs_read(body.data, body.len, "user.a", &got), 0);
	CHECK(got.len == 3 && memcmp(got.data, "one", 3) == 0);
	buf_clear(&got);
	CHECK_INT(xattrs_read(body.data, body.len, "user.b", &got), 0);
	CHECK_INT(got.len, 0);
	CHECK_INT(xattrs_read(body.data, body.len, "user.c", &got), -ENODATA);
	CHECK_INT(xattrs_read(body.data, body.len - 1, "user.c", &got), -EPROTO);
	CHECK_INT(xattrs_read(NULL, 0, NULL, &got), 0);
}

static void test_table(void)
{
	struct xattr_table *t = xattr_table_new();
	struct str path = { "a/b", 3 }, other = { "a/c", 3 }, body;
	char large[5000] = "";
	int64_t read_ns;

	if (!t)
		return;
	CHECK(!xattr_table_get(t, path, &body, &read_ns));
	xattr_table_put(t, path, (struct str){ "x", 1 }, 5);
	CHECK(xattr_table_get(t, path, &body, &read_ns) && body.len == 1 && read_ns == 5);
	xattr_table_put(t, path, (struct str){ NULL, 0 }, 6);
	CHECK(xattr_table_get(t, path, &body, &read_ns) && body.len == 0 && read_ns == 6);
	CHECK(!xattr_table_get(t, other, &body, &read_ns));
	xattr_table_put(t, path, (struct str){ large, sizeof large }, 7);
	CHECK(!xattr_table_get(t, path, &body, &read_ns));
	xattr_table_free(t);
}

int main(void)
{
	TAP_CASE(test_attr);
	TAP_CASE(test_listing);
	TAP_CASE(test_xattrs);
	TAP_CASE(test_table);
	return tap_done();
}
