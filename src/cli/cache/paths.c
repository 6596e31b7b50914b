/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output/file_set.h"
#include "cachejob/cluster.h"
#include "cachejob/inventory.h"
#include "cachejob/package_usage.h"
#include "cachejob/prune.h"
#include "cli/cache/rank_progress.h"
#include "cli/cmd.h"
#include "cli/screen.h"
#include "view/emit.h"

struct args {
	struct opt_list roots;
	const char *folder, *script;
	int format; /* enum emit_format */
	int color;  /* enum color_when */
};

static const struct opt opts[] = {
	OPT_LIST(0, "usage-root", "DIR", struct args, roots,
		 "Compare DIR, too, besides the environments found; again for more"),
	OPT_STR(0, "output-dir", "DIR", struct args, folder,
		"Write the lists into DIR [default JOBDIR/paths_dir]"),
	OPT_STR(0, "prune-script", "FILE", struct args, script,
		"Write a script that copies the used part by hard links"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Print the counts in this format [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

struct listing {
	const struct args *args;
	const char *job, *folder;
	struct inventory inventory;
	struct file_set files; /* written together, or none */
};

static int write_file(struct listing *l, const char *name, const struct buf *text, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };

	buf_printf(&path, "%s/%s", l->folder, name);
	if (buf_error(&path) < 0 || buf_error(text) < 0)
		return err_nomem(e);
	return file_set_add(&l->files, path.data, false, text->data, text->len, e);
}

static int write_lists(struct listing *l, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc = 0;

	for (int i = 0; rc == 0 && i < INVENTORY_LISTS; i++) {
		buf_clear(&text);
		inventory_put(&l->inventory, (enum inventory_list)i, &text);
		rc = write_file(l, inventory_files[i], &text, e);
	}
	return rc;
}

static int write_packages(struct listing *l, const struct rows *packages, struct err *e)
{
	static const struct emit_opts o = { .format = EMIT_CSV };
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(emit_fini) struct emit out;

	emit_begin(&out, &o, &text);
	package_usage_put(packages, &out);
	return emit_end(&out) < 0 ? err_nomem(e) : write_file(l, "package_usage.csv", &text, e);
}

static int write_summary(struct listing *l, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 }, tables = { 0 };
	CLEANUP(rows_fini) struct rows packages = { 0 };
	int rc = package_usage_make(&l->inventory, &packages, e);

	if (rc == 0)
		rc = write_packages(l, &packages, e);
	inventory_put_notes(&l->inventory, l->job, &text);
	if (rc == 0)
		rc = write_file(l, "roots_and_counts.txt", &text, e);
	buf_clear(&text);
	buf_printf(&tables, "%s/tables/final", l->job);
	if (buf_error(&tables) < 0)
		return err_nomem(e);
	inventory_put_summary(&l->inventory, &packages, l->job,
			      access(tables.data, F_OK) == 0 ? tables.data : l->job, l->folder,
			      &text);
	return rc < 0 ? rc : write_file(l, "paths_summary.md", &text, e);
}

static int write_script(struct listing *l, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	prune_put_script(&l->inventory, l->job, &text);
	if (buf_error(&text) < 0)
		return err_nomem(e);
	return file_set_add(&l->files, l->args->script, true, text.data, text.len, e);
}

static void put_counts(struct emit *out, const char *meaning, const char *file,
		       struct inventory_counts counts, bool is_missing)
{
	emit_name(out, "meaning", "", meaning, "");
	emit_text(out, "file", file);
	emit_int(out, "total_paths", (int64_t)counts.total);
	emit_int(out, "files", is_missing ? 0 : (int64_t)counts.files);
	emit_int(out, "directories", is_missing ? 0 : (int64_t)counts.folders);
	emit_int(out, "missing", is_missing ? (int64_t)counts.total : 0);
}

static void put_rows(const struct listing *l, struct emit *out)
{
	emit_columns(out);
	put_counts(out, "", "", (struct inventory_counts){ 0 }, false);
	for (int i = 0; i < INVENTORY_LISTS; i++) {
		emit_row(out);
		put_counts(out, inventory_meanings[i], inventory_files[i],
			   inventory_count(&l->inventory, (enum inventory_list)i),
			   i == INVENTORY_MISSING);
	}
}

static int show(const struct listing *l, struct err *e)
{
	CLEANUP(screen_rows_fini) struct screen_rows rows;

	screen_rows_begin(&rows, l->args->format, l->args->color);
	emit_head_str(&rows.out, "job", l->job);
	emit_head_str(&rows.out, "wrote", l->folder);
	if (l->args->script)
		emit_head_str(&rows.out, "script_to_read_first", l->args->script);
	put_rows(l, &rows.out);
	return screen_rows_end(&rows, e);
}

static int write_all(struct listing *l, struct err *e)
{
	CLEANUP(buf_fini) struct buf folder = { 0 };
	int rc;

	buf_printf(&folder, "%s/paths_dir", l->job);
	if (buf_error(&folder) < 0)
		return err_nomem(e);
	l->folder = l->args->folder ? l->args->folder : folder.data;
	if (mkdir(l->folder, 0777) < 0 && errno != EEXIST)
		return err_errno(e, "%s", l->folder);
	rc = write_lists(l, e);
	if (rc == 0)
		rc = write_summary(l, e);
	if (rc == 0 && l->args->script)
		rc = write_script(l, e);
	if (rc == 0)
		rc = file_set_move(&l->files, e);
	file_set_fini(&l->files);
	return rc < 0 ? rc : show(l, e);
}

static int compare_roots(struct listing *l, struct observed *o, struct err *e)
{
	CLEANUP(rows_fini) struct rows roots = { 0 };
	struct strtab *texts = strtab_new();
	int rc = texts ? observed_roots(o, l->args->roots.items, l->args->roots.count, texts,
					&roots, e)
		       : err_nomem(e);

	if (rc == 0 && !roots.count)
		rc = err_set(e, -ENODATA, "found no environment in the paths: name --usage-root");
	if (rc == 0)
		rc = inventory_make(&l->inventory, o, &roots, e);
	if (rc == 0) {
		rc = write_all(l, e);
		inventory_fini(&l->inventory);
	}
	strtab_free(texts);
	return rc;
}

/* A reason why the list of used paths is incomplete. A copy made from it might lack files, so
 * --prune-script fails. */
static int note_incomplete(const struct listing *l, bool is_so, struct err *e, const char *why, ...)
	PRINTF(4, 5);

static int note_incomplete(const struct listing *l, bool is_so, struct err *e, const char *why, ...)
{
	char text[160];
	va_list args;

	if (!is_so)
		return 0;
	va_start(args, why);
	vsnprintf(text, sizeof text, why, args);
	va_end(args);
	if (l->args->script)
		return err_set(e, -ENODATA, "no script: %s", text);
	log_msg(LOG_WARN, "cache", "%s", text);
	return 0;
}

static int check_complete(const struct listing *l, const struct cluster *c, struct err *e)
{
	long long unknown = cluster_evicted_paths(c);
	size_t cached = cluster_kernel_cached(c), ranks = jobdir_rank_count(c->job);
	int rc = note_incomplete(l, unknown, e,
				 "%lld paths were evicted from the caches, and are in no list",
				 unknown);

	if (rc == 0)
		rc = note_incomplete(l, cached, e,
				     "the kernel served some paths without a request (%zu ranks): "
				     "profile without --kernel-cache",
				     cached);
	if (rc == 0)
		rc = note_incomplete(l, c->complete_ranks < ranks, e,
				     "%zu of %zu ranks have an incomplete list of paths: "
				     "they wrote no complete table of metadata at their end",
				     ranks - c->complete_ranks, ranks);
	if (rc == 0)
		rc = note_incomplete(
			l, c->reset_ranks, e,
			"paths used before 'auger cache reset' are in no list (%zu ranks)",
			c->reset_ranks);
	return rc;
}

static int list_paths(struct listing *l, struct err *e)
{
	struct jobdir *job;
	struct cluster cluster;
	struct observed observed;
	int rc = jobdir_open(l->job, &job, e);

	if (rc < 0)
		return rc;
	rc = read_cluster(&cluster, job, CLUSTER_TABLES_ONLY, e);
	if (rc == 0) {
		rc = check_complete(l, &cluster, e);
		if (rc == 0)
			rc = observed_make(&observed, &cluster, e);
		if (rc == 0) {
			rc = compare_roots(l, &observed, e);
			observed_fini(&observed);
		}
		cluster_fini(&cluster);
	}
	jobdir_close(job);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .format = EMIT_TABLE };
	struct listing l = { .args = &args };
	int first, rc = cmd_parse(&cmd_cache_paths, &args, argc, argv, &first, e);
	struct stat st;

	if (rc < 0)
		return rc;
	if (argc != first + 1)
		return err_usage(e, "name one job's folder");
	if (args.script && lstat(args.script, &st) == 0)
		return err_set(e, -EEXIST, "%s: exists already", args.script);
	l.job = argv[first];
	return list_paths(&l, e);
}

const struct cmd cmd_cache_paths = {
	.name = "cache paths",
	.operands = "JOBDIR",
	.summary = "compare what a job used with what is installed, and list what it did not find",
	.opts = opts,
	.run = run,
};
