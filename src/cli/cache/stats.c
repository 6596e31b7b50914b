/* SPDX-License-Identifier: MIT */
/* stats: "cache stats". */
#include <errno.h>
#include <stdio.h>

#include "base/output/outfile.h"
#include "cachejob/usage_table.h"
#include "cli/cmd.h"

struct args {
	const char *csv;
};

static const struct opt opts[] = {
	OPT_STR(0, "csv", "FILE", struct args, csv, "Write the table to FILE as CSV, too"),
	OPT_END,
};

/* Of a mounted cache, else of the files below a folder. */
static int read_totals(const char *place, struct usage_totals *ret, struct err *e)
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
	struct usage_totals totals;
	struct args args = { 0 };
	int first, rc = cmd_parse(&cmd_cache_stats, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (argc != first + 1)
		return err_usage(e, "name one folder: a view, or a folder of jobs' files");
	rc = read_totals(argv[first], &totals, e);
	if (rc < 0)
		return rc;
	buf_printf(&text, "cache usage summary root: %s\n\n", argv[first]);
	usage_table_put(&totals, &text);
	usage_table_put_csv(&totals, &csv);
	if (buf_error(&text) < 0 || buf_error(&csv) < 0)
		return err_nomem(e);
	fputs(text.data, stdout);
	return args.csv ? outfile_replace(args.csv, csv.data, csv.len, e) : 0;
}

const struct cmd cmd_cache_stats = {
	.name = "cache stats",
	.operands = "VIEW|DIR",
	.summary =
		"report the memory that a mounted cache uses, or that caches reported in their files",
	.opts = opts,
	.run = run,
};
