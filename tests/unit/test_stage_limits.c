/* SPDX-License-Identifier: MIT */
/* stage_limits: names, depths and outputs that are not as they should be. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage_json.h"
#include "tap.h"

static struct auger_profiler *new_profiler(void)
{
	struct auger_profiler *p = auger_profiler_new(AUGER_OPTS(.level = AUGER_TIME, .out = ""));

	CHECK(p != NULL);
	return p;
}

static void call_stage(struct auger_profiler *p, const char *text, size_t len)
{
	auger_stage_end(p, auger_stage_begin_name(p, text, len));
}

static void test_depth(void)
{
	struct auger_profiler *p =
		auger_profiler_new(AUGER_OPTS(.level = AUGER_TIME, .out = "", .max_depth = 4));
	auger_token tokens[10];

	for (int i = 0; i < 10; i++)
		tokens[i] = auger_stage_begin_name(p, "a", 1);
	for (int i = 9; i >= 0; i--)
		auger_stage_end(p, tokens[i]);
	CHECK_INT(stage_number(p, "a.a.a.a", "calls"), 1);
	CHECK(isnan(stage_number(p, "a.a.a.a.a", "calls")));
	CHECK_INT(stage_number(p, NULL, "too_deep"), 6);
	CHECK_INT(stage_number(p, NULL, "errors"), 0);
	call_stage(p, "b", 1);
	CHECK_INT(stage_number(p, "b", "calls"), 1);
	auger_profiler_close(p);
}

/* More names than rows, and more than the process keeps. */
static void test_many_names(void)
{
	struct auger_profiler *p = new_profiler();
	char name[32];

	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof name, "name %d", i);
		call_stage(p, name, strlen(name));
	}
	call_stage(p, "name 7", 6);
	CHECK_INT(stage_number(p, "name 7", "calls"), 2);
	CHECK_INT(stage_number(p, "name 999", "calls"), 1);
	CHECK(isnan(stage_number(p, "name 1000", "calls")));
	CHECK_INT(stage_number(p, "other", "calls"), 99000);
	CHECK_INT(stage_number(p, NULL, "over_limit"), 99000);
	CHECK_INT(stage_number(p, NULL, "errors"), 0);
	auger_profiler_close(p);
	p = new_profiler();
	{
		AUGER_STAGE(p, "name of a place");
	}
	CHECK_INT(stage_number(p, "name of a place", "calls"), 1);
	auger_profiler_close(p);
}

static void test_names(void)
{
	static const struct {
		const char *text;
		size_t len;
		const char *label; /* as JSON writes it */
	} rows[] = {
		{ "say \"x\"", 7, "say \\\"x\\\"" },
		{ "a\nb\t\\", 5, "a\\nb\\t\\\\" },
		{ "a.b", 3, "a.b" },
		{ "\xff\xc3", 2, "\\\\xff\\\\xc3" },
		{ "caf\xc3\xa9", 5, "caf\xc3\xa9" },
		{ "\xed\xa0\x80", 3, "\\\\xed\\\\xa0\\\\x80" },
		{ "nul\0inside", 10, "nul\\u0000inside" },
		{ "", 0, "(empty)" },
		{ NULL, 0, "(null)" },
	};
	struct auger_profiler *p = new_profiler();

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		call_stage(p, rows[i].text, rows[i].len);
		CHECK_INT(stage_number(p, rows[i].label, "calls"), 1);
	}
	CHECK_INT(stage_number(p, NULL, "errors"), 1); /* NULL */
	auger_profiler_close(p);
}

/* A label is one row, whatever way led to it. */
static void test_dots(void)
{
	struct auger_profiler *p = new_profiler();

	call_stage(p, "a.b", 3);
	{
		AUGER_STAGE(p, "a");
		call_stage(p, "b", 1);
	}
	CHECK_INT(stage_number(p, "a.b", "calls"), 2);
	auger_profiler_close(p);
}

static void test_long_names(void)
{
	struct auger_profiler *p = new_profiler();
	char name[400], label[256];

	memset(name, 'x', sizeof name);
	memset(label, 'x', 255);
	label[255] = '\0';
	call_stage(p, name, sizeof name);
	CHECK_INT(stage_number(p, label, "calls"), 1);
	auger_profiler_close(p);
}

static void test_keys(void)
{
	struct auger_profiler *p = new_profiler();
	char *report;

	auger_profiler_set(p, "input", "one");
	auger_profiler_set(p, "input", "two\"");
	auger_profiler_set(p, "gone", "x");
	auger_profiler_set(p, "gone", NULL);
	auger_profiler_set(p, "pid", "mine");
	report = auger_profiler_report(p, NULL);
	CHECK(report && strstr(report, "\"input\":\"two\\\"\""));
	CHECK(report && !strstr(report, "\"gone\""));
	CHECK(report && !strstr(report, "mine"));
	free(report);
	auger_profiler_close(p);
}

static char folder[256];

static void path_in_folder(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", folder, name);
}

/* It is an error, not the end of the program by SIGPIPE. */
static void write_without_reader(struct auger_profiler *p)
{
	int ends[2];

	CHECK_INT(pipe(ends), 0);
	close(ends[0]);
	CHECK_INT(auger_profiler_write_fd(p, ends[1]), -EPIPE);
	close(ends[1]);
}

/* Lines are appended; a profile is replaced. */
static void test_files(void)
{
	struct auger_profiler *p = new_profiler();
	char pattern[300], path[300];
	struct stat lines, one;

	setenv("SLURM_ARRAY_TASK_ID", "../7", 1);
	call_stage(p, "a", 1);
	path_in_folder(pattern, sizeof pattern, "%p-%q%%.jsonl");
	snprintf(path, sizeof path, "%s/%d-%%q%%.jsonl", folder, getpid());
	CHECK_INT(auger_profiler_write(p, pattern), 0);
	CHECK_INT(stat(path, &one), 0);
	CHECK_INT(auger_profiler_write(p, pattern), 0);
	CHECK_INT(stat(path, &lines), 0);
	CHECK(lines.st_size > one.st_size);
	unlink(path);
	path_in_folder(path, sizeof path, "a.pb.gz");
	CHECK_INT(auger_profiler_write(p, path), 0);
	CHECK_INT(auger_profiler_write(p, path), 0);
	CHECK_INT(stat(path, &one), 0);
	unlink(path);
	CHECK_INT(auger_profiler_write(p, "/proc/nowhere/x"), -ENOENT);
	CHECK_INT(auger_profiler_write(p, "/dev/full"), -ENOSPC);
	CHECK_INT(auger_profiler_write_fd(p, -1), -EBADF);
	write_without_reader(p);
	auger_profiler_close(p);
	p = new_profiler(); /* reads the environment anew */
	path_in_folder(pattern, sizeof pattern, "%a.jsonl");
	CHECK_INT(auger_profiler_write(p, pattern), 0);
	path_in_folder(path, sizeof path, ".._7.jsonl");
	CHECK_INT(unlink(path), 0);
	unsetenv("SLURM_ARRAY_TASK_ID");
	auger_profiler_close(p);
}

/* A failure at the end is told once, and harms nothing. */
static void test_unwritable_out(void)
{
	int saved = dup(STDERR_FILENO);
	int ends[2];
	char words[1024];
	ssize_t len;

	CHECK_INT(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	for (int i = 0; i < 3; i++) {
		struct auger_profiler *p = auger_profiler_new(
			AUGER_OPTS(.level = AUGER_TIME, .out = "/proc/nowhere/x"));

		call_stage(p, "a", 1);
		auger_profiler_close(p);
	}
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	len = read(ends[0], words, sizeof words - 1);
	words[len > 0 ? len : 0] = '\0';
	close(ends[0]);
	CHECK_STR(words, "auger: cannot write the report of stages: '/proc/nowhere/x': "
			 "No such file or directory\n");
}

/* errno is the program's. */
static void test_errno(void)
{
	struct auger_profiler *p = auger_profiler_new(AUGER_OPTS(.level = AUGER_FULL, .out = ""));

	errno = EILSEQ;
	for (int i = 0; i < 100; i++)
		call_stage(p, "a", 1);
	CHECK_INT(errno, EILSEQ);
	auger_profiler_close(p);
}

/* A program that closes what it does not know and opens its own loses nothing of it. */
static void test_closed_files(void)
{
	struct auger_profiler *p = auger_profiler_new(AUGER_OPTS(.level = AUGER_FULL, .out = ""));
	int fd;

	for (fd = 3; fd < 1024; fd++)
		close(fd);
	fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 300; i++)
		dup2(fd, 200 + i);
	call_stage(p, "a", 1);
	CHECK_INT(stage_number(p, "a", "calls"), 1);
	auger_profiler_close(p);
	CHECK(fcntl(200, F_GETFD) >= 0);
	CHECK(fcntl(201, F_GETFD) >= 0);
	for (fd = 3; fd < 1024; fd++)
		close(fd);
}

static void test_many_profilers(void)
{
	struct auger_profiler *list[300];
	int made = 0;

	for (int i = 0; i < 300; i++) {
		list[i] = auger_profiler_new(AUGER_OPTS(.level = AUGER_TIME, .out = ""));
		made += list[i] != NULL;
		call_stage(list[i], "a", 1);
	}
	CHECK_INT(made, 256);
	CHECK_INT(errno, EMFILE);
	for (int i = 0; i < 300; i++) {
		if (list[i])
			CHECK_INT(stage_number(list[i], "a", "calls"), 1);
		auger_profiler_close(list[i]);
	}
}

/* An old caller's options are shorter. */
static void test_old_options(void)
{
	struct auger_opts opts = { .size = offsetof(struct auger_opts, max_stages),
				   .level = AUGER_TIME,
				   .out = "",
				   .max_depth = 1 };
	struct auger_profiler *p = auger_profiler_new(&opts);

	{
		AUGER_STAGE(p, "a");
		call_stage(p, "b", 1);
	}
	CHECK_INT(stage_number(p, "a.b", "calls"), 1);
	auger_profiler_close(p);
}

/* Bytes of address space that the process has. */
static rlim_t address_space(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
		return 0;
	close(fd);
	return (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

static int run_without_memory(void)
{
	struct auger_profiler *p = new_profiler();
	struct rlimit limit = { address_space() + 100000, RLIM_INFINITY };
	char name[32];

	setrlimit(RLIMIT_AS, &limit);
	for (int i = 0; i < 900; i++) {
		snprintf(name, sizeof name, "hungry %d", i);
		call_stage(p, name, strlen(name));
	}
	if (auger_profiler_new(AUGER_OPTS(.level = AUGER_TIME)) || errno != ENOMEM)
		return 2;
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_AS, &limit);
	if (stage_number(p, "hungry 0", "calls") != 1)
		return 3;
	return stage_number(p, NULL, "lost") + stage_number(p, NULL, "over_limit") < 100;
}

/* What has no memory is counted, and the program goes on. */
static void test_no_memory(void)
{
	int status = -1;
	pid_t child;

	if (TAP_UNDER_ASAN) {
		SKIP("the sanitizer itself needs memory");
		return;
	}
	child = fork();
	if (child == 0)
		_exit(run_without_memory());
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
}

int main(void)
{
	if (!mkdtemp(tap_pattern(folder, sizeof folder)))
		return 1;
	TAP_CASE(test_depth);
	TAP_CASE(test_names);
	TAP_CASE(test_dots);
	TAP_CASE(test_long_names);
	TAP_CASE(test_keys);
	TAP_CASE(test_files);
	TAP_CASE(test_unwritable_out);
	TAP_CASE(test_errno);
	TAP_CASE(test_closed_files);
	TAP_CASE(test_many_profilers);
	TAP_CASE(test_old_options);
	TAP_CASE(test_no_memory);
	TAP_CASE(test_many_names); /* the last: they are never forgotten */
	rmdir(folder);
	return tap_done();
}
