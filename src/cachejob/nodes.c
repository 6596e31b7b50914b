/* SPDX-License-Identifier: MIT */
#include "cachejob/nodes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/str.h"

#define SUFFIX "-node.json"
#define FILE_MAX (64 << 10) /* of a node, which writes some KiB */

struct member {
	const char *key;
	size_t offset, size; /* size: of a text; 0: a number */
};

#define NUMBER(name)                                         \
	{                                                    \
#name, offsetof(struct node_report, name), 0 \
	}
#define TEXT(name)                                                                                 \
	{                                                                                          \
#name, offsetof(struct node_report, name), sizeof(((struct node_report *)0)->name) \
	}

static const struct member members[] = {
	TEXT(host),
	TEXT(launch),
	TEXT(view),
	TEXT(target),
	TEXT(transport),
	NUMBER(rank),
	NUMBER(ranks),
	NUMBER(pid),
	NUMBER(written_ns),
	NUMBER(requests),
	NUMBER(hits),
	NUMBER(misses),
	NUMBER(failed),
	NUMBER(read_bytes),
	NUMBER(wait_ns),
	NUMBER(used_bytes),
	NUMBER(budget_bytes),
	NUMBER(storage_requests),
	NUMBER(storage_bytes),
	NUMBER(peer_requests),
	NUMBER(peer_bytes),
	NUMBER(sent_bytes),
	NUMBER(received_bytes),
	NUMBER(connected),
	NUMBER(connection_losses),
	NUMBER(lost_peers),
	NUMBER(rerouted),
	NUMBER(errors),
	NUMBER(refused),
	NUMBER(replayed),
	NUMBER(join_ns),
	NUMBER(first_answer_ns),
};

static const struct member level_members[] = {
	{ "requests", offsetof(struct node_level, requests), 0 },
	{ "bytes", offsetof(struct node_level, bytes), 0 },
	{ "wait_ns", offsetof(struct node_level, wait_ns), 0 },
	{ "longest_ns", offsetof(struct node_level, longest_ns), 0 },
	{ "served", offsetof(struct node_level, served), 0 },
	{ "hits", offsetof(struct node_level, hits), 0 },
};

static int take_text(struct json *j, char *to, size_t size)
{
	struct json_text text = json_string(j);
	CLEANUP(buf_fini) struct buf plain = { 0 };

	if (!text.ptr)
		return 0; /* no string: json_end() fails */
	json_unescape(text, &plain);
	if (buf_error(&plain) < 0)
		return -ENOMEM;
	if (plain.len < size) {
		memcpy(to, plain.data ? plain.data : "", plain.len);
		to[plain.len] = '\0';
	}
	return 0;
}

static void take_number(struct json *j, int64_t *to)
{
	int64_t value;

	if (json_scale(json_number(j), 0, &value) && value >= 0)
		*to = value;
}

static int take_member(struct json *j, const struct json_text *key, const struct member *list,
		       size_t count, void *to)
{
	for (size_t i = 0; i < count; i++) {
		if (!json_equals(key, list[i].key))
			continue;
		if (list[i].size)
			return take_text(j, (char *)to + list[i].offset, list[i].size);
		take_number(j, (void *)((char *)to + list[i].offset));
		return 0;
	}
	json_skip(j);
	return 0;
}

static void take_levels(struct json *j, struct node_report *ret)
{
	struct json_list all = json_array(j);

	for (size_t i = 0; json_item(j, &all); i++) {
		struct json_list one;
		struct json_text key;

		if (i >= NODE_LEVELS) {
			json_skip(j);
			continue;
		}
		one = json_object(j);
		while (json_member(j, &one, &key))
			(void)!take_member(j, &key, level_members, ARRAY_LEN(level_members),
					   &ret->levels[i]); /* numbers only */
	}
}

int node_report_read(const char *text, size_t len, struct node_report *ret)
{
	struct json j = json_begin(text, len);
	struct json_list o = json_object(&j);
	struct json_text key;
	int rc = 0;

	*ret = (struct node_report){ .rank = -1 };
	while (rc == 0 && json_member(&j, &o, &key)) {
		if (json_equals(&key, "levels")) {
			take_levels(&j, ret);
		} else if (json_equals(&key, "state")) {
			struct json_text state = json_string(&j);

			ret->has_ended = json_equals(&state, "ended");
		} else {
			rc = take_member(&j, &key, members, ARRAY_LEN(members), ret);
		}
	}
	if (rc < 0)
		return rc;
	return json_end(&j) && ret->rank >= 0 && ret->rank < ret->ranks ? 0 : -EINVAL;
}

void nodes_list_fini(struct nodes_list *n)
{
	free(n->list);
	*n = (struct nodes_list){ 0 };
}

static int add(struct nodes_list *n, const struct node_report *r, struct err *e)
{
	if (n->count == n->cap) {
		size_t cap = n->cap ? 2 * n->cap : 16;
		struct node_report *list = realloc(n->list, cap * sizeof *list);

		if (!list)
			return err_nomem(e);
		n->list = list;
		n->cap = cap;
	}
	n->list[n->count++] = *r;
	return 0;
}

/* A file may be replaced while it is read: a new one counts next time. */
static int read_one(int folder, const char *name, struct nodes_list *n, struct err *e)
{
	CLEANUP(fd_close)
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct node_report r;
	struct err why = { 0 };
	int rc = fd < 0 ? -EINVAL : file_read(fd, name, FILE_MAX, &text, &why);

	if (rc == 0)
		rc = text.data ? node_report_read(text.data, strnlen(text.data, text.len), &r)
			       : -EINVAL;
	if (rc == -ENOMEM)
		return err_nomem(e);
	if (rc < 0) {
		n->bad++;
		return 0;
	}
	return add(n, &r, e);
}

static int by_rank(const void *a, const void *b)
{
	const struct node_report *one = a, *two = b;

	return one->rank < two->rank ? -1 : one->rank > two->rank;
}

/* Removes what is of another launch. */
static void keep_launch(struct nodes_list *n, const char *launch)
{
	const struct node_report *latest = NULL;
	char name[sizeof latest->launch] = "";
	size_t kept = 0;

	for (size_t i = 0; i < n->count; i++)
		if (!latest || n->list[i].written_ns > latest->written_ns)
			latest = &n->list[i];
	if (!launch && latest)
		memcpy(name, latest->launch, sizeof name);
	for (size_t i = 0; i < n->count; i++)
		if (strcmp(n->list[i].launch, launch ? launch : name) == 0)
			n->list[kept++] = n->list[i];
	n->count = kept;
	if (n->count)
		qsort(n->list, n->count, sizeof *n->list, by_rank);
}

int nodes_list_read(const char *job, const char *launch, struct nodes_list *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct nodes_list n = { 0 };
	const struct dirent *entry;
	DIR *dir;
	int rc = 0;

	buf_printf(&path, "%s/logs", job);
	if (buf_error(&path) < 0)
		return err_nomem(e);
	dir = opendir(path.data);
	if (!dir)
		return err_errno(e, "%s", path.data);
	while (rc == 0 && (entry = readdir(dir)))
		if (text_ends_with(entry->d_name, SUFFIX))
			rc = read_one(dirfd(dir), entry->d_name, &n, e);
	closedir(dir);
	if (rc < 0) {
		nodes_list_fini(&n);
		return rc;
	}
	keep_launch(&n, launch);
	*ret = n;
	return 0;
}
