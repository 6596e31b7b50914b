/* SPDX-License-Identifier: MIT */
#include "cachejob/jobdir.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "base/rows.h"
#include "base/strtab.h"

struct jobdir {
	const char *path;
	bool is_flat;         /* the files are in path itself */
	struct strtab *names; /* of ranks; until ranks are sorted, an id is an index of ranks */
	struct rows ranks;    /* struct rank */
};

const char *const rank_source_names[RANK_SOURCES] = { "final", "pre-destroy", "runtime-snapshot",
						      "ioctl-snapshot", "pre-reset" };

static const struct {
	const char *folder, *name;
} files[RANK_FILES] = {
	[RANK_METRICS] = { "profiling", "profiling_aggregate.csv" },
	[RANK_OPERATIONS] = { "profiling", "profiling_operations.csv" },
	[RANK_METADATA_EVENTS] = { "tables", "md_table_cache_event.output" },
	[RANK_DATA_EVENTS] = { "tables", "data_table_cache_event.output" },
	[RANK_TREE_EVENTS] = { "tables", "tree_table_cache_event.output" },
	[RANK_TTL_EVENTS] = { "tables", "md_ttl_cache_event.output" },
	[RANK_TOP_PATHS] = { "profiling", "profiling_top_paths.csv" },
	[RANK_LATENCY] = { "profiling", "profiling_latency.csv" },
	[RANK_COSTS] = { "profiling", "profiling_paths.csv" },
	[RANK_SUMMARY] = { "profiling", "profiling_summary.md" },
	[RANK_PROFILE] = { "profiling", "profile.pb.gz" },
};

/* Removes "-tail" from the end of a name of *len bytes. */
static bool take_tail(const char *name, size_t *len, const char *tail)
{
	size_t tail_len = strlen(tail);

	if (*len <= tail_len + 1 || name[*len - tail_len - 1] != '-' ||
	    memcmp(name + *len - tail_len, tail, tail_len) != 0)
		return false;
	*len -= tail_len + 1;
	return true;
}

/* The digits after the last dash of "HOST-PID". */
static bool is_rank_name(const char *name, size_t len)
{
	size_t digits = 0;

	while (digits < len && number_is_digit(name[len - 1 - digits]))
		digits++;
	return digits && len > digits + 1 && name[len - 1 - digits] == '-';
}

static int add_file(struct jobdir *j, const char *name, size_t len, enum rank_file file,
		    enum rank_source source)
{
	uint32_t id = strtab_intern(j->names, name, len);
	struct rank *rank;

	if (id == STRTAB_NONE)
		return -ENOMEM;
	if (id == j->ranks.count) {
		rank = rows_add(&j->ranks, sizeof *rank);
		if (!rank)
			return -ENOMEM;
		rank->name = strtab_get(j->names, id).ptr;
	}
	rank = (struct rank *)j->ranks.data + id;
	rank->sources[file] |= (uint8_t)(1u << source);
	return 0;
}

/* Skips files that are not a rank's. */
static int add_entry(struct jobdir *j, const char *folder, enum rank_source source,
		     const char *name)
{
	for (int file = 0; file < RANK_FILES; file++) {
		size_t len = strlen(name);

		if (folder && strcmp(files[file].folder, folder) != 0)
			continue;
		if (!take_tail(name, &len, files[file].name) ||
		    (source != SOURCE_FINAL && !take_tail(name, &len, rank_source_names[source])) ||
		    !is_rank_name(name, len))
			continue;
		return add_file(j, name, len, (enum rank_file)file, source);
	}
	return 0;
}

/* Opening a FIFO would block. A dangling link is reported when it is read. */
static bool may_be_file(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_REG;
	return fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 || S_ISREG(st.st_mode);
}

/* folder: "profiling" or "tables"; NULL: path itself has both. */
static int scan(struct jobdir *j, const char *path, const char *folder, enum rank_source source,
		struct err *e)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int rc = 0;

	if (!dir && folder && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (!dir)
		return err_errno(e, "%s", path);
	errno = 0;
	while (rc == 0 && (entry = readdir(dir))) {
		if (may_be_file(dir, entry))
			rc = add_entry(j, folder, source, entry->d_name);
		errno = 0;
	}
	if (rc < 0)
		err_nomem(e);
	else if (errno)
		rc = err_errno(e, "%s", path);
	closedir(dir);
	return rc;
}

static int scan_all(struct jobdir *j, struct err *e)
{
	static const char *const folders[] = { "profiling", "tables" };
	CLEANUP(buf_fini) struct buf path = { 0 };
	int rc = 0;

	for (size_t f = 0; f < ARRAY_LEN(folders); f++)
		for (int source = 0; rc == 0 && source < RANK_SOURCES; source++) {
			buf_clear(&path);
			buf_printf(&path, "%s/%s/%s", j->path, folders[f],
				   rank_source_names[source]);
			rc = buf_error(&path) < 0
				     ? err_nomem(e)
				     : scan(j, path.data, folders[f], (enum rank_source)source, e);
		}
	if (rc < 0 || j->ranks.count)
		return rc;
	j->is_flat = true;
	return scan(j, j->path, NULL, SOURCE_FINAL, e);
}

static int compare_ranks(const void *left, const void *right)
{
	const char *a = ((const struct rank *)left)->name, *b = ((const struct rank *)right)->name;
	size_t a_host = (size_t)(strrchr(a, '-') - a), b_host = (size_t)(strrchr(b, '-') - b);
	size_t a_pid = strlen(a + a_host), b_pid = strlen(b + b_host);
	int order = memcmp(a, b, a_host < b_host ? a_host : b_host);

	if (order == 0 && a_host != b_host)
		order = a_host < b_host ? -1 : 1;
	if (order == 0 && a_pid != b_pid)
		order = a_pid < b_pid ? -1 : 1;
	return order ? order : strcmp(a + a_host, b + b_host);
}

int jobdir_open(const char *path, struct jobdir **ret, struct err *e)
{
	struct jobdir *j = calloc(1, sizeof *j);
	int rc;

	if (!j)
		return err_nomem(e);
	j->path = path;
	j->names = strtab_new();
	rc = j->names ? scan_all(j, e) : err_nomem(e);
	if (rc == 0 && !j->ranks.count)
		rc = err_set(e, -ENODATA, "%s: no profiling files of a rank in it or in its %s",
			     path, "profiling and tables folders (HOST-PID-profiling_summary.md)");
	if (rc < 0) {
		jobdir_close(j);
		return rc;
	}
	qsort(j->ranks.data, j->ranks.count, sizeof(struct rank), compare_ranks);
	*ret = j;
	return 0;
}

void jobdir_close(struct jobdir *j)
{
	if (!j)
		return;
	strtab_free(j->names);
	rows_fini(&j->ranks);
	free(j);
}

size_t jobdir_rank_count(const struct jobdir *j)
{
	return j->ranks.count;
}

const struct rank *jobdir_rank(const struct jobdir *j, size_t i)
{
	return (const struct rank *)j->ranks.data + i;
}

static bool is_same_folder(const char *a, const char *b)
{
	struct stat st_a, st_b;

	return stat(a, &st_a) == 0 && stat(b, &st_b) == 0 && st_a.st_dev == st_b.st_dev &&
	       st_a.st_ino == st_b.st_ino;
}

bool jobdir_would_read(const struct jobdir *j, const char *folder, const char *prefix)
{
	size_t len = strlen(prefix);

	for (int source = 0; source < RANK_SOURCES; source++) {
		CLEANUP(buf_fini) struct buf path = { 0 };
		size_t name_len = len;

		buf_printf(&path, "%s/profiling/%s", j->path, rank_source_names[source]);
		if (buf_error(&path) == 0 && is_same_folder(path.data, folder) &&
		    (source == SOURCE_FINAL ||
		     take_tail(prefix, &name_len, rank_source_names[source])) &&
		    is_rank_name(prefix, name_len))
			return true;
	}
	return is_same_folder(j->path, folder) && is_rank_name(prefix, len);
}

void jobdir_path(const struct jobdir *j, size_t rank, enum rank_file file, enum rank_source source,
		 struct buf *ret)
{
	buf_clear(ret);
	buf_printf(ret, "%s/", j->path);
	if (!j->is_flat)
		buf_printf(ret, "%s/%s/", files[file].folder, rank_source_names[source]);
	buf_put_str(ret, jobdir_rank(j, rank)->name);
	if (source != SOURCE_FINAL)
		buf_printf(ret, "-%s", rank_source_names[source]);
	buf_printf(ret, "-%s", files[file].name);
}
