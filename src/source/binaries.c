/* SPDX-License-Identifier: MIT */
#include "source/binaries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/elf_image.h"
#include "base/number.h"
#include "base/path.h"
#include "format/akaros/akaros.h"
#include "symbol/elf/debuginfod.h"
#include "symbol/symbolize.h"

#define NAMED_BY_KALLSYMS "[kernel.kallsyms]"

/* A file of --binary. */
struct binary {
	struct buf path;
	bool has_address;
	uint64_t address;
	struct elf_image image;
};

struct job {
	struct profile *p;
	struct binary *binaries; /* [count] */
	size_t count;
	char **files; /* [mapping_count]: what to open; owned */
	size_t mapping_count;
	struct err *e;
};

static void job_fini(struct job *j)
{
	for (size_t i = 0; j->binaries && i < j->count; i++) {
		elf_image_close(&j->binaries[i].image);
		buf_fini(&j->binaries[i].path);
	}
	for (size_t i = 0; j->files && i < j->mapping_count; i++)
		free(j->files[i]);
	free(j->binaries);
	free(j->files);
}

/* "FILE@ADDRESS"; a file whose own name has an '@' and no number behind it is one. */
static void split(const char *text, struct binary *ret)
{
	const char *at = strrchr(text, '@');
	char *end;

	if (at && number_is_digit(at[1])) {
		errno = 0;
		ret->address = strtoull(at + 1, &end, 16);
		ret->has_address = !*end && !errno;
	}
	buf_put(&ret->path, text, ret->has_address ? (size_t)(at - text) : strlen(text));
}

static int open_binaries(struct job *j, const struct opt_list *list)
{
	j->binaries = calloc(list->count + 1, sizeof *j->binaries);
	if (!j->binaries)
		return err_nomem(j->e);
	for (size_t i = 0; i < list->count; i++) {
		struct binary *b = &j->binaries[i];

		j->count = i + 1;
		split(list->items[i], b);
		if (buf_error(&b->path) < 0)
			return err_nomem(j->e);
		if (elf_image_open(&b->image, b->path.len ? b->path.data : "", j->e) < 0)
			return err_wrap(j->e, "--binary: %s", list->items[i]);
	}
	return 0;
}

/* What is to be added to the file's addresses to have those of the trace. */
static uint64_t bias_of(const struct binary *b)
{
	for (uint32_t i = 0; b->has_address && i < b->image.phnum; i++) {
		struct elf_segment s = elf_get_segment(&b->image, i);

		if (s.type == PT_LOAD)
			return b->address - (s.vaddr - s.offset);
	}
	return 0;
}

/* Is the file of --binary meant for this mapping? */
static bool is_named_so(const struct binary *b, const char *path)
{
	const char *file = b->path.data;

	return strcmp(file, path) == 0 ||
	       (path[0] == '/' && strcmp(path_base(file), path_base(path)) == 0);
}

/*
 * May the location become one of b's? It has no name and no mapping, or is_offset: it has a mapping
 * of b's name without a place, as those of perf script have; then its address is a file offset.
 */
static bool is_free(const struct profile *p, const struct location *l, const struct binary *b,
		    bool is_offset)
{
	const struct mapping *m = profile_get_mapping(p, l->mapping);
	const char *path = profile_text(p, m->path);

	if (!l->address || l->line_count)
		return false;
	if (!m->limit && l->mapping && is_named_so(b, path))
		return true;
	return !is_offset && (!l->mapping || strcmp(path, AKAROS_KERNEL) == 0);
}

static bool is_in(const struct location *l, const struct mapping *m)
{
	return l->address >= m->start && l->address < m->limit;
}

static void take_locations(struct profile *p, const struct mapping *m, const struct binary *b,
			   bool is_offset)
{
	uint32_t id = 0;

	for (uint32_t i = 1; i < profile_location_count(p); i++) {
		struct location l = profile_get_location(p, i);

		if (!is_free(p, &l, b, is_offset) || !is_in(&l, m))
			continue;
		id = id ? id : profile_add_mapping(p, m);
		profile_set_location_mapping(p, i, id);
	}
}

static void place_segment(struct profile *p, const struct binary *b, struct elf_segment s,
			  struct mapping m)
{
	uint64_t bias = bias_of(b);

	m.start = m.offset = s.offset;
	if (!b->has_address && !__builtin_add_overflow(m.start, s.file_size, &m.limit))
		take_locations(p, &m, b, true);
	m.start = s.vaddr + bias;
	if (!__builtin_add_overflow(m.start, s.mem_size, &m.limit))
		take_locations(p, &m, b, false);
}

static void place_binary(struct profile *p, const struct binary *b)
{
	struct mapping m = { .path = profile_str_n(p, b->path.data, b->path.len) };
	char build_id[ELF_BUILD_ID_HEX];

	elf_build_id(&b->image, build_id);
	m.build_id = profile_str(p, build_id);
	for (uint32_t i = 0; i < b->image.phnum; i++) {
		struct elf_segment s = elf_get_segment(&b->image, i);

		if (s.type == PT_LOAD && s.is_executable)
			place_segment(p, b, s, m);
	}
}

/* The file for a mapping; "": it does not exist. NULL: the user named none. */
static const char *file_for(const struct job *j, const char *path, bool is_foreign)
{
	for (size_t i = 0; i < j->count; i++)
		if (is_named_so(&j->binaries[i], path))
			return j->binaries[i].path.data;
	return is_foreign ? "" : NULL;
}

static int choose_files(struct job *j, bool is_foreign)
{
	j->mapping_count = profile_mapping_count(j->p);
	j->files = calloc(j->mapping_count, sizeof *j->files);
	if (!j->files)
		return err_nomem(j->e);
	for (uint32_t id = 1; id < j->mapping_count; id++) {
		const struct mapping *m = profile_get_mapping(j->p, id);
		const char *file = file_for(j, profile_text(j->p, m->path), is_foreign);

		j->files[id] = file ? strdup(file) : NULL;
		if (file && !j->files[id])
			return err_nomem(j->e);
	}
	return 0;
}

static int check_kallsyms(const char *path, struct err *e)
{
	return access(path, R_OK) == 0 ? 0 : err_errno(e, "--kallsyms: %s", path);
}

/* The kernel of the trace gets the name under which kallsyms are looked up. */
static void name_kernel(struct profile *p)
{
	for (uint32_t id = 1; id < profile_mapping_count(p); id++) {
		struct mapping m = *profile_get_mapping(p, id);

		if (strcmp(profile_text(p, m.path), AKAROS_KERNEL) != 0)
			continue;
		m.path = profile_str(p, NAMED_BY_KALLSYMS);
		profile_set_mapping(p, id, &m);
	}
}

static int run(struct job *j, const struct binaries_args *args, bool is_foreign)
{
	struct symbolize_opts o = { .kallsyms = args->kallsyms };
	int rc = open_binaries(j, &args->binaries);

	if (rc == 0 && args->debuginfod)
		debuginfod_set_urls(args->debuginfod);
	if (rc == 0 && args->kallsyms)
		rc = check_kallsyms(args->kallsyms, j->e);
	for (size_t i = 0; rc == 0 && i < j->count; i++)
		place_binary(j->p, &j->binaries[i]);
	if (rc == 0 && args->kallsyms)
		name_kernel(j->p);
	if (rc == 0)
		rc = profile_check(j->p, j->e);
	if (rc == 0)
		rc = choose_files(j, is_foreign);
	o.files = (const char *const *)j->files;
	return rc < 0 ? rc : profile_symbolize(j->p, &o, j->e);
}

int binaries_name(struct profile *p, const struct binaries_args *args, bool is_foreign,
		  struct err *e)
{
	struct job j = { .p = p, .e = e };
	int rc = run(&j, args, is_foreign);

	job_fini(&j);
	return rc;
}
