/* SPDX-License-Identifier: MIT */
#include "symbol/symbolize_internal.h"

#include <errno.h>

#include "base/log.h"
#include "base/path.h"

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

/* What to open for a map; moved: room for its path. */
static const char *map_path(const struct job *j, const struct source *source, struct buf *moved)
{
	const char *path = job_file(j, source->mapping), *name = job_path(j, source->mapping);

	if (path != name || !j->o->perf_map_dir || !path_is_perf_map(name))
		return path;
	buf_printf(moved, "%s/%s", j->o->perf_map_dir, path_base(path));
	return buf_error(moved) < 0 ? NULL : moved->data;
}

int job_name_perf_map(struct job *j, const struct source *source, const struct target *targets,
		      size_t count)
{
	CLEANUP(buf_fini) struct buf moved = { 0 };
	const char *name = job_path(j, source->mapping);
	/* Anybody can write a file of this name; the recorder has checked what it opened. */
	bool is_own = job_file(j, source->mapping) == name;
	struct name_request r = {
		.kind = is_own ? NAME_OWN_PERF_MAP : NAME_PERF_MAP,
		.file = { .path = map_path(j, source, &moved), .name = name },
	};
	int code, rc = r.file.path ? job_ask(j, &r, targets, count, &code) : err_nomem(j->e);

	if (rc < 0 || code == 0)
		return rc;
	if (code == -EPERM || code == -ELOOP)
		log_msg(LOG_WARN, "symbol", "%s; it names no code", j->e->msg);
	rename_anonymous(j, targets[0].source);
	*j->e = (struct err){ 0 };
	return 0;
}
