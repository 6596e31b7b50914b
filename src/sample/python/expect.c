/* SPDX-License-Identifier: MIT */
/* The program that a command will execute, and the files of a running process. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/storage/storage_open.h"
#include "sample/python/python_internal.h"
#include "target/proc.h"

#define EXPECT_TIMEOUT_NS INT64_C(1000000000)
#define EXPECTED_MAX 4096  /* mappings of code of a process */
#define LINE_MAX_BYTES 256 /* of "#!INTERPRETER ARGUMENT" */

/* -1: it is none, or its storage does not reply. */
static int open_executable(const char *path)
{
	struct err ignored;
	struct stat st;
	int fd = storage_open_regular(path, 0, &ignored);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_mode & 0111)
		return fd;
	close(fd);
	return -1;
}

/* As execvp(3) finds it. A descriptor, or -1. */
static int open_program(const char *name, char ret[PATH_MAX])
{
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX ? open_executable(ret) : -1;
	while (at && *at) {
		size_t len = strcspn(at, ":");
		int fd = -1;

		if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)len, at, name) < PATH_MAX)
			fd = open_executable(ret);
		if (fd >= 0)
			return fd;
		at += len + (at[len] == ':');
	}
	return -1;
}

/* The interpreter of a script, or the program that env(1) starts for it; else path stays. */
static void follow_script(int fd, char path[PATH_MAX])
{
	char line[LINE_MAX_BYTES + 1], found[PATH_MAX], *rest, *word;
	ssize_t n = read(fd, line, LINE_MAX_BYTES);
	int program;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &rest);
	if (word && strcmp(path_base(word), "env") == 0)
		for (word = strtok_r(NULL, " \t", &rest); word && *word == '-';)
			word = strtok_r(NULL, " \t", &rest);
	program = word ? open_program(word, found) : -1;
	if (program < 0)
		return;
	close(program);
	memcpy(path, found, sizeof found);
}

int python_settle(struct python *p)
{
	struct file_reader_reply reply;
	int rc = 0;

	while (rc == 0 && file_reader_wait(&p->file_reader, EXPECT_TIMEOUT_NS, &reply))
		rc = python_take_reply(p, &reply);
	return rc;
}

/* Without memory a file is one without CPython. */
static void wait_for_replies(struct python *p)
{
	if (python_settle(p) < 0)
		return;
}

void python_expect_command(struct python *p, char *const *argv)
{
	struct file_reader_request r = { .number = FILE_EXPECTED };
	char path[PATH_MAX];
	int fd = open_program(argv[0], path);

	if (fd < 0)
		return;
	follow_script(fd, path);
	close(fd);
	if (snprintf(r.path, sizeof r.path, "%s", path) < (int)sizeof r.path &&
	    file_reader_put(&p->file_reader, &r) == 0)
		wait_for_replies(p);
}

/* The mappings of code of a process; visit gets each with its number. */
static void visit_code(struct python *p, pid_t pid,
		       void (*visit)(struct python *p, const struct interp_mapping *m))
{
	char line[PATH_MAX + 128], name[PROC_PATH], bits[8];
	unsigned long long start, end, offset;
	uint32_t number = FILE_EXPECTED;
	FILE *f;
	int at;

	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, bits, &offset,
			   &at) == 4 &&
		    bits[2] == 'x' && line[at] == '/' && number > FILE_EXPECTED - EXPECTED_MAX)
			visit(p, &(struct interp_mapping){ .pid = (uint32_t)pid,
							   .start = start,
							   .end = end,
							   .offset = offset,
							   .file = number--,
							   .path = line + at });
	}
	if (f)
		fclose(f);
}

static void ask(struct python *p, const struct interp_mapping *m)
{
	python_ask(p, m);
}

static void take(struct python *p, const struct interp_mapping *m)
{
	python_map(p, m);
	/* Without memory its file is asked again. */
	if (python_expect(p, m) < 0)
		return;
}

void python_expect_process(struct python *p, pid_t pid)
{
	map_clear(&p->files); /* the numbers are of the mappings of one process */
	visit_code(p, pid, ask);
	wait_for_replies(p);
	visit_code(p, pid, take);
	map_clear(&p->files);
}
