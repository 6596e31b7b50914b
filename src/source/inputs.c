/* SPDX-License-Identifier: MIT */
#include "source/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "format/perfdata/folder.h"
#include "source/load.h"

#define SHOWN_NAMES 4 /* of many, in the head of a report */

static char standard_name[] = DEFAULT_PROFILE;
static char *const standard_names[] = { standard_name };

static void close_folder(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

void inputs_close(struct inputs *in)
{
	for (size_t i = 0; i < in->count; i++)
		free(in->paths[i]);
	free(in->paths);
	free(in->name_of);
	*in = (struct inputs){ 0 };
}

static int grow(struct inputs *in)
{
	size_t cap = in->cap ? in->cap * 2 : 8;
	char **paths = reallocarray(in->paths, cap, sizeof *paths);
	size_t *name_of;

	if (!paths)
		return -ENOMEM;
	in->paths = paths;
	name_of = reallocarray(in->name_of, cap, sizeof *name_of);
	if (!name_of)
		return -ENOMEM;
	in->name_of = name_of;
	in->cap = cap;
	return 0;
}

static int add_path(struct inputs *in, const char *path, size_t name, struct err *e)
{
	char *copy = strdup(path);

	if (!copy || (in->count == in->cap && grow(in) < 0)) {
		free(copy);
		return err_nomem(e);
	}
	in->name_of[in->count] = name;
	in->paths[in->count++] = copy;
	return 0;
}

/* *ret: is it a regular file that is not the output? What is gone meanwhile is none. */
static int check_candidate(int dir, const char *folder, const char *name, const struct stat *output,
			   bool *ret, struct err *e)
{
	struct stat st;

	*ret = false;
	if (name[0] == '.')
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s/%s", folder, name);
	*ret = S_ISREG(st.st_mode) && (st.st_ino != output->st_ino || st.st_dev != output->st_dev);
	return 0;
}

static int compare_paths(const void *left, const void *right)
{
	char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

static int add_entry(struct inputs *in, size_t name, const char *entry, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	const char *folder = in->names[name];

	buf_printf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", entry);
	return buf_error(&path) < 0 ? err_nomem(e) : add_path(in, path.data, name, e);
}

static int add_folder(struct inputs *in, size_t name, const struct stat *output, struct err *e)
{
	const char *folder = in->names[name];
	CLEANUP(close_folder) DIR *dir = opendir(folder);
	size_t first = in->count, skipped = 0;
	const struct dirent *entry;
	int rc = 0;

	if (!dir)
		return err_errno(e, "%s", folder);
	while (rc == 0 && (errno = 0, entry = readdir(dir))) {
		const char *file = entry->d_name;
		bool is_candidate;

		if (in->count - first == INPUTS_MAX_FILES)
			return err_set(e, -EFBIG, "%s: more than %zu files", folder,
				       INPUTS_MAX_FILES);
		rc = check_candidate(dirfd(dir), folder, file, output, &is_candidate, e);
		if (rc == 0 && is_candidate)
			rc = add_entry(in, name, file, e);
		else if (strcmp(file, ".") != 0 && strcmp(file, "..") != 0)
			skipped++;
	}
	if (rc == 0 && errno)
		rc = err_errno(e, "%s", folder);
	if (rc < 0)
		return rc;
	if (skipped)
		log_msg(LOG_INFO, "load", "%s: skipped that are no files to read: %zu", folder,
			skipped);
	if (in->count == first)
		return err_set(e, -ENOENT, "%s: no profile in this folder", folder);
	qsort(in->paths + first, in->count - first, sizeof *in->paths, compare_paths);
	return 0;
}

/* A folder of perf is one profile. */
static bool is_plain_folder(const char *name)
{
	struct stat st;

	return strcmp(name, "-") != 0 && stat(name, &st) == 0 && S_ISDIR(st.st_mode) &&
	       !perfdata_is_folder(name);
}

int inputs_open(struct inputs *ret, char *const *names, size_t count, const char *output,
		struct err *e)
{
	struct inputs in = { .names = count ? names : standard_names,
			     .name_count = count ? count : 1 };
	struct stat st = { 0 };
	int rc = 0;

	if (output && strcmp(output, "-") != 0 && stat(output, &st) < 0 && errno != ENOENT)
		return err_errno(e, "%s", output);
	for (size_t i = 0; i < in.name_count && rc == 0; i++)
		rc = is_plain_folder(in.names[i]) ? add_folder(&in, i, &st, e)
						  : add_path(&in, in.names[i], i, e);
	if (rc < 0)
		inputs_close(&in);
	else
		*ret = in;
	return rc;
}

/* Was it found in a folder that was named? */
static bool is_found(const struct inputs *in, size_t i)
{
	return strcmp(in->paths[i], in->names[in->name_of[i]]) != 0;
}

static int load_one(const struct inputs *in, size_t i, const struct inputs_opts *o,
		    struct profile **ret, struct err *e)
{
	if (is_found(in, i))
		return load_found_profile(in->paths[i], o->from, o->places, o->is_whole, ret, e);
	return o->is_whole ? load_whole_profile(in->paths[i], o->from, o->places, ret, e)
			   : load_profile(in->paths[i], o->from, o->places, ret, e);
}

static int add_up(struct profile *sum, const struct profile *p, const struct inputs_opts *o,
		  const char *path, size_t number, struct err *e)
{
	struct text_label *labels = NULL;
	size_t count = 0;
	int rc = o->label ? o->label(o->context, path, number, &labels, &count, e) : 0;

	if (rc < 0)
		return rc;
	rc = profile_merge(sum, p, labels, count, e);
	return rc < 0 ? err_wrap(e, "%s", strcmp(path, "-") == 0 ? "standard input" : path) : 0;
}

/* The first profile is taken as it is; when a second one comes, both are copied into a sum. */
struct adder {
	struct profile *sum;
	struct profile *only; /* of kept 1 */
	size_t kept;          /* profiles so far; their paths are the first ones */
	size_t skipped;
};

static int flush_only(struct adder *a, const struct inputs *in, const struct inputs_opts *o,
		      struct err *e)
{
	int rc;

	if (!a->only)
		return 0;
	a->sum = profile_new();
	rc = a->sum ? add_up(a->sum, a->only, o, in->paths[0], 0, e) : err_nomem(e);
	profile_free(a->only);
	a->only = NULL;
	return rc;
}

static int add_profile(struct adder *a, const struct inputs *in, const struct inputs_opts *o,
		       struct profile *p, struct err *e)
{
	int rc;

	if (!a->kept) {
		a->only = p;
		return 0;
	}
	rc = flush_only(a, in, o, e);
	if (rc == 0)
		rc = add_up(a->sum, p, o, in->paths[a->kept], a->kept, e);
	profile_free(p);
	return rc;
}

/* The path of file i, which is kept, moves behind those that are kept already. */
static void keep_path(struct inputs *in, size_t i, size_t kept)
{
	char *path = in->paths[i];

	in->paths[i] = in->paths[kept];
	in->paths[kept] = path;
	in->name_of[kept] = in->name_of[i];
}

static int load_all(struct adder *a, struct inputs *in, const struct inputs_opts *o, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < in->count && rc == 0; i++) {
		struct profile *p = NULL;

		if (o->show)
			o->show(i, in->count);
		rc = load_one(in, i, o, &p, e);
		if (rc == 0 && p) {
			keep_path(in, i, a->kept);
			rc = add_profile(a, in, o, p, e);
			a->kept++;
		} else if (rc == 0) {
			a->skipped++;
		}
	}
	if (o->show)
		o->show(in->count, in->count);
	return rc;
}

int inputs_load(struct inputs *in, const struct inputs_opts *o, struct profile **ret, struct err *e)
{
	struct adder a = { 0 };
	int rc = load_all(&a, in, o, e);

	if (rc == 0 && a.skipped)
		log_msg(LOG_INFO, "load", "profiles: %zu, other files, which are skipped: %zu",
			a.kept, a.skipped);
	if (rc == 0 && !a.kept)
		rc = err_set(e, -EINVAL, "%s: no profile among the files of this folder: %zu",
			     in->names[0], in->count);
	if (rc == 0 && o->is_sum)
		rc = flush_only(&a, in, o, e);
	if (rc < 0) {
		profile_free(a.sum);
		profile_free(a.only);
		return rc == -ENOENT && in->names == standard_names
			       ? err_set(e, rc, "no %s here; 'auger record' writes it",
					 DEFAULT_PROFILE)
			       : rc;
	}
	while (in->count > a.kept)
		free(in->paths[--in->count]);
	*ret = a.only ? a.only : a.sum;
	return 0;
}

int inputs_load_names(char *const *names, size_t count, const struct inputs_opts *o,
		      struct profile **ret, struct err *e)
{
	struct inputs in = { 0 };
	int rc = inputs_open(&in, names, count, NULL, e);

	if (rc == 0)
		rc = inputs_load(&in, o, ret, e);
	inputs_close(&in);
	return rc;
}

static void describe_name(const struct inputs *in, size_t name, size_t *at, struct buf *out)
{
	const char *text = in->names[name];
	size_t first = *at;

	while (*at < in->count && in->name_of[*at] == name)
		++*at;
	buf_put_str(out, strcmp(text, "-") == 0 ? "standard input" : text);
	if (first == *at || is_found(in, first))
		buf_printf(out, " (%zu file%s)", *at - first, *at - first == 1 ? "" : "s");
}

void inputs_describe(const struct inputs *in, struct buf *out)
{
	size_t at = 0, shown = in->name_count;

	if (shown > SHOWN_NAMES + 1)
		shown = SHOWN_NAMES;
	for (size_t i = 0; i < shown; i++) {
		buf_put_str(out, i ? ", " : "");
		describe_name(in, i, &at, out);
	}
	if (shown < in->name_count)
		buf_printf(out, " and %zu more", in->name_count - shown);
}
