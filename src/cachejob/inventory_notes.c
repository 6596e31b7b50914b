/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "cachejob/coverage.h"
#include "cachejob/inventory.h"
#include "cachejob/package_usage.h"
#include "view/markdown.h"

#define MOST_PACKAGES 30 /* in the summary */

static void put_code(struct buf *out, const char *text)
{
	markdown_put_code(out, text, strlen(text));
}

static size_t total_of(const struct inventory *v, enum inventory_list list)
{
	return inventory_count(v, list).total;
}

static size_t unlisted(const struct inventory *v)
{
	return inventory_count(v, INVENTORY_ALL).unlisted +
	       inventory_count(v, INVENTORY_MISSING).unlisted +
	       inventory_count(v, INVENTORY_GONE).unlisted;
}

/* "- Observed files: a of b (p%)" and the same of directories. */
static void put_estimates(const struct inventory *v, struct buf *out)
{
	struct inventory_counts all = inventory_count(v, INVENTORY_ALL),
				used = inventory_count(v, INVENTORY_USED);

	buf_printf(out, "- Observed files: %zu of %zu (", used.files, all.files);
	coverage_put_share(out, used.files, all.files);
	buf_printf(out, ")\n- Observed directories: %zu of %zu (", used.folders, all.folders);
	coverage_put_share(out, used.folders, all.folders);
	buf_put_str(out, ")\n");
}

static void put_counts(const struct inventory *v, struct buf *out)
{
	size_t used = total_of(v, INVENTORY_USED), missing = total_of(v, INVENTORY_MISSING),
	       gone = total_of(v, INVENTORY_GONE);

	buf_printf(out,
		   "\nAll existing paths under selected roots: %zu\n"
		   "Observed existing paths under selected roots: %zu\n"
		   "Observed missing probe paths under selected roots: %zu\n"
		   "Observed paths under selected roots: %zu\n"
		   "Candidate existing paths not observed in final outputs: %zu\n"
		   "Observed paths that no longer exist: %zu\n",
		   total_of(v, INVENTORY_ALL), used, missing, used + missing + gone,
		   total_of(v, INVENTORY_UNUSED), gone);
	if (unlisted(v))
		buf_printf(out, "Paths with a newline in their name, in no list: %zu\n",
			   unlisted(v));
}

void inventory_put_notes(const struct inventory *v, const char *job, struct buf *out)
{
	const struct coverage_root *roots = v->roots.data;

	buf_put_str(out, "Path list generation for ");
	utf8_put_visible(out, path_base(job), strlen(path_base(job)));
	buf_put_str(
		out,
		"\n\nMethod:\n"
		"- Observed paths are those of the ranks' tables of events.\n"
		"- Whether a path existed is taken from the run, not from the file system now.\n"
		"- Existing paths are those that a walk of the selected roots finds now.\n"
		"\nSelected roots:\n");
	for (size_t i = 0; i < v->roots.count; i++) {
		buf_put_str(out, "- ");
		utf8_put_visible(out, roots[i].path, strlen(roots[i].path));
		buf_put_str(out, roots[i].exists ? "\n" : " (does not exist now)\n");
	}
	put_counts(v, out);
	buf_put_str(out, "\nCoverage estimates:\n");
	put_estimates(v, out);
	buf_put_str(out, "\nFile meanings:\n");
	for (int i = 0; i < INVENTORY_LISTS; i++)
		buf_printf(out, "- %s: %s\n", inventory_files[i], inventory_meanings[i]);
}

static void put_table(const struct inventory *v, struct buf *out)
{
	buf_put_str(out, "\n## Counts Table\n\n"
			 "| Meaning | File | Total Paths | Files | Directories | Missing |\n"
			 "|---|---|---:|---:|---:|---:|\n");
	for (int i = 0; i < INVENTORY_LISTS; i++) {
		struct inventory_counts c = inventory_count(v, (enum inventory_list)i);
		bool is_missing = i == INVENTORY_MISSING;

		buf_printf(out, "| %s | `%s` | %zu | %zu | %zu | %zu |\n", inventory_meanings[i],
			   inventory_files[i], c.total, is_missing ? 0 : c.files,
			   is_missing ? 0 : c.folders, is_missing ? c.total : 0);
	}
}

void inventory_put_summary(const struct inventory *v, const struct rows *packages, const char *job,
			   const char *tables, const char *folder, struct buf *out)
{
	const struct coverage_root *roots = v->roots.data;
	struct inventory_counts all = inventory_count(v, INVENTORY_ALL),
				used = inventory_count(v, INVENTORY_USED);

	buf_put_str(out, "# Path Usage Analysis\n\n- Log directory: ");
	put_code(out, job);
	buf_put_str(out, "\n- Raw full-path input directory: ");
	put_code(out, tables);
	buf_put_str(out, "\n- Output directory: ");
	put_code(out, folder);
	buf_put_str(out, "\n\n## Selected roots\n\n");
	for (size_t i = 0; i < v->roots.count; i++) {
		buf_put_str(out, "- ");
		put_code(out, roots[i].path);
		buf_put_str(out, roots[i].exists ? "\n" : ", which does not exist now\n");
	}
	buf_printf(out,
		   "\n## In Simple Terms\n\n"
		   "The run used %zu of the %zu files and folders under the selected roots. It "
		   "also looked up %zu paths that do not exist.\n",
		   used.total, all.total, total_of(v, INVENTORY_MISSING));
	put_table(v, out);
	package_usage_put_summary(packages, MOST_PACKAGES, out);
	buf_put_str(
		out,
		"\n## Interpretation Notes\n\n"
		"- Used paths were looked up, listed or read at least once, in any rank.\n"
		"- A path that was not seen may still be needed, for another input or an error.\n"
		"- Programs search for files, so many missing probe paths are expected.\n"
		"- Calls that the kernel answers itself are not seen: profile with every call "
		"counted (`--exact`).\n"
		"- A symbolic link and its target are separate paths.\n"
		"\n## Coverage Estimates\n\n");
	put_estimates(v, out);
	if (unlisted(v))
		buf_printf(out, "\n%zu paths have a newline in their name and are in no list.\n",
			   unlisted(v));
	buf_put_str(out, "\nThe lists are of this run only. Try a reduced copy before you remove "
			 "anything.\n");
}
