/* SPDX-License-Identifier: MIT */
#include "target/procio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* The number behind the key, which begins a line. */
static int64_t number_after(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strncmp(at, key, len) == 0)
			return strtoll(at + len, NULL, 10);
	return 0;
}

int64_t procio_read(const char *process, struct procio *ret)
{
	char path[64], text[512];

	snprintf(path, sizeof path, "/proc/%s/io", process);
	*ret = (struct procio){ .has_value = file_read_start(path, text, sizeof text) > 0 };
	if (!ret->has_value)
		return 0;
	ret->read_chars = number_after(text, "rchar:");
	ret->write_chars = number_after(text, "wchar:");
	ret->read_calls = number_after(text, "syscr:");
	ret->write_calls = number_after(text, "syscw:");
	ret->read_bytes = number_after(text, "read_bytes:");
	ret->write_bytes = number_after(text, "write_bytes:");
	return (int64_t)strlen(text);
}
