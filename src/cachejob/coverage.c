/* SPDX-License-Identifier: MIT */
#include "cachejob/coverage.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cachefs/store/walk.h"
#include "view/markdown.h"

struct covering {
	struct observed *observed;
	struct coverage_root *root;
	coverage_found *found;
	void *context;
};

static int count_entry(void *context, const char *path, size_t len, bool is_folder, struct err *e)
{
	struct covering *c = context;
	uint32_t id = observed_find(c->observed, path, len);
	bool is_used = id != STRTAB_NONE && (c->observed->flags[id] & OBSERVED_PRESENT);

	if (id != STRTAB_NONE)
		c->observed->flags[id] |= OBSERVED_SEEN;
	if (is_folder) {
		c->root->folders++;
		c->root->observed_folders += is_used;
	} else {
		c->root->files++;
		c->root->observed_files += is_used;
	}
	return c->found ? c->found(c->context, path, len, is_folder, is_used, e) : 0;
}

/* Classifies a used path that the walk did not find: gone, or on another file system. */
static bool is_gone(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static void count_unfound(const struct observed *o, uint32_t id, struct coverage_root *root)
{
	if (is_gone(strtab_get(o->cluster->paths, id).ptr)) {
		root->gone++;
	} else {
		root->unreached++;
		o->flags[id] |= OBSERVED_UNREACHED;
	}
}

static void count_record(const struct observed *o, struct coverage_root *root)
{
	struct str least = { NULL, 0 };

	root->example = STRTAB_NONE;
	for (uint32_t id = 0; id < strtab_count(o->cluster->paths); id++) {
		struct str path = strtab_get(o->cluster->paths, id);
		uint8_t flags = o->flags[id];
		bool is_root = strcmp(path.ptr, root->path) == 0;

		if (!path_is_within(path, root->path))
			continue;
		root->observed++;
		if (!least.ptr || strcmp(path.ptr, least.ptr) < 0) {
			least = path;
			root->example = id;
		}
		if (!(flags & OBSERVED_PRESENT))
			root->missing++;
		else if (!root->exists && !is_root) {
			root->observed_folders += (flags & OBSERVED_FOLDER) != 0;
			root->observed_files += !(flags & OBSERVED_FOLDER);
		} else if (root->exists && !is_root && !(flags & OBSERVED_SEEN)) {
			count_unfound(o, id, root);
		}
	}
}

int coverage_make(struct observed *o, const struct rows *roots, coverage_found *found,
		  void *context, struct rows *ret, struct err *e)
{
	const char *const *paths = roots->data;

	for (size_t i = 0; i < roots->count; i++) {
		struct coverage_root *root = rows_add(ret, sizeof *root);
		struct covering c = { o, root, found, context };
		struct err reason = { 0 };
		int rc;

		if (!root)
			return err_nomem(e);
		root->path = paths[i];
		rc = walk(root->path, count_entry, &c, &root->unread, &reason);
		if (rc == -ENOMEM || (rc < 0 && root->files + root->folders)) {
			*e = reason;
			return rc;
		}
		root->exists = rc == 0;
		if (rc < 0)
			log_msg(LOG_WARN, "cache", "%s: not walked", reason.msg);
		if (root->unread)
			log_msg(LOG_WARN, "cache", "%s: %zu folders could not be read", root->path,
				root->unread);
		count_record(o, root);
		if (root->unreached)
			log_msg(LOG_WARN, "cache",
				"%s: %zu used paths are where the walk does not go: mounts, links, "
				"unreadable folders",
				root->path, root->unreached);
	}
	return 0;
}

void coverage_put_share(struct buf *out, size_t part, size_t whole)
{
	if (whole)
		buf_printf(out, "%.2f%%", 100.0 * (double)part / (double)whole);
	else
		buf_put_str(out, "n/a");
}

static void put_total(struct buf *out, const struct coverage_root *r, size_t part, size_t whole)
{
	buf_printf(out, " | %zu | ", part);
	if (r->exists)
		buf_printf(out, "%zu | ", whole);
	else
		buf_put_str(out, "n/a | ");
	coverage_put_share(out, part, r->exists ? whole : 0);
}

void coverage_put_summary(struct buf *out, const struct cluster *c, const struct rows *roots)
{
	const struct coverage_root *list = roots->data;

	if (!roots->count)
		return;
	buf_put_str(
		out,
		"\n## Path Coverage Analysis\n\n"
		"Observed paths are those of the job's record; totals count what exists now. Gone "
		"counts used paths that no longer exist.\n\n"
		"| Root | Exists | Observed Paths | Observed Files | Total Files | File "
		"Coverage | Observed Dirs | Total Dirs | Dir Coverage | Missing Probe Paths | "
		"Example | Gone |\n"
		"|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|\n");
	for (size_t i = 0; i < roots->count; i++) {
		const struct coverage_root *r = &list[i];

		buf_put_str(out, "| ");
		markdown_put_code(out, r->path, strlen(r->path));
		buf_printf(out, " | %s | %zu", r->exists ? "yes" : "no", r->observed);
		put_total(out, r, r->observed_files, r->files);
		put_total(out, r, r->observed_folders, r->folders);
		buf_printf(out, " | %zu | ", r->missing);
		if (r->example == STRTAB_NONE) {
			buf_put_str(out, "-");
		} else {
			struct str path = strtab_get(c->paths, r->example);

			markdown_put_code(out, path.ptr, path.len);
		}
		buf_printf(out, " | %zu |\n", r->gone);
	}
}
