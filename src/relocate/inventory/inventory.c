/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/inventory.h"

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

bool reloc_inventory_has(const struct reloc_inventory *s, enum reloc_obstacle_kind kind)
{
	for (size_t i = 0; i < s->obstacle_count; i++)
		if (s->obstacles[i].kind == kind)
			return true;
	return false;
}
