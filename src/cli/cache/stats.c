/* SPDX-License-Identifier: MIT */
/* cache_stats: "cache stats". */
#include <errno.h>
#include <stdio.h>

#include "base/outfile.h"
#include "cachejob/usage_table.h"
#include "cli/cmd.h"

struct args {
	const char *csv;
};

static const struct opt opts[] = {
	OPT_STR(0, "csv", "FILE", struct args, csv, "write it as CSV, too"),
	OPT_END,
};

/* Of a mounted cache, else of the files below a folder. */
static int read_figures(const char *place, struct usage_totals *ret, struct err *e)
{
	struct control_stats stats;
	int rc = control_stats(place, &stats, e);

	if (rc == 0)
		usage_table_of(&stats, ret);
	return rc == -ENOTTY ? usage_table_read(place, ret, e) : rc;
}

static int run(int argc, char **argv, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 }, csv = { 0 };
	struct usage_totals figures;
	struct args args = { 0 };
	int first, rc = cmd_parse(&cmd_cache_stats, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (argc != first + 1)
		return err_usage(e, "name one folder: a view, or that of a job's files");
	rc = read_figures(argv[first], &figures, e);
	if (rc < 0)
		return rc;
	buf_printf(&text, "cache usage summary root: %s\n\n", argv[first]);
	usage_table_put(&figures, &text);
	usage_table_put_csv(&figures, &csv);
	if (buf_error(&text) < 0 || buf_error(&csv) < 0)
		return err_nomem(e);
	fputs(text.data, stdout);
	return args.csv ? outfile_replace(args.csv, csv.data, csv.len, e) : 0;
}

const struct cmd cmd_cache_stats = {
	.name = "cache stats",
	.operands = "VIEW|DIR",
	.summary = "how full a mounted cache is, or the caches of a job were by their files",
	.opts = opts,
	.run = run,
};
