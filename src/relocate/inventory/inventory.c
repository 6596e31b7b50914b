/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/inventory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"

void reloc_inventory_fini(struct reloc_inventory *s)
{
	free(s->procs);
	free(s->files);
	free(s->descs);
	free(s->fds);
	free(s->locks);
	free(s->epolls);
	free(s->watches);
	free(s->maps);
	free(s->dirs);
	free(s->obstacles);
	strtab_free(s->strings);
	memset(s, 0, sizeof *s);
}

/* A copy without control characters. NULL: out of memory. */
static const char *clean_string(struct reloc_inventory *s, const char *text)
{
	char clean[PATH_MAX];
	uint32_t id;

	snprintf(clean, sizeof clean, "%s", text);
	err_clean(clean);
	id = strtab_intern(s->strings, clean, strlen(clean) + 1);
	return id == STRTAB_NONE ? NULL : strtab_get(s->strings, id).ptr;
}

int reloc_inventory_add(struct reloc_inventory *s, enum reloc_obstacle_kind kind, uint32_t proc,
			const char *what, const char *path, const char *reason, const char *remedy,
			struct err *e)
{
	size_t count = s->obstacle_count + 1;
	struct reloc_obstacle *all = realloc(s->obstacles, count * sizeof *all), *o;

	if (!all)
		return err_nomem(e);
	s->obstacles = all;
	o = &all[count - 1];
	*o = (struct reloc_obstacle){
		.kind = kind,
		.pid = s->procs[proc].pid,
		.comm = s->procs[proc].comm,
		.what = clean_string(s, what),
		.path = clean_string(s, path),
		.reason = reason,
		.remedy = remedy,
	};
	if (!o->what || !o->path)
		return err_nomem(e);
	s->obstacle_count = count;
	return 0;
}

bool reloc_inventory_has(const struct reloc_inventory *s, enum reloc_obstacle_kind kind)
{
	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind == kind)
			return true;
	return false;
}
