/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/profile_classes.h"

#include <string.h>

#include "cachefs/profile/classes.h"
#include "cachefs/profile/guidance.h"
#include "view/markdown.h"

static bool never_existed(const struct path_counts *c)
{
	return !c->calls[PATH_METADATA][RESULT_HIT] && !c->calls[PATH_METADATA][RESULT_MISS] &&
	       !path_counts_events(c, PATH_DATA) && !path_counts_events(c, PATH_TREE);
}

static void add_row(const struct profile_facts *f, const struct classes *classes, size_t i,
		    struct path_sums *sums)
{
	const struct path_row *row = path_list_get(&f->paths, i);
	const char *path = path_list_path(&f->paths, row);
	uint32_t class = classes_find(classes, never_existed(&row->counts), path, strlen(path));
	struct path_sum *sum = (struct path_sum *)sums->classes.data + class;
	int64_t events = 0;

	for (int k = 0; k < PATH_CLASSES; k++) {
		uint64_t of_class = path_counts_events(&row->counts, (enum path_class)k);

		sum->entries += of_class > 0;
		events += (int64_t)of_class;
	}
	decimal_add(&sum->events, (struct decimal){ .integer = events });
	if (events > sum->example_events) {
		sum->example_events = events;
		sum->example = i;
	}
}

static void put_sums(const struct profile_facts *f, const struct path_sums *sums, struct buf *out)
{
	const struct path_sum *all = sums->classes.data;

	for (size_t i = 0; i < sums->classes.count; i++) {
		const char *path =
			path_list_path(&f->paths, path_list_get(&f->paths, all[i].example));

		buf_printf(out, "| `%s` | %zu | ", all[i].name, all[i].entries);
		decimal_put(out, all[i].events);
		buf_put_str(out, " | ");
		markdown_put_code(out, path, strlen(path));
		buf_put_str(out, " |\n");
	}
}

static void put_sections(const struct profile_facts *f, struct path_sums *sums, struct buf *out)
{
	struct decimal serves = { .integer = (int64_t)f->negatives[NEGATIVE_SERVE] };

	path_sums_sort(sums);
	buf_put_str(out,
		    "\n## Path Class Heuristics\n\n"
		    "A path belongs to the first class whose rule matches. The example has most "
		    "events.\n\n"
		    "| Path Class | Entries | Total Events | Example |\n"
		    "|---|---:|---:|---|\n");
	put_sums(f, sums, out);
	buf_put_str(out, "\n## Pruning Guidance\n\n"
			 "These are hints from the paths.\n\n");
	guidance_put(out, sums, serves);
}

int profile_put_classes(const struct profile_facts *f, struct buf *out)
{
	struct path_sums sums = { 0 };
	struct classes *classes;
	struct err e = { 0 };
	int rc = classes_new(NULL, 0, &classes, &e);

	if (rc < 0)
		return rc;
	rc = path_sums_add_classes(&sums, classes);
	for (size_t i = 0; i < f->paths.rows.count && rc == 0; i++)
		if (!path_list_get(&f->paths, i)->is_evicted)
			add_row(f, classes, i, &sums);
	if (rc == 0)
		put_sections(f, &sums, out);
	path_sums_fini(&sums);
	classes_free(classes);
	return rc;
}
