/* SPDX-License-Identifier: MIT */
#include "cachejob/cluster.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cachejob/rank_profile.h"
#include "cachejob/rank_summary.h"

#define MAX_FILE_BYTES ((size_t)1 << 30) /* of a rank's file */
#define MAX_LOGGED 5                     /* damaged files */

/* The state of reading one rank. */
struct reading {
	struct cluster *cluster;
	uint32_t rank;
	uint32_t last_rank;              /* with a file of operations */
	bool has_table[PATH_CATEGORIES]; /* of this rank */
	enum rank_source source;         /* the worst source of this rank's files */
	bool has_file;
	struct buf path, text;
	struct rows rows;            /* struct rank_row */
	struct rank_profile *paths;  /* the last one that was read; NULL: none */
	uint32_t paths_rank;         /* whose it is, */
	enum rank_source paths_from; /* and from where */
	struct err *e;
};

static int note_damage(struct reading *r, const struct err *reason)
{
	struct cluster *c = r->cluster;

	/* A file that has several tables is named once. */
	if (strtab_find(c->damaged, reason->msg, strlen(reason->msg)) != STRTAB_NONE)
		return 0;
	if (c->damaged_count++ < MAX_LOGGED)
		log_msg(LOG_WARN, "cache", "%s: left out", reason->msg);
	if (c->damaged_count <= CLUSTER_DAMAGED_MAX &&
	    strtab_intern(c->damaged, reason->msg, strlen(reason->msg)) == STRTAB_NONE)
		return err_nomem(r->e);
	return 0;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Adds the values of all rows by name. omits_zeros: an earlier rank without the row has 0. */
static int add_values(struct reading *r, struct range_table *t, bool omits_zeros, size_t ranks)
{
	const struct rank_row *rows = r->rows.data;

	for (size_t i = 0; i < r->rows.count; i++) {
		struct range *ranges = range_table_at(t, rows[i].name, rows[i].len);

		if (!ranges)
			return err_nomem(r->e);
		for (size_t k = 0; k < t->values; k++) {
			if (omits_zeros)
				range_fill(&ranges[k], ranks, r->last_rank);
			range_add(&ranges[k], r->rank, rows[i].values[k]);
		}
	}
	return 0;
}

static struct cluster_path *path_of(struct cluster *c, const struct rank_row *row)
{
	uint32_t path = strtab_intern(c->paths, row->name, row->len), *index;
	struct cluster_path *p;

	if (path == STRTAB_NONE)
		return NULL;
	index = map_at(&c->path_index, map_pair((uint32_t)row->category, path));
	if (!index)
		return NULL;
	if (*index != MAP_NONE)
		return (struct cluster_path *)c->path_rows.data + *index;
	p = rows_add(&c->path_rows, sizeof *p);
	if (!p)
		return NULL;
	*index = (uint32_t)(c->path_rows.count - 1);
	p->path = path;
	p->category = row->category;
	return p;
}

/* least: the least events of the row's list; 0: the list is complete. */
static int add_path(struct reading *r, const struct rank_row *row, int64_t least)
{
	struct cluster_path *p = path_of(r->cluster, row);

	if (!p)
		return err_nomem(r->e);
	for (int i = 0; i < PATH_VALUES; i++)
		decimal_add(&p->values[i], row->values[i]);
	range_add(&p->events, r->rank, row->values[PATH_EVENTS]);
	p->least_listed = add_clamped(p->least_listed, least);
	return 0;
}

/* The least events of each list. A list that is shorter than the rank's longest is complete: 0. */
static void find_least(const struct rank_row *rows, size_t count, int64_t least[PATH_CATEGORIES])
{
	size_t counts[PATH_CATEGORIES] = { 0 }, most = 0;

	for (int i = 0; i < PATH_CATEGORIES; i++)
		least[i] = INT64_MAX;
	for (size_t i = 0; i < count; i++) {
		enum path_category category = rows[i].category;
		int64_t events = rows[i].values[PATH_EVENTS].integer;

		if (events < least[category])
			least[category] = events;
		if (++counts[category] > most)
			most = counts[category];
	}
	for (int i = 0; i < PATH_CATEGORIES; i++)
		if (counts[i] < most || !most)
			least[i] = 0;
}

static int add_top_paths(struct reading *r)
{
	const struct rank_row *rows = r->rows.data;
	int64_t least[PATH_CATEGORIES];
	int rc = 0;

	find_least(rows, r->rows.count, least);
	for (size_t i = 0; rc == 0 && i < r->rows.count; i++)
		if (!r->has_table[rows[i].category])
			rc = add_path(r, &rows[i], least[rows[i].category]);
	for (int i = 0; i < PATH_CATEGORIES; i++)
		if (!r->has_table[i])
			r->cluster->least_listed[i] =
				add_clamped(r->cluster->least_listed[i], least[i]);
	return rc;
}

static int add_table(struct reading *r, enum path_category category)
{
	const struct rank_row *rows = r->rows.data;
	int rc = 0;

	r->has_table[category] = true;
	for (size_t i = 0; rc == 0 && i < r->rows.count; i++)
		rc = add_path(r, &rows[i], 0);
	return rc;
}

/* Only for paths that the rank's tables list. */
static void add_costs(struct reading *r)
{
	struct cluster *c = r->cluster;
	const struct rank_row *rows = r->rows.data;

	for (size_t i = 0; i < r->rows.count; i++) {
		uint32_t path = strtab_find(c->paths, rows[i].name, rows[i].len);

		if (path == STRTAB_NONE)
			continue;
		for (uint32_t category = CATEGORY_METADATA; category <= CATEGORY_TREE; category++) {
			uint32_t index = map_get(&c->path_index, map_pair(category, path));
			struct cluster_path *p = (struct cluster_path *)c->path_rows.data + index;

			/* 0: this rank made no request of this category. */
			if (index == MAP_NONE || decimal_is_zero(rows[i].values[category]))
				continue;
			p->has_costs = true;
			decimal_add(&p->latency_us, rows[i].values[category]);
			if (category == CATEGORY_DATA)
				decimal_add(&p->bytes, rows[i].values[COST_BYTES]);
		}
	}
}

static int add_rows(struct reading *r, enum rank_file kind)
{
	struct cluster *c = r->cluster;

	switch (kind) {
	case RANK_METRICS:
		return add_values(r, &c->metrics, false, 0);
	case RANK_OPERATIONS: /* an operation without calls has no row */
		return add_values(r, &c->operations, true, c->ranks[kind]);
	case RANK_LATENCY:
		return add_values(r, &c->latencies, false, 0);
	case RANK_COSTS:
		add_costs(r);
		return 0;
	case RANK_METADATA_EVENTS:
		return add_table(r, CATEGORY_METADATA);
	case RANK_DATA_EVENTS:
		return add_table(r, CATEGORY_DATA);
	case RANK_TREE_EVENTS:
		return add_table(r, CATEGORY_TREE);
	case RANK_TTL_EVENTS:
		return add_table(r, CATEGORY_TTL);
	default:
		return add_top_paths(r);
	}
}

static int copy_rows(struct rows *to, const struct rows *from, struct err *e)
{
	const struct rank_row *all = from->data;

	for (size_t i = 0; i < from->count; i++) {
		struct rank_row *row = rows_add(to, sizeof *row);

		if (!row)
			return err_nomem(e);
		*row = all[i];
	}
	return 0;
}

/* A profile has several tables, and is read once. */
static int parse_profile(struct reading *r, enum rank_file kind, enum rank_source source,
			 struct err *e)
{
	int rc = 0;

	if (!r->paths || r->paths_rank != r->rank || r->paths_from != source) {
		rank_profile_free(r->paths);
		r->paths = NULL;
		rc = file_read_small(r->path.data, MAX_FILE_BYTES, &r->text, e);
		if (rc == 0)
			rc = rank_profile_read(r->text.data, r->text.len, &r->paths, e);
	}
	if (rc < 0)
		return rc;
	r->paths_rank = r->rank;
	r->paths_from = source;
	return copy_rows(&r->rows, rank_profile_rows(r->paths, kind), e);
}

static int parse_file(struct reading *r, enum rank_file file, enum rank_file kind,
		      enum rank_source source, struct err *e)
{
	int rc;

	if (file == RANK_PROFILE)
		return parse_profile(r, kind, source, e);
	rc = file_read_small(r->path.data, MAX_FILE_BYTES, &r->text, e);
	if (rc < 0)
		return rc;
	return file == RANK_SUMMARY
		       ? rank_summary_parse(kind, r->text.data, r->text.len, &r->rows, e)
		       : rank_file_parse(kind, r->text.data, r->text.len, &r->rows, e);
}

/* The rows of this kind, from a file that has them. 0: r->rows has them; -EINVAL: the file is
 * damaged, and noted; or another -errno. */
static int parse(struct reading *r, enum rank_file file, enum rank_file kind,
		 enum rank_source source)
{
	struct err reason = { 0 };
	int rc;

	jobdir_path(r->cluster->job, r->rank, file, source, &r->path);
	if (buf_error(&r->path) < 0)
		return err_nomem(r->e);
	buf_clear(&r->text);
	r->rows.count = 0;
	rc = parse_file(r, file, kind, source, &reason);
	if (rc == -EINVAL)
		err_wrap(&reason, "%s", r->path.data);
	if (rc == -ENOMEM)
		return err_nomem(r->e);
	if (rc < 0)
		return note_damage(r, &reason) < 0 ? -ENOMEM : -EINVAL;
	return 0;
}

static void count_file(struct reading *r, enum rank_file kind, enum rank_source source)
{
	r->cluster->ranks[kind]++;
	if (kind == RANK_OPERATIONS)
		r->last_rank = r->rank;
	/* Each path that is read or listed is looked up first, so this table has all paths. */
	if (kind == RANK_METADATA_EVENTS && source <= SOURCE_PRE_DESTROY)
		r->cluster->complete_ranks++;
}

static bool is_table(enum rank_file kind)
{
	return kind >= RANK_METADATA_EVENTS && kind <= RANK_TTL_EVENTS;
}

/* The file that has the rows of this kind: its own, else one of ours. RANK_FILES: none. */
static enum rank_file find_file(const struct rank *rank, enum rank_file kind,
				enum rank_source source)
{
	enum rank_file ours = RANK_FILES;

	if (is_table(kind) || kind == RANK_COSTS)
		ours = RANK_PROFILE;
	else if (kind != RANK_TOP_PATHS)
		ours = RANK_SUMMARY;
	if (rank->sources[kind] & 1u << source)
		return kind;
	return ours < RANK_FILES && rank->sources[ours] & 1u << source ? ours : RANK_FILES;
}

/* Reads the rows from the best source that has them undamaged. */
static int read_kind(struct reading *r, enum rank_file kind)
{
	const struct rank *rank = jobdir_rank(r->cluster->job, r->rank);

	for (int source = 0; source < RANK_SOURCES; source++) {
		enum rank_file file = find_file(rank, kind, (enum rank_source)source);
		int rc;

		if (file == RANK_FILES)
			continue;
		rc = parse(r, file, kind, (enum rank_source)source);
		if (rc == -EINVAL || (rc == 0 && file == RANK_SUMMARY && !r->rows.count))
			continue;
		if (rc < 0)
			return rc;
		r->has_file = true;
		if (source > (int)r->source)
			r->source = (enum rank_source)source;
		rc = add_rows(r, kind);
		count_file(r, kind, (enum rank_source)source);
		return rc;
	}
	return 0;
}

/* The metrics come last, for ranks that have tables. */
static int read_tables(struct reading *r)
{
	int rc = 0;

	for (int kind = RANK_METADATA_EVENTS; rc == 0 && is_table((enum rank_file)kind); kind++)
		rc = read_kind(r, (enum rank_file)kind);
	return rc == 0 && r->has_file ? read_kind(r, RANK_METRICS) : rc;
}

static int read_all(struct reading *r)
{
	int rc = 0;

	for (int kind = 0; rc == 0 && kind < RANK_SUMMARY; kind++)
		rc = read_kind(r, (enum rank_file)kind);
	return rc;
}

/* From the same source as the rank's other files. */
static int read_settings(struct reading *r)
{
	const struct rank *rank = jobdir_rank(r->cluster->job, r->rank);
	char head[SETTINGS_HEAD_BYTES];
	size_t len;

	if (!(rank->sources[RANK_SUMMARY] & 1u << r->source))
		return 0;
	jobdir_path(r->cluster->job, r->rank, RANK_SUMMARY, r->source, &r->path);
	if (buf_error(&r->path) < 0)
		return err_nomem(r->e);
	len = file_read_start(r->path.data, head, sizeof head);
	return settings_add(&r->cluster->settings, head, len) < 0 ? err_nomem(r->e) : 0;
}

static bool was_reset(const struct rank *rank)
{
	for (int kind = 0; kind < RANK_FILES; kind++)
		if (rank->sources[kind] & 1u << SOURCE_PRE_RESET)
			return true;
	return false;
}

/* A rank creates its summary when it begins. */
static int note_unfinished(struct reading *r)
{
	const struct rank *rank = jobdir_rank(r->cluster->job, r->rank);
	struct err reason = { 0 };

	if (!rank->sources[RANK_SUMMARY])
		return 0;
	err_set(&reason, -EINVAL, "%s: the rank runs, or was killed", rank->name);
	return note_damage(r, &reason);
}

static int read_rank(struct reading *r, enum cluster_paths what)
{
	int rc;

	memset(r->has_table, 0, sizeof r->has_table);
	r->source = SOURCE_FINAL;
	r->has_file = false;
	rc = what == CLUSTER_TABLES_ONLY ? read_tables(r) : read_all(r);
	if (r->has_file) {
		r->cluster->rank_count++;
		r->cluster->sources[r->source]++;
		r->cluster->reset_ranks += r->source != SOURCE_PRE_RESET &&
					   was_reset(jobdir_rank(r->cluster->job, r->rank));
		if (rc == 0)
			rc = read_settings(r);
	} else if (rc == 0 && what == CLUSTER_ALL_PATHS) {
		rc = note_unfinished(r);
	}
	return rc;
}

static int read_ranks(struct cluster *c, const struct cluster_opts *o, struct err *e)
{
	struct reading r = { .cluster = c, .e = e };
	size_t count = jobdir_rank_count(c->job);
	int rc = 0;

	for (; rc == 0 && r.rank < count; r.rank++) {
		rc = read_rank(&r, o->what);
		if (o->progress)
			o->progress(o->progress_self, r.rank + 1, count);
	}
	range_table_fill(&c->operations, c->ranks[RANK_OPERATIONS], r.last_rank);
	buf_fini(&r.path);
	buf_fini(&r.text);
	rows_fini(&r.rows);
	rank_profile_free(r.paths);
	if (c->damaged_count > MAX_LOGGED)
		log_msg(LOG_WARN, "cache", "%zu more files left out",
			c->damaged_count - MAX_LOGGED);
	return rc;
}

int cluster_read(struct cluster *c, const struct jobdir *job, const struct cluster_opts *o,
		 struct err *e)
{
	int rc;

	*c = (struct cluster){ .job = job, .paths = strtab_new(), .damaged = strtab_new() };
	if (c->paths && c->damaged && settings_init(&c->settings) == 0 &&
	    range_table_init(&c->metrics, METRIC_VALUES) == 0 &&
	    range_table_init(&c->operations, OPERATION_VALUES) == 0 &&
	    range_table_init(&c->latencies, LATENCY_VALUES) == 0)
		rc = read_ranks(c, o, e);
	else
		rc = err_nomem(e);
	if (rc == 0 && (range_table_sort(&c->metrics) < 0 || range_table_sort(&c->operations) < 0 ||
			range_table_sort(&c->latencies) < 0))
		rc = err_nomem(e);
	if (rc == 0 && !c->rank_count && c->damaged_count)
		rc = err_set(e, -ENODATA, "all %zu profiling files are damaged", c->damaged_count);
	else if (rc == 0 && !c->rank_count && o->what == CLUSTER_ALL_PATHS)
		rc = err_set(e, -ENODATA, "no profiling files with numbers");
	else if (rc == 0 && !c->rank_count)
		rc = err_set(e, -ENODATA, "no list of paths: %s", "--profile-paths writes it");
	if (rc < 0)
		cluster_fini(c);
	return rc;
}

void cluster_fini(struct cluster *c)
{
	range_table_fini(&c->metrics);
	range_table_fini(&c->operations);
	range_table_fini(&c->latencies);
	settings_fini(&c->settings);
	strtab_free(c->paths);
	strtab_free(c->damaged);
	map_fini(&c->path_index);
	rows_fini(&c->path_rows);
	*c = (struct cluster){ 0 };
}

const struct cluster_path *cluster_path(const struct cluster *c, size_t i)
{
	return (const struct cluster_path *)c->path_rows.data + i;
}

int64_t cluster_evicted_paths(const struct cluster *c)
{
	const struct range *paths = range_table_find(&c->metrics, "paths_no_more_known");

	return paths ? paths->sum.integer : 0;
}

size_t cluster_kernel_cached(const struct cluster *c)
{
	return settings_ranks(&c->settings, "Kernel caching", "on");
}

struct str cluster_path_text(const struct cluster *c, const struct cluster_path *p)
{
	return strtab_get(c->paths, p->path);
}

int64_t cluster_missing(const struct cluster *c, const struct cluster_path *p)
{
	int64_t all = c->least_listed[p->category];

	return all > p->least_listed ? all - p->least_listed : 0;
}
