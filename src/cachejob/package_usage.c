/* SPDX-License-Identifier: MIT */
#include "cachejob/package_usage.h"

#include <stdlib.h>
#include <string.h>

#include "cachejob/cluster_sums.h"
#include "view/markdown.h"

/* The package folder of a path. */
static struct str folder_of(struct str path, struct str package)
{
	static const char cached[] = "/__pycache__";
	struct str folder = { path.ptr, (size_t)(package.ptr - path.ptr) - 1 };
	size_t len = strlen(cached);

	if (folder.len > len && memcmp(folder.ptr + folder.len - len, cached, len) == 0)
		folder.len -= len;
	return folder;
}

static struct package_usage *usage_of(struct strtab *keys, struct rows *rows, struct str path,
				      struct str package)
{
	CLEANUP(buf_fini) struct buf key = { 0 };
	struct str folder = folder_of(path, package);
	struct package_usage *usage;
	uint32_t id;

	buf_put(&key, folder.ptr, folder.len);
	buf_put_byte(&key, '\0');
	buf_put(&key, package.ptr, package.len);
	if (buf_error(&key) < 0)
		return NULL;
	id = strtab_intern(keys, key.data, key.len);
	if (id == STRTAB_NONE)
		return NULL;
	if (id < rows->count)
		return (struct package_usage *)rows->data + id;
	usage = rows_add(rows, sizeof *usage);
	if (usage)
		*usage = (struct package_usage){ package, folder, 0, 0 };
	return usage;
}

static int compare_strs(struct str a, struct str b)
{
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_usages(const void *left, const void *right)
{
	const struct package_usage *a = left, *b = right;
	size_t a_unused = a->files - a->used_files, b_unused = b->files - b->used_files;
	int order = (b_unused > a_unused) - (b_unused < a_unused);

	if (order == 0)
		order = compare_strs(a->name, b->name);
	return order ? order : compare_strs(a->folder, b->folder);
}

int package_usage_make(const struct inventory *v, struct rows *ret, struct err *e)
{
	const struct inventory_entry *entry;
	struct strtab *keys = strtab_new();
	size_t at = 0;
	int rc = keys ? 0 : err_nomem(e);

	while (rc == 0 && (entry = inventory_next(v, INVENTORY_ALL, &at))) {
		struct str package = path_package(entry->path);
		struct package_usage *usage;

		if (entry->is_folder || !package.len)
			continue;
		usage = usage_of(keys, ret, entry->path, package);
		if (!usage) {
			rc = err_nomem(e);
			break;
		}
		usage->files++;
		usage->used_files += entry->is_used;
	}
	strtab_free(keys);
	if (ret->count)
		qsort(ret->data, ret->count, sizeof(struct package_usage), compare_usages);
	return rc;
}

static void put_text(struct emit *out, const char *key, struct str text, struct buf *scratch)
{
	buf_clear(scratch);
	buf_put(scratch, text.ptr, text.len);
	if (buf_error(scratch) < 0)
		out->to->bad = true;
	emit_text(out, key, scratch->data ? scratch->data : "");
}

void package_usage_put(const struct rows *packages, struct emit *out)
{
	CLEANUP(buf_fini) struct buf scratch = { 0 };
	const struct package_usage *all = packages->data, none = { .files = 0 };

	emit_columns(out);
	for (size_t i = 0; i <= packages->count; i++) {
		const struct package_usage *u = i ? &all[i - 1] : &none;

		if (i)
			emit_row(out);
		put_text(out, "package", u->name, &scratch);
		emit_int(out, "files", (int64_t)u->files);
		emit_int(out, "used_files", (int64_t)u->used_files);
		emit_int(out, "unused_files", (int64_t)(u->files - u->used_files));
		put_text(out, "folder", u->folder, &scratch);
	}
}

void package_usage_put_summary(const struct rows *packages, size_t most, struct buf *out)
{
	const struct package_usage *all = packages->data;

	if (!packages->count)
		return;
	buf_put_str(out, "\n## Python Packages\n\n"
			 "Those with most files that the run did not touch.\n\n"
			 "| Package | Files | Used Files | Unused Files | Folder |\n"
			 "|---|---:|---:|---:|---|\n");
	for (size_t i = 0; i < packages->count && i < most; i++) {
		buf_put_str(out, "| ");
		markdown_put_code(out, all[i].name.ptr, all[i].name.len);
		buf_printf(out, " | %zu | %zu | %zu | ", all[i].files, all[i].used_files,
			   all[i].files - all[i].used_files);
		markdown_put_code(out, all[i].folder.ptr, all[i].folder.len);
		buf_put_str(out, " |\n");
	}
	if (packages->count > most)
		buf_printf(out, "\nAll %zu are in package_usage.csv.\n", packages->count);
}
