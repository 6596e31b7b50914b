/* SPDX-License-Identifier: MIT */
#include "base/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void rows_fini(struct rows *r)
{
	free(r->data);
	*r = (struct rows){ 0 };
}

int rows_reserve(struct rows *r, size_t cap, size_t row_bytes)
{
	void *data;

	if (cap <= r->cap)
		return 0;
	data = reallocarray(r->data, cap, row_bytes);
	if (!data)
		return -ENOMEM;
	r->data = data;
	r->cap = cap;
	return 0;
}

void *rows_add(struct rows *r, size_t row_bytes)
{
	char *row;

	if (r->count == r->cap && rows_reserve(r, r->cap ? r->cap + r->cap / 2 : 16, row_bytes) < 0)
		return NULL;
	row = (char *)r->data + r->count++ * row_bytes;
	return memset(row, 0, row_bytes);
}
