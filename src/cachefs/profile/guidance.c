/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/guidance.h"

#include "base/macros.h"

/* Advice for a job in which these classes have at least this percentage of all events. */
static const struct advice {
	double percent;
	const char *classes[6];
	const char *text;
} advices[] = {
	{ 0,
	  { "torch_native_library", "gpu_library", "python_package_library", "mpi_library" },
	  "the dynamic linker loads native libraries: a library that was read is needed, even if "
	  "few of its pages were. Do not remove it because it is large." },
	{ 0,
	  { "python_site_packages", "python_stdlib", "torch_python_package" },
	  "remove unused packages first, with the package manager (pip uninstall, conda remove), "
	  "which knows what depends on them." },
	{ 1,
	  { "python_package_bytecode", "python_stdlib_bytecode" },
	  "Python reads modules from __pycache__: keep it complete (python3 -m compileall), so that it "
	  "only stats the sources." },
	{ 1,
	  { "python_bytecode_probe", "python_module_probe" },
	  "Python searched folders without the module: shorten sys.path and PYTHONPATH, and put the "
	  "folder with most modules first." },
	{ 1,
	  { "python_extension_probe" },
	  "Python looks up each extension module by several names: fewer folders in sys.path mean "
	  "fewer lookups." },
	{ 1,
	  { "python_metadata", "python_metadata_probe" },
	  "Python searched the metadata of installed packages (entry points, .pth files): install fewer "
	  "packages, and use fewer .pth files." },
	{ 1,
	  { "conda_metadata" },
	  "conda read its own records (conda-meta): run the program from the activated environment "
	  "instead of with 'conda run'." },
	{ 0,
	  { "python_zip_probe", "virtual_env_probe", "glibc_hwcaps_probe", "python_prefix_probe" },
	  "Python and the dynamic linker probe python*.zip, pyvenv.cfg and glibc-hwcaps when they "
	  "start: this is expected, and cheap when the cache serves it." },
	{ 0,
	  { "missing_shared_library_probe", "library_folder_probe" },
	  "the dynamic linker searched folders without the library: shorten LD_LIBRARY_PATH, or give "
	  "programs an RPATH with the library's folder first." },
	{ 1,
	  { "configuration_probe", "locale_probe", "command_probe" },
	  "programs searched many places for configuration, locales or commands: set the variables that "
	  "name the one to use (LC_ALL=C, PATH with few folders)." },
	{ 1,
	  { "model_or_data" },
	  "the program reads models or data sets through the same mount as its code: give them a "
	  "storage of their own." },
};

static int64_t events_of(const struct advice *a, const struct path_sums *sums)
{
	int64_t events = 0;

	for (size_t i = 0; i < ARRAY_LEN(a->classes) && a->classes[i]; i++)
		if (__builtin_add_overflow(events, path_sums_events(sums, a->classes[i]), &events))
			return INT64_MAX;
	return events;
}

static double all_events(const struct path_sums *sums)
{
	const struct path_sum *s = sums->classes.data;
	double all = 0;

	for (size_t i = 0; i < sums->classes.count; i++)
		all += decimal_real(s[i].events);
	return all;
}

static void put_ttl(struct buf *out, struct decimal serves)
{
	if (decimal_is_zero(serves))
		return;
	buf_put_str(out, "- Programs looked up missing names again and again, and negative entries "
			 "answered ");
	decimal_put(out, serves);
	buf_put_str(out,
		    " lookups. This is no fault, but a shorter search path also saves the lookups "
		    "themselves.\n");
}

void guidance_put(struct buf *out, const struct path_sums *sums, struct decimal negative_serves)
{
	double all = all_events(sums);

	buf_put_str(out, "- The next run may need what this run did not use: try a reduced copy "
			 "(`auger cache paths --prune-script`), never the original.\n");
	for (size_t i = 0; i < ARRAY_LEN(advices); i++) {
		const struct advice *a = &advices[i];
		int64_t events = events_of(a, sums);
		double percent = all > 0 ? 100 * (double)events / all : 0;

		if (!events || percent < a->percent)
			continue;
		buf_printf(out, "- ");
		for (size_t k = 0; k < ARRAY_LEN(a->classes) && a->classes[k]; k++)
			if (path_sums_events(sums, a->classes[k]))
				buf_printf(out, "`%s` ", a->classes[k]);
		buf_printf(out, "(%.1f%% of events): %s\n", percent, a->text);
	}
	put_ttl(out, negative_serves);
	buf_put_str(out, "- Prune whole packages, on the evidence of several runs, and not single "
			 "files.\n");
}
