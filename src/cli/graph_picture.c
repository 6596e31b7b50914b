/* SPDX-License-Identifier: MIT */
#include "cli/graph_picture.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/output/outfile.h"
#include "base/str.h"
#include "format/dot/dot.h"
#include "target/child_output.h"
#include "target/program.h"

const char *graph_picture_kind(const char *path)
{
	static const char *const endings[] = { ".svg", ".pdf", ".png" };

	for (size_t i = 0; path && i < ARRAY_LEN(endings); i++)
		if (text_ends_with(path, endings[i]))
			return endings[i] + 1;
	return NULL;
}

int graph_picture_check(struct err *e)
{
	char path[PATH_MAX];

	if (program_find("dot", path))
		return 0;
	return err_set(e, -ENOENT,
		       "dot: is not installed (package graphviz); --to dot -o FILE.dot writes the "
		       "graph for it");
}

int graph_picture_save(const struct profile *p, const char *kind, const char *path, struct err *e)
{
	CLEANUP(buf_fini) struct buf graph = { 0 }, picture = { 0 }, option = { 0 };
	char name[] = "dot";
	char *argv[] = { name, NULL, NULL };
	int rc = format_dot.write(p, &graph, e);

	if (rc < 0)
		return rc;
	buf_printf(&option, "-T%s", kind);
	if (buf_error(&graph) < 0 || buf_error(&option) < 0)
		return err_nomem(e);
	argv[1] = option.data;
	rc = child_output(argv, graph.data, graph.len, "--to dot -o FILE.dot writes what it read",
			  &picture, e);
	if (rc < 0)
		return rc;
	return outfile_replace(path, picture.data ? picture.data : "", picture.len, e);
}
