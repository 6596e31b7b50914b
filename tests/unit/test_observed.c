/* SPDX-License-Identifier: MIT */
#include "cachejob/observed.h"

#include <unistd.h>

#include "tap.h"

static struct cluster_path *add(struct cluster *c, enum path_category category, const char *path)
{
	struct cluster_path *p = rows_add(&c->path_rows, sizeof *p);

	p->category = category;
	p->path = strtab_intern(c->paths, path, strlen(path));
	return p;
}

static const char *flags_of(const struct observed *o, const char *path)
{
	uint32_t id = observed_find(o, path, strlen(path));

	if (id == STRTAB_NONE)
		return "unknown";
	if (!(o->flags[id] & OBSERVED_PRESENT))
		return "absent";
	return o->flags[id] & OBSERVED_FOLDER ? "folder" : "present";
}

static void test_flags(void)
{
	struct cluster c = { .paths = strtab_new() };
	struct observed o;
	struct err e;

	add(&c, CATEGORY_METADATA, "/")->values[PATH_HITS].integer = 1;
	add(&c, CATEGORY_METADATA, "/x")->values[PATH_NEGATIVE].integer = 9;
	add(&c, CATEGORY_METADATA, "/a")->values[PATH_NEGATIVE].integer = 1;
	add(&c, CATEGORY_METADATA, "/a/b/c")->values[PATH_MISSES].integer = 1;
	add(&c, CATEGORY_TTL, "/a/no")->values[PATH_SERVES].integer = 1;
	add(&c, CATEGORY_TREE, "/list")->values[PATH_HITS].integer = 1;
	/* Copper's reads past its cache */
	add(&c, CATEGORY_DATA, "/big")->values[PATH_NEGATIVE].integer = 1;
	if (CHECK_INT(observed_make(&o, &c, &e), 0)) {
		CHECK_STR(flags_of(&o, "/"), "folder");
		CHECK_STR(flags_of(&o, "/x"), "absent");
		CHECK_STR(flags_of(&o, "/a"), "folder");
		CHECK_STR(flags_of(&o, "/a/b"), "unknown");
		CHECK_STR(flags_of(&o, "/a/b/c"), "present");
		CHECK_STR(flags_of(&o, "/a/no"), "absent");
		CHECK_STR(flags_of(&o, "/list"), "folder");
		CHECK_STR(flags_of(&o, "/big"), "present");
		observed_fini(&o);
	}
	strtab_free(c.paths);
	rows_fini(&c.path_rows);
}

/* The roots that one path tells of, and those that are named. */
static const char *roots_of(const char *path, const char *named)
{
	static char text[256];
	struct cluster c = { .paths = strtab_new() };
	struct strtab *texts = strtab_new();
	CLEANUP(rows_fini) struct rows roots = { 0 };
	struct observed o;
	struct err e;
	size_t len = 0;

	add(&c, CATEGORY_METADATA, path)->values[PATH_HITS].integer = 1;
	text[0] = '\0';
	if (CHECK_INT(observed_make(&o, &c, &e), 0) &&
	    CHECK_INT(observed_roots(&o, &named, named != NULL, texts, &roots, &e), 0))
		for (size_t i = 0; i < roots.count; i++)
			len += (size_t)snprintf(text + len, sizeof text - len, "%s;",
						((const char **)roots.data)[i]);
	observed_fini(&o);
	strtab_free(texts);
	strtab_free(c.paths);
	rows_fini(&c.path_rows);
	return text;
}

static void test_roots(void)
{
	static const struct {
		const char *path, *named, *want;
	} rows[] = {
		{ "/x", NULL, "" },
		{ "/lus/a/conda_env_2/bin/x", NULL, "/lus/a/conda_env_2;" },
		{ "/lus/a/conda_env", NULL, "/lus/a/conda_env;" },
		{ "/opt/env/conda-meta", NULL, "/opt/env;" },
		{ "/opt/env/pyvenv.cfg", NULL, "/opt/env;" },
		{ "/opt/env/lib/python3.12/os.py", NULL, "/opt/env;" },
		{ "/opt/env/lib64/python3.12/os.py", NULL, "/opt/env;" },
		{ "/usr/lib/python3/dist-packages/yaml", NULL, "/usr/lib/python3;" },
		{ "/usr/lib64/python3.9/os.py", NULL, "/usr/lib64/python3.9;" },
		{ "/usr/local/lib/python3.11/x", NULL, "/usr/local/lib/python3.11;" },
		{ "/lib/python3/x", NULL, "/lib/python3;" },
		{ "/opt/env/pyvenv.cfg", "/opt/", "/opt;" },
		{ "/opt/env/pyvenv.cfg", "/opt/env-2", "/opt/env;/opt/env-2;" },
		{ "/opt/env/pyvenv.cfg", "/opt/env/../env/./lib//x/", "/opt/env;" },
		{ "/opt/env/pyvenv.cfg", "/..", "/;" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(roots_of(rows[i].path, rows[i].named), rows[i].want);
}

static void test_relative_roots(void)
{
	if (CHECK_INT(chdir("/usr"), 0))
		CHECK_STR(roots_of("/x", "lib"), "/usr/lib;");
}

static void test_order(void)
{
	/* "/a-b" stands between "/a" and "/a/b" */
	CHECK(path_is_within((struct str){ "/a/b", 4 }, "/a"));
	CHECK(path_is_within((struct str){ "/a", 2 }, "/a"));
	CHECK(path_is_within((struct str){ "/a", 2 }, "/"));
	CHECK(!path_is_within((struct str){ "/a-b", 4 }, "/a"));
	CHECK(!path_is_within((struct str){ "/", 1 }, "/a"));
}

int main(void)
{
	TAP_CASE(test_flags);
	TAP_CASE(test_roots);
	TAP_CASE(test_relative_roots);
	TAP_CASE(test_order);
	return tap_done();
}
