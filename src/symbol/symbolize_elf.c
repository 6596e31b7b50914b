/* SPDX-License-Identifier: MIT */
#include "symbol/symbolize_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

/* The functions of one answer as the profile knows them. */
struct adopted {
	struct job *job;
	const struct name_answer *answer;
	uint32_t *ids; /* [function count of the answer]: 0: not yet */
};

static uint32_t adopt_function(struct adopted *a, uint32_t id)
{
	const struct symbol_function *from = &a->answer->functions[id];
	struct function to;

	if (a->ids[id])
		return a->ids[id];
	to = (struct function){ .name = profile_str(a->job->p, from->name),
				.system_name = profile_str(a->job->p, from->system_name),
				.file = profile_str(a->job->p, from->file),
				.start_line = from->start_line };
	a->ids[id] = profile_add_function(a->job->p, &to);
	return a->ids[id];
}

static void set_frames(struct adopted *a, uint32_t location, size_t index, struct buf *lines)
{
	uint32_t first = a->answer->first[index], end = a->answer->first[index + 1];

	buf_clear(lines);
	for (uint32_t i = first; i < end; i++) {
		struct line line = { adopt_function(a, a->answer->frames[i].function),
				     a->answer->frames[i].line };

		buf_put(lines, &line, sizeof line);
	}
	if (buf_error(lines) < 0) {
		profile_fail_nomem(a->job->p);
	} else if (end > first) {
		profile_set_lines(a->job->p, location, (const void *)lines->data, end - first);
		job_mark(a->job, location, a->answer->has_lines, a->answer->has_inlines);
	}
}

static int adopt_names(struct job *j, const struct name_answer *answer,
		       const struct target *targets, size_t count)
{
	struct adopted adopted = {
		j, answer, calloc((size_t)answer->function_count + 1, sizeof *adopted.ids)
	};
	struct buf lines = { 0 };

	if (!adopted.ids)
		return err_nomem(j->e);
	for (size_t i = 0; i < count; i++)
		set_frames(&adopted, targets[i].location, i, &lines);
	free(adopted.ids);
	buf_fini(&lines);
	return 0;
}

int job_ask(struct job *j, struct name_request *r, const struct target *targets, size_t count,
	    int *ret_code)
{
	struct name_address *addresses = calloc(count, sizeof *addresses);
	struct name_answer answer = { 0 };
	int rc;

	if (!addresses)
		return err_nomem(j->e);
	for (size_t i = 0; i < count; i++)
		addresses[i] = (struct name_address){
			targets[i].address, profile_get_location(j->p, targets[i].location).address
		};
	r->addresses = addresses;
	r->count = count;
	rc = naming_ask(&j->naming, r, r->file.name ? r->file.name : r->file.build_id, &answer,
			j->e);
	if (rc == 0 && answer.code == 0)
		rc = adopt_names(j, &answer, targets, count);
	*ret_code = answer.code;
	if (answer.code < 0)
		err_set(j->e, answer.code, "%s", answer.reason);
	if (rc == 0 && answer.is_cut)
		log_msg(LOG_WARN, "symbol",
			"%s: only its first %zu MiB or %u records are read; code that is named "
			"behind them has no name",
			r->file.name, PERFMAP_MAX_BYTES >> 20, JITDUMP_MAX_RECORDS);
	name_answer_fini(&answer);
	free(addresses);
	return rc < 0 ? rc : 0;
}

int job_name_elf(struct job *j, const struct source *source, const struct target *targets,
		 size_t count)
{
	const char *path = job_path(j, source->mapping);
	struct name_request r = {
		.kind = NAME_ELF,
		.file = { .path = source->kind == SOURCE_VDSO ? NULL : job_file(j, source->mapping),
			  .name = path[0] ? path : NULL,
			  .build_id = job_build_id(j, source->mapping),
			  .debug_dir = j->o->debug_dir,
			  .no_dwarf = j->o->no_inlines },
	};
	int code, rc = job_ask(j, &r, targets, count, &code);

	return rc == 0 && code < 0 ? job_report_reason(j, path) : rc;
}
