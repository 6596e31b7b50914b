/* SPDX-License-Identifier: MIT */
#include "symbol/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "symbol/symbolize_internal.h"

#define KERNEL_ADDRESS (UINT64_C(1) << 63) /* no process has code from here on */

const char *job_path(const struct job *j, uint32_t id)
{
	return profile_text(j->p, profile_get_mapping(j->p, id)->path);
}

const char *job_build_id(const struct job *j, uint32_t id)
{
	return profile_text(j->p, profile_get_mapping(j->p, id)->build_id);
}

const char *job_file(const struct job *j, uint32_t id)
{
	return j->o->files && j->o->files[id] ? j->o->files[id] : job_path(j, id);
}

/* Of the names in brackets all but these are the kernel's: itself, "[ext4]", "[bpf]".
 * "[kernel]" is that of another machine. */
static bool is_kernel(const char *path)
{
	static const char *const others[] = { "[vsyscall]", "[heap]",    "[stack", "[anon",
					      "[uprobes]",  "[unknown]", "[jit]",  "[kernel]" };

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strncmp(path, others[i], strlen(others[i])) == 0)
			return false;
	return path[0] == '[';
}

static enum source_kind kind_of(const char *path)
{
	if (strcmp(path, "[vdso]") == 0)
		return SOURCE_VDSO;
	if (path_is_perf_map(path) || path_is_jitdump(path))
		return SOURCE_PERF_MAP;
	if (is_kernel(path))
		return SOURCE_KERNEL;
	return path[0] == '[' || path[0] == '\0' || strncmp(path, "//", 2) == 0 ? SOURCE_NONE
										: SOURCE_ELF;
}

/* Processes of 64 bits have nothing but their own program, if that, below 4 GiB. */
static bool is_32bit(const struct job *j, uint32_t mapping)
{
	const struct mapping *m = profile_get_mapping(j->p, mapping);

	return m->start && m->limit <= UINT64_C(1) << 32;
}

/* Index of the source of a mapping; UINT32_MAX: out of memory. */
static uint32_t add_source(struct job *j, uint32_t mapping)
{
	struct source source = { kind_of(job_path(j, mapping)), mapping };
	size_t count = strtab_count(j->keys);
	struct buf key = { 0 };
	uint32_t id = STRTAB_NONE;

	/* That of a 32-bit program is another one than ours, at the same offsets. */
	if (source.kind == SOURCE_VDSO && is_32bit(j, mapping))
		source.kind = SOURCE_NONE;
	/* A build id alone can be enough, when the debug file is there. */
	if (!job_path(j, mapping)[0] && job_build_id(j, mapping)[0])
		source.kind = SOURCE_ELF;
	buf_put(&key, &source.kind, sizeof source.kind);
	if (source.kind == SOURCE_ELF || source.kind == SOURCE_PERF_MAP)
		buf_put_str(&key, job_file(j, mapping));
	buf_put_byte(&key, 0);
	buf_put_str(&key, job_build_id(j, mapping));
	if (buf_error(&key) == 0)
		id = strtab_intern(j->keys, key.data, key.len);
	buf_fini(&key);
	if (id == count)
		buf_put(&j->sources, &source, sizeof source);
	return buf_error(&j->sources) < 0 ? STRTAB_NONE : id;
}

static const struct source *get_source(const struct job *j, uint32_t index)
{
	return (const struct source *)(const void *)j->sources.data + index;
}

static int add_sources(struct job *j)
{
	j->mapping_count = profile_mapping_count(j->p);
	j->mapping_sources = calloc(j->mapping_count, sizeof *j->mapping_sources);
	if (!j->mapping_sources)
		return -ENOMEM;
	j->mapping_sources[0] = UINT32_MAX;
	for (uint32_t id = 1; id < j->mapping_count; id++) {
		j->mapping_sources[id] = UINT32_MAX;
		if (profile_get_mapping(j->p, id)->has_functions)
			continue;
		j->mapping_sources[id] = add_source(j, id);
		if (j->mapping_sources[id] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* false: nothing can be known about it, or all is. */
static bool make_target(const struct job *j, uint32_t location, struct target *ret)
{
	struct location l = profile_get_location(j->p, location);
	const struct mapping *m = profile_get_mapping(j->p, l.mapping);
	enum source_kind kind;

	if (l.line_count || !l.address || !l.mapping || j->mapping_sources[l.mapping] == UINT32_MAX)
		return false;
	*ret = (struct target){ j->mapping_sources[l.mapping], location, l.address };
	kind = get_source(j, ret->source)->kind;
	if (kind == SOURCE_ELF || kind == SOURCE_VDSO)
		ret->address += m->offset - m->start;
	return kind != SOURCE_NONE && (kind != SOURCE_KERNEL || l.address >= KERNEL_ADDRESS);
}

static int by_address(const void *pa, const void *pb)
{
	const struct target *a = pa, *b = pb;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->location < b->location ? -1 : a->location > b->location;
}

static int add_targets(struct job *j)
{
	size_t count = profile_location_count(j->p);

	j->targets = calloc(count, sizeof *j->targets);
	j->addresses = calloc(count, sizeof *j->addresses);
	if (!j->targets || !j->addresses)
		return -ENOMEM;
	for (uint32_t id = 1; id < count; id++)
		j->target_count += make_target(j, id, &j->targets[j->target_count]);
	qsort(j->targets, j->target_count, sizeof *j->targets, by_address);
	return 0;
}

size_t job_addresses(struct job *j, const struct target *targets, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (n == 0 || j->addresses[n - 1] != targets[i].address)
			j->addresses[n++] = targets[i].address;
	return n;
}

void job_mark(struct job *j, uint32_t location, bool has_lines, bool has_inlines)
{
	uint32_t id = profile_get_location(j->p, location).mapping;
	struct mapping m = *profile_get_mapping(j->p, id);

	m.has_functions = true;
	m.has_filenames |= has_lines;
	m.has_line_numbers |= has_lines;
	m.has_inline_frames |= has_inlines;
	profile_set_mapping(j->p, id, &m);
}

void job_set_name(struct job *j, uint32_t location, const char *name)
{
	uint32_t text = profile_str(j->p, name);
	struct function function = { .name = text, .system_name = text };
	struct line line = { .function = profile_add_function(j->p, &function) };

	profile_set_lines(j->p, location, &line, 1);
	job_mark(j, location, false, false);
}

size_t job_index(const struct job *j, size_t i, const struct target *target)
{
	return j->addresses[i] == target->address ? i : i + 1;
}

int job_report_reason(const struct job *j, const char *path)
{
	/* A file that is not there is common: profiles travel. Of storage that does not reply the
	 * user knows (storage_open.h). */
	bool is_known = j->e->code == -ENOENT || j->e->code == -ENOEXEC || j->e->code == -EINVAL ||
			j->e->code == -ETIMEDOUT;
	enum log_level level = is_known ? LOG_INFO : LOG_WARN;

	if (j->e->code == -ENOMEM)
		return -ENOMEM;
	log_msg(level, "symbol", "%s: no names: %s", path, j->e->msg);
	*j->e = (struct err){ 0 };
	return 0;
}

static int name_targets(struct job *j, const struct target *targets, size_t count)
{
	struct source source = *get_source(j, targets[0].source);

	switch (source.kind) {
	case SOURCE_ELF:
	case SOURCE_VDSO:
		return job_name_elf(j, &source, targets, count);
	case SOURCE_KERNEL:
		return job_name_kernel(j, &source, targets, count);
	case SOURCE_PERF_MAP:
		return job_name_perf_map(j, &source, targets, count);
	case SOURCE_NONE:
		break;
	}
	return 0;
}

static int run(struct job *j)
{
	size_t end;
	int rc;

	if (add_sources(j) < 0 || add_targets(j) < 0)
		return err_nomem(j->e);
	for (size_t i = 0; i < j->target_count; i = end) {
		for (end = i;
		     end < j->target_count && j->targets[end].source == j->targets[i].source;)
			end++;
		rc = name_targets(j, j->targets + i, end - i);
		if (rc < 0)
			return rc;
	}
	return profile_check(j->p, j->e);
}

int profile_symbolize(struct profile *p, const struct symbolize_opts *o, struct err *e)
{
	struct job j = { .p = p, .o = o, .keys = strtab_new(), .e = e };
	int rc = j.keys ? run(&j) : err_nomem(e);

	naming_end(&j.naming);
	if (j.keys)
		strtab_free(j.keys);
	buf_fini(&j.sources);
	free(j.mapping_sources);
	free(j.targets);
	free(j.addresses);
	return rc;
}
