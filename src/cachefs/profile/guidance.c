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
	  "native libraries are loaded by the dynamic linker: a library that was read is needed, "
	  "even if only few of its pages were. Do not remove it because it is large." },
	{ 0,
	  { "python_site_packages", "python_stdlib", "torch_python_package" },
	  "packages that were not touched can go first. Take them out with the package manager "
	  "(pip uninstall, conda remove), which knows what depends on them." },
	{ 1,
	  { "python_package_bytecode", "python_stdlib_bytecode" },
	  "modules are read from __pycache__: keep it complete (python3 -m compileall), and sources are "
	  "only looked at." },
	{ 1,
	  { "python_bytecode_probe", "python_module_probe" },
	  "modules were looked for where they are not: shorten sys.path and PYTHONPATH, and put the "
	  "folder that has most of them first." },
	{ 1,
	  { "python_extension_probe" },
	  "extension modules were looked for by several names: that is how Python finds them, and "
	  "fewer folders in sys.path make it less." },
	{ 1,
	  { "python_metadata", "python_metadata_probe" },
	  "the metadata of installed packages was searched (entry points, .pth files): fewer installed "
	  "packages, and fewer .pth files, make that shorter." },
	{ 1,
	  { "conda_metadata" },
	  "conda's own records (conda-meta) were read: run the program from the activated environment "
	  "instead of through 'conda run'." },
	{ 0,
	  { "python_zip_probe", "virtual_env_probe", "glibc_hwcaps_probe", "python_prefix_probe" },
	  "probes for python*.zip, pyvenv.cfg and glibc-hwcaps are how Python and the dynamic linker "
	  "start: expected, and cheap when the cache answers them." },
	{ 0,
	  { "missing_shared_library_probe", "library_folder_probe" },
	  "shared libraries were looked for where they are not: shorten LD_LIBRARY_PATH, or give the "
	  "libraries an RPATH that names their folder first." },
	{ 1,
	  { "configuration_probe", "locale_probe", "command_probe" },
	  "configuration, locales or commands were looked for in many places: set the variables that "
	  "name the one to use (LC_ALL=C, PATH with few folders)." },
	{ 1,
	  { "model_or_data" },
	  "models or data sets are read through the same mount as the program: give them a storage of "
	  "their own." },
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
	buf_put_str(out, "- Names that are absent were asked for again and again, and the cache "
			 "answered ");
	decimal_put(out, serves);
	buf_put_str(out,
		    " times for the storage. That is no fault, but a shorter search path saves "
		    "the rest of the work, too.\n");
}

void guidance_put(struct buf *out, const struct path_sums *sums, struct decimal negative_serves)
{
	double all = all_events(sums);

	buf_put_str(out,
		    "- What was not seen in this run may be needed in the next one: try a "
		    "reduced copy (`auger cache paths --prune-script`), never the original.\n");
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
	buf_put_str(out, "- Prune by package and by evidence of more than one run, not by single "
			 "files.\n");
}
