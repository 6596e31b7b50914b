/* SPDX-License-Identifier: MIT */
#include "symbol/symbolize_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/file.h"
#include "base/log.h"
#include "symbol/kallsyms.h"

#define NOTE_BUILD_ID 3 /* NT_GNU_BUILD_ID */

/* Of the running kernel, lower-case hex, into a buffer; "" when it cannot be read. */
static void running_build_id(struct buf *ret)
{
	struct buf notes = { 0 };
	struct err e;
	struct cursor c;

	if (file_read_small("/sys/kernel/notes", 65536, &notes, &e) == 0) {
		c = cursor_make(notes.data, notes.len);
		while (cursor_left(&c) && !c.bad) {
			uint32_t name_len = cursor_u32(&c), len = cursor_u32(&c);
			uint32_t type = cursor_u32(&c);
			const unsigned char *name = cursor_bytes(&c, (name_len + 3) & ~UINT32_C(3));
			struct cursor id = cursor_sub(&c, (len + 3) & ~UINT32_C(3));

			if (type != NOTE_BUILD_ID || !name || memcmp(name, "GNU", 4) != 0)
				continue;
			for (uint32_t i = 0; i < len && !id.bad; i++)
				buf_printf(ret, "%02x", cursor_u8(&id));
		}
	}
	buf_fini(&notes);
}

/* Addresses of another kernel would get wrong names. */
static bool is_running_kernel(const struct job *j, uint32_t mapping)
{
	const char *wanted = job_build_id(j, mapping);
	struct buf id = { 0 };
	bool is_same;

	if (!wanted[0] || strcmp(job_path(j, mapping), "[kernel.kallsyms]") != 0)
		return true;
	running_build_id(&id);
	is_same = buf_error(&id) == 0 && id.data && strcmp(id.data, wanted) == 0;
	buf_fini(&id);
	return is_same;
}

static void set_kernel_name(struct job *j, uint32_t location, const struct kernel_symbol *symbol)
{
	struct mapping m;
	struct buf path = { 0 };

	if (!symbol->name)
		return;
	if (symbol->module) {
		m = *profile_get_mapping(j->p, profile_get_location(j->p, location).mapping);
		buf_printf(&path, "[%s]", symbol->module);
		if (buf_error(&path) < 0) {
			profile_fail_nomem(j->p);
			return;
		}
		m.path = profile_str_n(j->p, path.data, path.len);
		profile_set_location_mapping(j->p, location, profile_add_mapping(j->p, &m));
		buf_fini(&path);
	}
	job_set_name(j, location, symbol->name);
}

int job_name_kernel(struct job *j, const struct source *source, const struct target *targets,
		    size_t count)
{
	const char *path = j->o->kallsyms ? j->o->kallsyms : "/proc/kallsyms";
	size_t n = job_addresses(j, targets, count), index = 0;
	struct kernel_symbol *symbols;
	struct buf text = { 0 };
	int rc;

	if (!is_running_kernel(j, source->mapping)) {
		log_msg(LOG_WARN, "symbol",
			"functions of another kernel than the running one stay "
			"without names");
		return 0;
	}
	symbols = calloc(n, sizeof *symbols);
	rc = symbols ? kallsyms_find(path, j->addresses, n, &text, symbols, j->e) : err_nomem(j->e);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		index = job_index(j, index, &targets[i]);
		set_kernel_name(j, targets[i].location, &symbols[index]);
	}
	if (rc == -EACCES) {
		log_msg(LOG_WARN, "symbol",
			"functions of the kernel stay without names: %s; run as "
			"root, or set kernel.kptr_restrict=0 with sysctl",
			j->e->msg);
		*j->e = (struct err){ 0 };
		rc = 0;
	} else if (rc < 0) {
		rc = job_report_reason(j, path);
	}
	free(symbols);
	buf_fini(&text);
	return rc;
}
