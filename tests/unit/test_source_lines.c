/* SPDX-License-Identifier: MIT */
#include "source/source_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output/outfile.h"
#include "tap.h"

/* A folder with the file "code.c" and the binary "prog". */
struct place {
	char folder[256], code[300], binary[300];
};

static void place_fini(struct place *p)
{
	unlink(p->code);
	unlink(p->binary);
	rmdir(p->folder);
}

static bool make_place(struct place *p, const char *text)
{
	struct err e;

	if (!CHECK(mkdtemp(tap_pattern(p->folder, sizeof p->folder))))
		return false;
	snprintf(p->code, sizeof p->code, "%s/code.c", p->folder);
	snprintf(p->binary, sizeof p->binary, "%s/prog", p->folder);
	return CHECK_INT(outfile_replace(p->code, text, strlen(text), &e), 0) &&
	       CHECK_INT(outfile_replace(p->binary, "x", 1, &e), 0);
}

static int load(const char *path, const char *binary)
{
	CLEANUP(source_lines_fini) struct source_lines s = { 0 };
	struct err e;

	return source_lines_load(&s, path, binary, &e);
}

static void test_lines(void)
{
	CLEANUP(source_lines_fini) struct source_lines s = { 0 };
	CLEANUP(place_fini) struct place p;
	struct err e;

	if (!make_place(&p, "int a;\n\tb\tc\n\nlast"))
		return;
	if (CHECK_INT(source_lines_load(&s, p.code, p.binary, &e), 0) && CHECK_INT(s.count, 4)) {
		CHECK_STR(s.lines[0], "int a;");
		CHECK_STR(s.lines[1], "        b       c");
		CHECK_STR(s.lines[2], "");
		CHECK_STR(s.lines[3], "last");
	}
}

/* A profile can name anything: none of this is read, and none of it blocks. */
static void test_no_files(void)
{
	CLEANUP(place_fini) struct place p;

	CHECK_INT(load("/dev/zero", ""), -EINVAL);
	CHECK_INT(load("/dev/kmsg", ""), access("/dev/kmsg", F_OK) == 0 ? -EINVAL : -ENOENT);
	CHECK_INT(load("/tmp", ""), -EINVAL);
	CHECK_INT(load("-", ""), -ENOENT);
	if (!make_place(&p, "int a;\n"))
		return;
	CHECK_INT(truncate(p.code, (off_t)1 << 40), 0);
	CHECK_INT(load(p.code, p.binary), -EFBIG);
	unlink(p.code);
	CHECK_INT(mkfifo(p.code, 0600), 0);
	CHECK_INT(load(p.code, p.binary), -EINVAL);
}

static void test_as_root(void)
{
	static const struct {
		uid_t code, binary;
		mode_t mode;
		int want;
	} rows[] = {
		{ 4242, 4242, 0600, 0 },    { 4242, 4243, 0600, -EACCES },
		{ 4242, 4243, 0644, 0 },    { 0, 4242, 0600, -EACCES },
		{ 0, 4242, 0640, -EACCES }, { 0, 4242, 0644, 0 },
		{ 0, 0, 0600, -EACCES },    { 0, 0, 0644, 0 },
	};
	CLEANUP(place_fini) struct place p;

	if (geteuid() != 0) {
		SKIP("needs root");
		return;
	}
	if (!make_place(&p, "int a;\n"))
		return;
	CHECK_INT(chmod(p.folder, 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_INT(chown(p.code, rows[i].code, 0), 0);
		CHECK_INT(chmod(p.code, rows[i].mode), 0);
		CHECK_INT(chown(p.binary, rows[i].binary, 0), 0);
		CHECK_INT(load(p.code, p.binary), rows[i].want);
	}
	CHECK_INT(chmod(p.code, 0600), 0);
	CHECK_INT(load(p.code, "[vdso]"), -EACCES);
	CHECK_INT(chown(p.binary, 4242, 0), 0); /* a folder that its owner may not search */
	CHECK_INT(chmod(p.code, 0644), 0);
	CHECK_INT(load(p.code, "/bin/true"), 0);
	CHECK_INT(chmod(p.folder, 0711), 0);
	CHECK_INT(load(p.code, p.binary), 0);
	CHECK_INT(chmod(p.folder, 0700), 0);
	CHECK_INT(load(p.code, p.binary), -EACCES);
	CHECK_INT(geteuid(), 0);
	CHECK_INT(load(p.code, "/bin/true"), 0);
}

int main(void)
{
	TAP_CASE(test_lines);
	TAP_CASE(test_no_files);
	TAP_CASE(test_as_root);
	return tap_done();
}
