/* SPDX-License-Identifier: MIT */
#include "cli/picture.h"

#include <string.h>
#include <sys/stat.h>

#include "base/output/outfile.h"
#include "format/formats.h"

static bool is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return strcmp(b, "-") != 0 && stat(a, &of_a) == 0 && stat(b, &of_b) == 0 &&
	       S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

int picture_check_output(const char *output, const char *kind, char *const *paths, size_t count,
			 struct err *e)
{
	if (strcmp(output, "-") == 0)
		return 0;
	if (format_for_output(output))
		return err_usage(e, "-o %s: the ending is of a profile, and this is %s", output,
				 kind);
	for (size_t i = 0; i < count; i++)
		if (is_same_file(output, paths[i]))
			return err_usage(e, "-o %s: is the profile itself", output);
	return outfile_check(output, e);
}

bool picture_has_two_values(const struct profile *p)
{
	return profile_type_count(p) == 2 && profile_find_type(p, "before") == 0 &&
	       profile_find_type(p, "after") == 1;
}
