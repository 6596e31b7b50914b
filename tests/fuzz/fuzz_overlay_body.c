/* SPDX-License-Identifier: MIT */
/* Bodies of other nodes: a listing that is accepted is written back, and read back equal. */
#include <string.h>

#include "cachefs/overlay/bodies.h"
#include "fuzz.h"

static void check_equal(const struct dirlist *a, const struct dirlist *b)
{
	FUZZ_CHECK(dirlist_count(a) == dirlist_count(b));
	for (size_t i = 0; i < dirlist_count(a); i++)
		FUZZ_CHECK(strcmp(dirlist_name(a, i), dirlist_name(b, i)) == 0);
}

static void try_listing(const uint8_t *data, size_t size)
{
	struct listing_attrs attrs = { 0 }, again_attrs = { 0 };
	struct dirlist *l, *again;
	struct buf body = { 0 };

	if (listing_read(data, size, &l, &attrs) < 0)
		return;
	if (listing_write(l, &attrs, &body) == 0) {
		FUZZ_CHECK(listing_read(body.data, body.len, &again, &again_attrs) == 0);
		check_equal(l, again);
		dirlist_unref(again);
	}
	dirlist_unref(l);
	listing_attrs_fini(&attrs);
	listing_attrs_fini(&again_attrs);
	buf_fini(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = { 0 };

	try_listing(data, size);
	(void)!xattrs_read(data, size, NULL, &out);
	(void)!xattrs_read(data, size, "user.a", &out);
	buf_fini(&out);
	return 0;
}
