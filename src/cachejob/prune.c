/* SPDX-License-Identifier: MIT */
#include "cachejob/prune.h"

#include <string.h>

#include "base/quote.h"
#include "base/utf8.h"
#include "cachejob/coverage.h"

#define PATHS_A_CALL 200 /* of PATH_MAX bytes: less than half of 2 MiB, Linux's usual ARG_MAX */

static const char start[] = "set -eu\n"
			    "[ $# -eq 1 ] || { echo \"usage: sh $0 NEW-FOLDER\" >&2; exit 2; }\n"
			    "umask 077\n"
			    "case $1 in /*) ;; *) set -- \"./$1\" ;; esac\n"
			    "parent=$(dirname -- \"$1\")\n"
			    "device=$(stat -L -c %d -- \"$parent\")\n";

/* For each root. */
static const char check_root[] =
	"[ \"$(stat -c %d -- \"$root\")\" = \"$device\" ] ||\n"
	"\t{ echo \"$0: $parent is not on the file system of $root\" >&2; exit 1; }\n";

/* -P copies symbolic links as links. Modes of folders come last, because one may deny writes. */
static const char script[] = "mkdir -- \"$1\"\n"
			     "cd -- \"$1\"\n"
			     "into() {\n"
			     "\tfolder=.$1\n"
			     "\tshift\n"
			     "\t[ -d \"$folder\" ] || mkdir -p -- \"$folder\"\n"
			     "\tln -P -- \"$@\" \"$folder/\"\n"
			     "}\n";

static const char end[] =
	"\n# Folders get the modes of the ones that they stand for, the inner ones first.\n"
	"find . -mindepth 1 -depth -type d -exec sh -c '\n"
	"\tfor folder do chmod --reference=\"${folder#.}\" -- \"$folder\" || exit; done' sh {} +\n";

static void put_comment(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "#   %s", key);
	utf8_put_visible(out, text, strlen(text));
	buf_put_byte(out, '\n');
}

static void put_head(const struct inventory *v, const char *job, struct buf *out)
{
	const struct coverage_root *roots = v->roots.data;
	struct inventory_counts used = inventory_count(v, INVENTORY_USED),
				unused = inventory_count(v, INVENTORY_UNUSED),
				gone = inventory_count(v, INVENTORY_GONE);
	size_t unreached = 0;

	buf_put_str(out, "#!/bin/sh\n"
			 "# Copies what a job has used. READ THIS BEFORE RUNNING IT:\n"
			 "#   sh THIS-SCRIPT NEW-FOLDER\n"
			 "#\n");
	put_comment(out, "job: ", job);
	for (size_t i = 0; i < v->roots.count; i++)
		put_comment(out, "root: ", roots[i].path);
	for (size_t i = 0; i < v->roots.count; i++)
		unreached += roots[i].unreached;
	buf_printf(
		out,
		"#   kept: %zu files, %zu folders\n"
		"#   left out: %zu files, %zu folders\n"
		"#   used, but no longer existing: %zu; where the walk does not go: %zu\n"
		"#\n"
		"# Files are hard links: the new folder must be on the same file system, and a file "
		"that is\n"
		"# changed in one place is changed in both. Nothing that is there is replaced or "
		"removed.\n"
		"# Another job may need what this one did not use: add lines for it.\n",
		used.files, used.folders, unused.files, unused.folders, gone.total, unreached);
}

static bool is_needed(const struct coverage_root *root)
{
	return root->exists && root->observed_files + root->observed_folders;
}

static void put_start(const struct inventory *v, struct buf *out)
{
	const struct coverage_root *roots = v->roots.data;

	buf_put_str(out, start);
	for (size_t i = 0; i < v->roots.count; i++) {
		if (!is_needed(&roots[i]))
			continue;
		buf_put_str(out, "root=");
		quote_shell(out, roots[i].path, strlen(roots[i].path));
		buf_put_byte(out, '\n');
		buf_put_str(out, check_root);
	}
	buf_put_str(out, script);
}

static size_t folder_len(struct str path)
{
	const char *slash = memrchr(path.ptr, '/', path.len);

	return (size_t)(slash - path.ptr);
}

static void begin_call(struct buf *out, struct str folder)
{
	buf_put_str(out, "\ninto ");
	quote_shell(out, folder.len ? folder.ptr : "/", folder.len ? folder.len : 1);
}

/* The files of one folder are mostly adjacent, because files are sorted by path. */
static void put_files(const struct inventory *v, struct buf *out)
{
	const struct inventory_entry *entry;
	struct str folder = { NULL, 0 };
	size_t at = 0, in_call = 0;

	while ((entry = inventory_next(v, INVENTORY_USED, &at))) {
		size_t len = folder_len(entry->path);

		if (entry->is_folder)
			continue;
		if (!folder.ptr || len != folder.len || in_call == PATHS_A_CALL ||
		    memcmp(entry->path.ptr, folder.ptr, len) != 0) {
			folder = (struct str){ entry->path.ptr, len };
			begin_call(out, folder);
			in_call = 0;
		}
		in_call++;
		buf_put_str(out, " \\\n\t");
		quote_shell(out, entry->path.ptr, entry->path.len);
	}
}

static void put_folders(const struct inventory *v, struct buf *out)
{
	const struct inventory_entry *entry;
	size_t at = 0, count = 0;

	while ((entry = inventory_next(v, INVENTORY_USED, &at))) {
		if (!entry->is_folder)
			continue;
		if (count++ % PATHS_A_CALL == 0)
			buf_put_str(out, "\nmkdir -p --");
		buf_put_str(out, " \\\n\t.");
		quote_shell(out, entry->path.ptr, entry->path.len);
	}
}

void prune_put_script(const struct inventory *v, const char *job, struct buf *out)
{
	put_head(v, job, out);
	put_start(v, out);
	buf_put_str(out, "\n# Folders.");
	put_folders(v, out);
	buf_put_str(out, "\n\n# Files, and links.");
	put_files(v, out);
	buf_put_byte(out, '\n');
	buf_put_str(out, end);
}
