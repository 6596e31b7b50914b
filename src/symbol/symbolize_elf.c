/* SPDX-License-Identifier: MIT */
#include "symbol/symbolize_internal.h"

#include <stdlib.h>

#include "symbol/symbol_file.h"

/* Functions of one file as the profile knows them. */
struct adopted {
	struct job *job;
	const struct symbol_file *file;
	uint32_t *ids; /* [function count of the file]: 0: not yet */
};

static uint32_t adopt_function(struct adopted *a, uint32_t id)
{
	struct symbol_function from;
	struct function to;

	if (a->ids[id])
		return a->ids[id];
	from = symbol_file_function(a->file, id);
	to = (struct function){ .name = profile_str(a->job->p, from.name),
				.system_name = profile_str(a->job->p, from.system_name),
				.file = profile_str(a->job->p, from.file),
				.start_line = from.start_line };
	a->ids[id] = profile_add_function(a->job->p, &to);
	return a->ids[id];
}

static void set_frames(struct adopted *a, uint32_t location, const struct symbol_answer *answer,
		       size_t index, struct buf *lines)
{
	uint32_t first = answer->first[index], end = answer->first[index + 1];

	buf_clear(lines);
	for (uint32_t i = first; i < end; i++) {
		struct line line = { adopt_function(a, answer->frames[i].function),
				     answer->frames[i].line };

		buf_put(lines, &line, sizeof line);
	}
	if (buf_error(lines) < 0) {
		profile_fail_nomem(a->job->p);
	} else if (end > first) {
		profile_set_lines(a->job->p, location, (const void *)lines->data, end - first);
		job_mark(a->job, location, answer->has_lines, answer->has_inlines);
	}
}

static int name_by_file(struct job *j, struct symbol_file *f, const struct target *targets,
			size_t count)
{
	size_t n = job_addresses(j, targets, count), index = 0;
	struct adopted adopted = { .job = j, .file = f };
	struct symbol_answer answer;
	struct buf lines = { 0 };
	int rc = symbol_file_lookup(f, j->addresses, n, &answer, j->e);

	if (rc < 0)
		return rc;
	adopted.ids = calloc(symbol_file_function_count(f) + 1, sizeof *adopted.ids);
	if (!adopted.ids)
		rc = err_nomem(j->e);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		index = job_index(j, index, &targets[i]);
		set_frames(&adopted, targets[i].location, &answer, index, &lines);
	}
	free(adopted.ids);
	buf_fini(&lines);
	symbol_answer_fini(&answer);
	return rc;
}

/* From offsets in the file to virtual addresses; drops what no segment holds. Of a file that
 * is gone only its debug file may be there, whose segments are empty: there, what auger itself
 * recorded is a virtual address already. Returns how many are left. */
static size_t take_vaddrs(const struct job *j, const struct symbol_file *f, struct target *targets,
			  size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t vaddr;

		if (!symbol_file_vaddr(f, targets[i].address, &vaddr)) {
			if (symbol_file_has_code(f))
				continue;
			vaddr = profile_get_location(j->p, targets[i].location).address;
		}
		targets[n] = targets[i];
		targets[n++].address = vaddr;
	}
	job_sort(targets, n);
	return n;
}

int job_name_elf(struct job *j, const struct source *source, struct target *targets, size_t count)
{
	const char *path = job_path(j, source->mapping);
	struct symbol_file_opts opts = {
		.path = source->kind == SOURCE_VDSO ? NULL : job_file(j, source->mapping),
		.name = path[0] ? path : NULL,
		.build_id = job_build_id(j, source->mapping),
		.debug_dir = j->o->debug_dir,
		.no_dwarf = j->o->no_inlines,
	};
	struct symbol_file *f;
	int rc;

	if (symbol_file_open(&opts, &f, j->e) < 0)
		return job_report_reason(j, path);
	count = take_vaddrs(j, f, targets, count);
	rc = name_by_file(j, f, targets, count);
	symbol_file_close(f);
	return rc;
}
