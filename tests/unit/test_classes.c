/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/classes.h"

#include <errno.h>

#include "cachejob/cluster_sums.h"
#include "tap.h"

static void test_patterns(void)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} rows[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "**", "/a/b", true },
		{ "abc", "abc", true },
		{ "abc", "abcd", false },
		{ "abc", "ab", false },
		{ "a*", "a", true },
		{ "a*", "ba", false },
		{ "*a", "ba", true },
		{ "*a", "ab", false },
		{ "a*a", "a", false },
		{ "a*a", "aa", true },
		{ "*ab*ab", "ab", false },
		{ "*ab*ab", "xabyab", true },
		{ "*ab*ab*", "abab", true },
		{ "*/x/*.so", "/x/y.so/x/z.so", true },
		{ "*/x/*.so", "/x/y.so/", false },
		{ "a?c", "abc", false },
		{ "[ab]", "a", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(classes_pattern_fits(rows[i].pattern, strlen(rows[i].pattern),
						rows[i].text,
						strlen(rows[i].text)) == rows[i].fits))
			fprintf(stderr, "%s on %s\n", rows[i].pattern, rows[i].text);
}

static void test_built_in(void)
{
	static const struct {
		const char *path;
		bool is_absent;
		const char *class;
	} rows[] = {
		/* Copper's, for the same paths */
		{ "/e/lib/python312.zip", true, "python_zip_probe" },
		{ "/e/bin/pyvenv.cfg", true, "virtual_env_probe" },
		{ "/e/lib/glibc-hwcaps/x86-64-v3/libm.so.6", true, "glibc_hwcaps_probe" },
		{ "/e/lib/libnot.so.1", true, "missing_shared_library_probe" },
		{ "/e/nothing", true, "negative_probe_path" },
		{ "/e/lib/python3.12/site-packages/torch/lib/libtorch.so", false,
		  "torch_native_library" },
		{ "/e/lib/python3.12/site-packages/torch/nn/__init__.py", false,
		  "torch_python_package" },
		{ "/e/lib/python3.12/site-packages/attr/__init__.py", false,
		  "python_site_packages" },
		{ "/e/lib/python3.12/os.py", false, "python_stdlib" },
		{ "/e/bin/python3", false, "environment_bin" },
		{ "/e/lib/libm.so.6", false, "shared_library" },
		{ "/e", false, "environment_prefix" },
		/* and what it does not know */
		{ "/usr/lib/python3/dist-packages/yaml/__init__.py", false,
		  "python_site_packages" },
		{ "/usr/lib/python3/dist-packages/torch/lib/libc10.so", false,
		  "torch_native_library" },
		{ "/v/lib64/python3.11/ast.py", false, "python_stdlib" },
		{ "/v/lib64/python3.11/__pycache__/ast.cpython-311.pyc", false,
		  "python_stdlib_bytecode" },
		{ "/v/lib/python3.11/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so", false,
		  "python_extension" },
		{ "/v/lib/python3.11/site-packages/numpy/__pycache__/x.cpython-311.pyc", false,
		  "python_package_bytecode" },
		{ "/v/lib/python3.11/site-packages/numpy/_core.cpython-311.so", false,
		  "python_package_library" },
		{ "/v/lib/python3.11/site-packages/scipy.libs/libopenblas.so.0", false,
		  "python_package_library" },
		{ "/v/lib/python3.11/site-packages/numpy-2.1.dist-info/METADATA", false,
		  "python_metadata" },
		{ "/v/lib/python3.11/site-packages/x.pth", false, "python_metadata" },
		{ "/v/conda-meta/history", false, "conda_metadata" },
		{ "/v/pyvenv.cfg", false, "virtual_env" },
		{ "/v/lib/python3.11/site-packages/certifi/cacert.txt", false,
		  "python_package_data" },
		{ "/v/x.cpython-311-x86_64-linux-gnu.so", true, "python_extension_probe" },
		{ "/v/x.py", true, "python_module_probe" },
		{ "/tmp/x.sock", true, "negative_probe_path" },
	};
	struct classes *c;
	struct err e;

	if (!CHECK_INT(classes_new(NULL, 0, &c, &e), 0))
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(classes_name(c, classes_find(c, rows[i].is_absent, rows[i].path,
						       strlen(rows[i].path))),
			  rows[i].class);
	classes_free(c);
}

static void test_of_users(void)
{
	static const char rules[] = "# mine\n\n  data\tpresent  /my data/*  \r\nall any /all*\n";
	struct classes *c;
	struct err e;

	if (!CHECK_INT(classes_new(rules, sizeof rules - 1, &c, &e), 0))
		return;
	CHECK_STR(classes_name(c, classes_find(c, false, "/my data/x", 10)), "data");
	CHECK_STR(classes_name(c, classes_find(c, true, "/my data/x", 10)), "negative_probe_path");
	CHECK_STR(classes_name(c, classes_find(c, true, "/all", 4)), "all");
	classes_free(c);
}

static void test_refused(void)
{
	static const char *const rows[][2] = {
		{ "a present\n", "line 1: no pattern" },
		{ "\na\n", "line 2: '' is not absent, present or any" },
		{ "a|b any *", "line 1: 'a|b' is not a name of a class" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct classes *c;
		struct err e;

		CHECK_INT(classes_new(rows[i][0], strlen(rows[i][0]), &c, &e), -EINVAL);
		CHECK_STR(e.msg, rows[i][1]);
	}
}

static void test_packages(void)
{
	static const char *const rows[][2] = {
		{ "/e/site-packages/numpy/core/x.py", "numpy" },
		{ "/e/site-packages/numpy", "numpy" },
		{ "/e/site-packages/six.py", "six" },
		{ "/e/site-packages/__pycache__/six.cpython-311.pyc", "six" },
		{ "/e/site-packages/__pycache__", "" },
		{ "/e/dist-packages/PyYAML-6.0.dist-info/RECORD", "PyYAML" },
		{ "/e/site-packages/scipy.libs/libx.so", "scipy" },
		{ "/e/site-packages/a/site-packages/b/c", "b" },
		{ "/e/site-packages", "" },
		{ "/e/site-packages/", "" },
		{ "/e/x", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str got = path_package((struct str){ rows[i][0], strlen(rows[i][0]) });
		char text[64];

		snprintf(text, sizeof text, "%.*s", (int)got.len, got.ptr);
		CHECK_STR(text, rows[i][1]);
	}
}

int main(void)
{
	TAP_CASE(test_patterns);
	TAP_CASE(test_built_in);
	TAP_CASE(test_of_users);
	TAP_CASE(test_refused);
	TAP_CASE(test_packages);
	return tap_done();
}
