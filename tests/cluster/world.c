/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		abort();
	return memory;
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void world_make(struct sim *s)
{
	const struct sim_config *c = &s->config;
	struct world *w = &s->world;

	w->folders = c->folders;
	w->files = c->folders * c->files;
	w->change_count = zeroed(w->files, sizeof(*w->change_count));
	w->changes = zeroed((size_t)w->files * MAX_CHANGES, sizeof(*w->changes));
	w->paths = zeroed(w->files, sizeof(*w->paths));
	w->folder_paths = zeroed(w->folders, sizeof(*w->folder_paths));
	for (uint32_t i = 0; i < w->folders; i++)
		snprintf(w->folder_paths[i], sizeof(w->folder_paths[i]), "d%u", i % 100000);
	for (uint32_t i = 0; i < w->files; i++)
		snprintf(w->paths[i], sizeof(w->paths[i]), "d%u/f%u", i / c->files % 100000,
			 i % c->files % 100000);
	for (uint32_t i = 0; i < c->changes; i++) {
		uint32_t file = (uint32_t)sim_random(s, w->files);
		int64_t *changes = w->changes + (size_t)file * MAX_CHANGES;
		uint32_t *count = w->change_count + file;

		if (*count == MAX_CHANGES)
			continue;
		changes[(*count)++] = (int64_t)sim_random(s, (uint64_t)c->fault_ns) + 1;
		qsort(changes, *count, sizeof(*changes), compare_times);
	}
}

void world_free(struct world *w)
{
	free(w->change_count);
	free(w->changes);
	free(w->paths);
	free(w->folder_paths);
}

bool world_parse(const struct world *w, struct str path, uint32_t *ret_folder, uint32_t *ret_file)
{
	uint32_t numbers[2] = { 0, 0 }, parts = 0;

	for (size_t i = 0; i < path.len; i++) {
		if (path.ptr[i] == 'd' || path.ptr[i] == 'f')
			parts++;
		else if (path.ptr[i] != '/')
			numbers[parts - 1] =
				numbers[parts - 1] * 10 + (uint32_t)(path.ptr[i] - '0');
	}
	*ret_folder = numbers[0];
	*ret_file = numbers[0] * (w->files / w->folders) + numbers[1];
	return parts == 2;
}

uint32_t world_version(const struct world *w, uint32_t file, int64_t at)
{
	uint32_t version = 1;

	for (uint32_t i = 0; i < w->change_count[file]; i++)
		version += w->changes[(size_t)file * MAX_CHANGES + i] <= at;
	return version;
}

bool world_is_absent(const struct sim *s, uint32_t file, uint32_t version)
{
	return !s->config.chunks && (file * 7 + version * 3) % 11 == 0;
}

uint32_t world_chunks(const struct sim *s, uint32_t file, uint32_t version)
{
	return s->config.chunks ? s->config.chunks : (file + version) % 7;
}

struct file_attr world_attr(const struct sim *s, uint32_t file, uint32_t version, int64_t at)
{
	return (struct file_attr){
		.identity = { .fs = 1,
			      .ino = file + 1,
			      .ctime_ns = version,
			      .size = world_chunks(s, file, version) },
		.mode = 0100644,
		.links = 1,
		.atime_ns = at, /* so that each answer shows how old it really is */
	};
}

void world_content(unsigned char ret[32], enum wire_op op, uint32_t file, uint32_t version,
		   uint32_t chunk, int64_t at)
{
	uint32_t words[4] = { (uint32_t)op, file, version, chunk };

	memset(ret, 0, 32);
	memcpy(ret, words, sizeof(words));
	memcpy(ret + 16, &at, sizeof(at));
}

struct wire_body world_body(const struct sim *s, const unsigned char content[32])
{
	return (struct wire_body){ .bytes = content,
				   .len = s->config.chunk_bytes ? s->config.chunk_bytes : 32 };
}

static void read_folder(struct sim *s, uint32_t folder, int64_t at, struct buf *ret)
{
	uint32_t files = s->world.files / s->world.folders;

	for (uint32_t i = 0; i < files; i++) {
		uint32_t file = folder * files + i;
		uint32_t version = world_version(&s->world, file, at);
		struct file_attr attr = world_attr(s, file, version, at);
		const char *name = strchr(s->world.paths[file], '/') + 1;

		if (!world_is_absent(s, file, version))
			wire_put_entry(ret, (struct str){ name, strlen(name) }, &attr);
	}
}

void world_read(struct sim *s, const struct wire_key *key, int64_t at, struct protocol_answer *ret,
		unsigned char ret_content[32], struct buf *ret_body)
{
	uint32_t folder, file, version;
	bool is_file = world_parse(&s->world, key->path, &folder, &file);

	*ret = (struct protocol_answer){ .has_attr = true };
	if (!is_file) {
		ret->attr = (struct file_attr){ .identity = { 1, folder + 1000000, 1, 0 },
						.mode = 040755,
						.atime_ns = at };
		read_folder(s, folder, at, ret_body);
		ret->body = (struct wire_body){ .bytes = ret_body->data,
						.len = (uint32_t)ret_body->len };
		return;
	}
	version = world_version(&s->world, file, at);
	ret->attr = world_attr(s, file, version, at);
	if (world_is_absent(s, file, version)) {
		ret->rc = -ENOENT;
		return;
	}
	if (key->op == WIRE_GETATTR)
		return;
	if (key->op == WIRE_CHUNK && file_identity_is_known(&key->identity) &&
	    !file_identity_equals(&key->identity, &ret->attr.identity)) {
		ret->rc = -ESTALE;
		return;
	}
	world_content(ret_content, key->op, file, version, key->chunk, at);
	ret->has_attr = key->op != WIRE_CHUNK;
	ret->body = world_body(s, ret_content);
}

size_t world_key_count(const struct sim *s)
{
	return s->world.folders + (size_t)s->world.files * (3 + s->max_chunks);
}

size_t world_key_index(const struct sim *s, const struct wire_key *key)
{
	uint32_t folder, file;
	size_t base = s->world.folders;

	if (!world_parse(&s->world, key->path, &folder, &file))
		return folder;
	base += (size_t)file * (3 + s->max_chunks);
	if (key->op == WIRE_CHUNK)
		return base + 3 + key->chunk;
	return base + (key->op == WIRE_READLINK) + 2 * (size_t)(key->op == WIRE_XATTRS);
}
