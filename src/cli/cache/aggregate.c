/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/output/file_set.h"
#include "cachejob/cluster_summary.h"
#include "cachejob/cluster_tables.h"
#include "cachejob/coverage.h"
#include "cachejob/nodes.h"
#include "cli/cache/rank_progress.h"
#include "cli/cmd.h"
#include "cli/screen.h"

struct args {
	struct opt_list roots;
	const char *classes, *folder;
	uint64_t rows;
	int format; /* enum emit_format */
	int color;  /* enum color_when */
};

static const struct opt opts[] = {
	OPT_LIST(0, "usage-root", "DIR", struct args, roots,
		 "Report how much of DIR was used, besides the environments found; again for more"),
	OPT_STR(0, "output-dir", "DIR", struct args, folder,
		"Write into DIR [default JOBDIR/profiling/cluster]"),
	OPT_STR(0, "classes", "FILE", struct args, classes,
		"Classify paths by the rules in FILE before the built-in ones"),
	OPT_UINT('n', "rows", "N", struct args, rows, 0, UINT64_MAX - 1,
		 "List N paths of each category, 0 for all [default 20]"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Print the ranges across ranks in this format [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

/* The CSV files besides the Markdown. */
static const struct {
	const char *name;
	void (*put)(const struct cluster_view *v, struct emit *out);
} csv_files[] = {
	{ "profiling_aggregate.csv", cluster_put_metrics },
	{ "profiling_operations.csv", cluster_put_operations },
	{ "profiling_latency.csv", cluster_put_latency },
	{ "profiling_ranges.csv", cluster_put_ranges },
	{ "profiling_top_paths.csv", cluster_put_top_paths },
	{ "profiling_path_classes.csv", cluster_put_classes },
	{ "profiling_packages.csv", cluster_put_packages },
};

#define SUMMARY_NAME "profiling_summary.md"

/* One aggregation: where to and of what. */
struct aggregation {
	const struct args *args;
	const char *job, *prefix;
	struct cluster_view view;
	struct rows coverage; /* struct coverage_root */
	struct buf folder;    /* for the files */
	struct buf wrote;     /* paths of the files, a NUL behind each */
	struct file_set files;
};

static int load_classes(const char *path, struct classes **ret, struct err *e)
{
	struct file_input text = { 0 };
	int rc = path ? file_load(path, &text, e) : 0;

	if (rc < 0)
		return rc;
	rc = classes_new((const char *)text.data, text.len, ret, e);
	file_input_fini(&text);
	return rc == -EINVAL ? err_wrap(e, "%s", path) : rc;
}

static int make_folder(const char *path, struct err *e)
{
	return mkdir(path, 0777) < 0 && errno != EEXIST ? err_errno(e, "%s", path) : 0;
}

/* ret: the folder for the files. */
static int make_folders(const struct aggregation *a, struct buf *ret, struct err *e)
{
	int rc = 0;

	buf_put_str(ret, a->args->folder ? a->args->folder : a->job);
	if (!a->args->folder) {
		buf_put_str(ret, "/profiling");
		rc = buf_error(ret) < 0 ? err_nomem(e) : make_folder(ret->data, e);
		buf_put_str(ret, "/cluster");
	}
	if (rc == 0)
		rc = buf_error(ret) < 0 ? err_nomem(e) : make_folder(ret->data, e);
	return rc;
}

static int write_file(struct aggregation *a, const char *name, const struct buf *text,
		      struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };

	buf_printf(&path, "%s/%s-%s", a->folder.data, a->prefix, name);
	buf_put(&a->wrote, path.data, path.len);
	buf_put_byte(&a->wrote, '\0');
	if (buf_error(&path) < 0 || buf_error(text) < 0)
		return err_nomem(e);
	return file_set_add(&a->files, path.data, false, text->data, text->len, e);
}

static int write_csv(struct aggregation *a, size_t i, struct err *e)
{
	static const struct emit_opts o = { .format = EMIT_CSV };
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(emit_fini) struct emit out;

	emit_begin(&out, &o, &text);
	csv_files[i].put(&a->view, &out);
	return emit_end(&out) < 0 ? err_nomem(e) : write_file(a, csv_files[i].name, &text, e);
}

static int write_summary(struct aggregation *a, struct err *e)
{
	CLEANUP(nodes_list_fini) struct nodes_list nodes = { 0 };
	CLEANUP(buf_fini) struct buf text = { 0 };

	if (nodes_list_read(a->job, NULL, &nodes, e) == -ENOMEM)
		return -ENOMEM; /* most jobs have no nodes that serve a view together */
	cluster_summary_put(&text, &a->view, &a->coverage, &nodes, a->job);
	return write_file(a, SUMMARY_NAME, &text, e);
}

static void put_head(const struct aggregation *a, struct emit *out)
{
	const struct cluster *c = a->view.cluster;

	emit_head_str(out, "job", a->job);
	emit_head_int(out, "ranks", (int64_t)c->rank_count);
	for (int source = SOURCE_FINAL + 1; source < RANK_SOURCES; source++)
		if (c->sources[source])
			emit_head_int(out, rank_source_names[source], (int64_t)c->sources[source]);
	if (c->reset_ranks)
		emit_head_int(out, "reset_ranks", (int64_t)c->reset_ranks);
	if (c->damaged_count)
		emit_head_int(out, "damaged_files", (int64_t)c->damaged_count);
	emit_head_list(out, "wrote");
	for (size_t at = 0; at < a->wrote.len; at += strlen(a->wrote.data + at) + 1)
		emit_head_item(out, a->wrote.data + at);
	emit_head_list_end(out);
}

static int show(const struct aggregation *a, struct err *e)
{
	CLEANUP(screen_rows_fini) struct screen_rows rows;

	screen_rows_begin(&rows, a->args->format, a->args->color);
	put_head(a, &rows.out);
	cluster_put_ranges(&a->view, &rows.out);
	return screen_rows_end(&rows, e);
}

static int write_all(struct aggregation *a, struct err *e)
{
	int rc = make_folders(a, &a->folder, e);

	if (rc == 0 && jobdir_would_read(a->view.cluster->job, a->folder.data, a->prefix))
		rc = err_set(e, -EINVAL, "'%s' would be read as a rank in %s", a->prefix,
			     a->folder.data);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(csv_files); i++)
		rc = write_csv(a, i, e);
	if (rc == 0)
		rc = write_summary(a, e);
	if (rc == 0 && buf_error(&a->wrote) < 0)
		rc = err_nomem(e);
	if (rc == 0)
		rc = file_set_move(&a->files, e);
	file_set_fini(&a->files);
	return rc < 0 ? rc : show(a, e);
}

static int cover(struct aggregation *a, struct rows *roots, struct strtab *texts,
		 const struct cluster *c, struct err *e)
{
	struct observed observed;
	int rc = observed_make(&observed, c, e);

	if (rc < 0)
		return rc;
	rc = observed_roots(&observed, a->args->roots.items, a->args->roots.count, texts, roots, e);
	if (rc == 0)
		rc = coverage_make(&observed, roots, NULL, NULL, &a->coverage, e);
	observed_fini(&observed);
	return rc;
}

static int view_and_write(struct aggregation *a, const struct cluster *c,
			  const struct classes *classes, struct err *e)
{
	size_t top = a->args->rows ? (size_t)a->args->rows : SIZE_MAX;
	struct path_sums sums;
	int rc = cluster_sums_make(&sums, c, classes, e);

	if (rc < 0)
		return rc;
	rc = cluster_view_init(&a->view, c, classes, &sums, top, e);
	if (rc == 0) {
		rc = write_all(a, e);
		cluster_view_fini(&a->view);
	}
	path_sums_fini(&sums);
	buf_fini(&a->wrote);
	buf_fini(&a->folder);
	return rc;
}

static int cover_and_write(struct aggregation *a, const struct cluster *c,
			   const struct classes *classes, struct err *e)
{
	CLEANUP(rows_fini) struct rows roots = { 0 };
	struct strtab *texts = strtab_new();
	int rc = texts ? cover(a, &roots, texts, c, e) : err_nomem(e);

	if (rc == 0)
		rc = view_and_write(a, c, classes, e);
	rows_fini(&a->coverage);
	strtab_free(texts);
	return rc;
}

static int aggregate(struct aggregation *a, const struct classes *classes, struct err *e)
{
	struct jobdir *job;
	struct cluster cluster;
	int rc = jobdir_open(a->job, &job, e);

	if (rc < 0)
		return rc;
	rc = read_cluster(&cluster, job, CLUSTER_ALL_PATHS, e);
	if (rc == 0) {
		rc = cover_and_write(a, &cluster, classes, e);
		cluster_fini(&cluster);
	}
	jobdir_close(job);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .rows = 20 };
	struct aggregation a = { .args = &args, .prefix = "cluster" };
	struct classes *classes;
	int first, rc = cmd_parse(&cmd_cache_aggregate, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first == argc || argc > first + 2)
		return err_usage(e, "name one job's folder, and optionally a prefix");
	a.job = argv[first];
	if (argc == first + 2)
		a.prefix = argv[first + 1];
	if (!*a.prefix || strchr(a.prefix, '/'))
		return err_usage(e, "'%s' cannot begin a file name", a.prefix);
	rc = load_classes(args.classes, &classes, e);
	if (rc < 0)
		return rc;
	rc = aggregate(&a, classes, e);
	classes_free(classes);
	return rc;
}

const struct cmd cmd_cache_aggregate = {
	.name = "cache aggregate",
	.operands = "JOBDIR [PREFIX]",
	.summary = "combine the profiles of a job's ranks: sums, ranges across ranks, paths",
	.opts = opts,
	.run = run,
};
