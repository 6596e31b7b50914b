/* SPDX-License-Identifier: MIT */
#include "symbol/symbolize_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "symbol/perfmap.h"

/* Names cannot appear later, so the frame is named after its memory. */
static void rename_anonymous(struct job *j, uint32_t index)
{
	uint32_t path = profile_str(j->p, "[anon]");

	for (uint32_t id = 1; id < j->mapping_count; id++) {
		struct mapping m = *profile_get_mapping(j->p, id);

		if (j->mapping_sources[id] != index)
			continue;
		m.path = path;
		profile_set_mapping(j->p, id, &m);
	}
}

static int find_in_perf_map(struct job *j, const struct source *source, size_t count,
			    struct buf *text, const char **names)
{
	const char *path = job_file(j, source->mapping), *name = job_path(j, source->mapping);
	/* Anybody can write a file of this name; the recorder has checked what it opened. */
	bool is_own = path == name;
	struct buf moved = { 0 };
	int rc;

	if (is_own && j->o->perf_map_dir) {
		buf_printf(&moved, "%s/%s", j->o->perf_map_dir, path_base(path));
		path = moved.data;
	}
	rc = buf_error(&moved) < 0
		     ? err_nomem(j->e)
		     : perfmap_find(path, is_own, j->addresses, count, text, names, j->e);
	buf_fini(&moved);
	if (rc == 1)
		log_msg(LOG_WARN, "symbol",
			"%s: only its first %zu MiB are read; code that is named behind them has "
			"no name",
			name, PERFMAP_MAX_BYTES >> 20);
	if (rc == -EPERM || rc == -ELOOP)
		log_msg(LOG_WARN, "symbol", "%s; it names no code", j->e->msg);
	return rc;
}

int job_name_perf_map(struct job *j, const struct source *source, const struct target *targets,
		      size_t count)
{
	size_t n = job_addresses(j, targets, count), index = 0;
	const char **names = calloc(n, sizeof *names);
	struct buf text = { 0 };
	int rc = names ? find_in_perf_map(j, source, n, &text, names) : err_nomem(j->e);

	for (size_t i = 0; rc >= 0 && i < count; i++) {
		index = job_index(j, index, &targets[i]);
		if (names[index])
			job_set_name(j, targets[i].location, names[index]);
	}
	if (rc < 0 && rc != -ENOMEM) {
		rename_anonymous(j, targets[0].source);
		*j->e = (struct err){ 0 };
	}
	free(names);
	buf_fini(&text);
	return rc == -ENOMEM ? rc : 0;
}
