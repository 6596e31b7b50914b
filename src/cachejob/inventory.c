/* SPDX-License-Identifier: MIT */
#include "cachejob/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "cachejob/coverage.h"

const char *const inventory_files[INVENTORY_LISTS] = {
	"all_possible_existing_paths.txt",
	"used_paths_existing.txt",
	"same_run_candidate_not_observed_existing_paths.txt",
	"missing_probe_paths.txt",
	"gone_since_paths.txt",
};

const char *const inventory_meanings[INVENTORY_LISTS] = {
	"All possible existing paths under the selected roots",
	"Actually used in this run",
	"Not seen in this run, but exists",
	"Probed but absent",
	"Used in this run, but no longer existing",
};

static int add_entry(struct strtab *texts, struct rows *rows, struct str path, bool is_folder,
		     bool is_used, struct err *e)
{
	uint32_t id = strtab_intern(texts, path.ptr, path.len);
	struct inventory_entry *entry = id == STRTAB_NONE ? NULL : rows_add(rows, sizeof *entry);

	if (!entry)
		return err_nomem(e);
	*entry = (struct inventory_entry){ strtab_get(texts, id), is_folder, is_used };
	return 0;
}

static int add_found(void *context, const char *path, size_t len, bool is_folder, bool is_used,
		     struct err *e)
{
	struct inventory *v = context;

	return add_entry(v->texts, &v->entries, (struct str){ path, len }, is_folder, is_used, e);
}

/* The coverage root of a path; NULL: none. */
static const struct coverage_root *root_of(const struct inventory *v, struct str path)
{
	const struct coverage_root *roots = v->roots.data;

	for (size_t i = 0; i < v->roots.count; i++)
		if (path_is_within(path, roots[i].path))
			return &roots[i];
	return NULL;
}

static int add_record(struct inventory *v, const struct observed *o, struct err *e)
{
	const struct strtab *paths = o->cluster->paths;
	int rc = 0;

	for (uint32_t id = 0; rc == 0 && id < strtab_count(paths); id++) {
		struct str path = strtab_get(paths, id);
		const struct coverage_root *root = root_of(v, path);
		bool is_folder = o->flags[id] & OBSERVED_FOLDER;

		if (!root)
			continue;
		if (!(o->flags[id] & OBSERVED_PRESENT))
			rc = add_entry(v->texts, &v->missing, path, is_folder, false, e);
		else if (!(o->flags[id] & (OBSERVED_SEEN | OBSERVED_UNREACHED)) &&
			 !(root->exists && strcmp(path.ptr, root->path) == 0))
			rc = add_entry(v->texts, &v->gone, path, is_folder, false, e);
	}
	return rc;
}

static int compare_entries(const void *left, const void *right)
{
	return strcmp(((const struct inventory_entry *)left)->path.ptr,
		      ((const struct inventory_entry *)right)->path.ptr);
}

static void sort(struct rows *rows)
{
	if (rows->count)
		qsort(rows->data, rows->count, sizeof(struct inventory_entry), compare_entries);
}

int inventory_make(struct inventory *ret, struct observed *o, const struct rows *roots,
		   struct err *e)
{
	int rc;

	*ret = (struct inventory){ .texts = strtab_new() };
	rc = ret->texts ? coverage_make(o, roots, add_found, ret, &ret->roots, e) : err_nomem(e);
	if (rc == 0)
		rc = add_record(ret, o, e);
	if (rc < 0) {
		inventory_fini(ret);
		return rc;
	}
	sort(&ret->entries);
	sort(&ret->missing);
	sort(&ret->gone);
	return 0;
}

void inventory_fini(struct inventory *v)
{
	strtab_free(v->texts);
	rows_fini(&v->entries);
	rows_fini(&v->missing);
	rows_fini(&v->gone);
	rows_fini(&v->roots);
	*v = (struct inventory){ 0 };
}

const struct inventory_entry *inventory_next(const struct inventory *v, enum inventory_list list,
					     size_t *at)
{
	const struct rows *rows = list == INVENTORY_MISSING ? &v->missing
				  : list == INVENTORY_GONE  ? &v->gone
							    : &v->entries;
	const struct inventory_entry *entries = rows->data;

	for (; *at < rows->count; (*at)++)
		if ((list != INVENTORY_USED || entries[*at].is_used) &&
		    (list != INVENTORY_UNUSED || !entries[*at].is_used))
			return &entries[(*at)++];
	return NULL;
}

static bool has_line_end(struct str path)
{
	return memchr(path.ptr, '\n', path.len) != NULL;
}

struct inventory_counts inventory_count(const struct inventory *v, enum inventory_list list)
{
	struct inventory_counts counts = { 0 };
	const struct inventory_entry *entry;
	size_t at = 0;

	while ((entry = inventory_next(v, list, &at))) {
		counts.total++;
		counts.folders += entry->is_folder;
		counts.files += !entry->is_folder;
		counts.unlisted += has_line_end(entry->path);
	}
	return counts;
}

void inventory_put(const struct inventory *v, enum inventory_list list, struct buf *out)
{
	const struct inventory_entry *entry;
	size_t at = 0;

	while ((entry = inventory_next(v, list, &at)))
		if (!has_line_end(entry->path)) {
			buf_put(out, entry->path.ptr, entry->path.len);
			buf_put_byte(out, '\n');
		}
}
