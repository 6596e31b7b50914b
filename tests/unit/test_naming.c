/* SPDX-License-Identifier: MIT */
/*
 * This program is its own naming process, too: main() runs it when it is started so. As a double
 * it does to each file what the file is called.
 */
#include "symbol/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/elf_image.h"
#include "base/log.h"
#include "symbol/elf/opener.h"
#include "symbol/name_channel.h"
#include "symbol/sandbox.h"
#include "tap.h"

#define DOUBLE "TEST_NAMING_DOUBLE" /* set in the environment: the process is a double */
#define KEEP __attribute__((noinline, used))

static const struct name_channel channel = { .fd = STDIN_FILENO };

static void answer(const struct name_request *r, const char *name, int code)
{
	struct symbol_function function = { name, name, "", 0 };
	struct name_answer a = { .code = code, .reason = "no reason", .functions = &function };
	struct buf bytes = { 0 };

	a.first = calloc(r->count + 1, sizeof *a.first);
	a.frames = calloc(r->count + 1, sizeof *a.frames);
	if (!a.first || !a.frames)
		_exit(3);
	a.function_count = 1;
	for (size_t i = 0; i < r->count; i++)
		a.first[i + 1] = (uint32_t)i + 1;
	name_answer_write(&a, r->count, &bytes);
	if (buf_error(&bytes) < 0 ||
	    name_channel_send(&channel, NAME_ANSWER, bytes.data, bytes.len, -1) < 0)
		_exit(3);
	free(a.first);
	free(a.frames);
	buf_fini(&bytes);
}

/* Memory until there is no more, then the answer says so. */
static void eat(const struct name_request *r)
{
	const size_t step = (size_t)16 << 20;
	char *got = malloc(step);

	for (size_t i = 0; got && i < 64; i++) {
		memset(got, 1, step);
		got = malloc(step);
	}
	answer(r, "eaten", got ? -EIO : -ENOMEM);
}

/* A file that is not one of a binary is not given away. */
static void ask_for(const struct name_request *r, const char *path, enum opener_kind kind)
{
	struct buf message = { 0 };
	int fd = -1, rc;

	buf_put_byte(&message, (unsigned char)kind);
	buf_put_str(&message, path);
	rc = buf_error(&message);
	if (rc == 0)
		rc = name_channel_send(&channel, NAME_OPEN, message.data, message.len, -1);
	if (rc == 0)
		rc = name_channel_receive(&channel, &message, &fd);
	answer(r, rc == NAME_OPENED && fd < 0 ? "refused" : "opened", 0);
	buf_fini(&message);
}

/* Whether all is done: an answer came, or none will. */
static bool misbehave(const struct name_request *r, const char *name)
{
	volatile unsigned turns = 0;

	while (strcmp(name, "loop") == 0)
		turns = turns + 1;
	if (strcmp(name, "crash") == 0)
		raise(SIGABRT); /* which sanitizers leave alone */
	else if (strcmp(name, "leave") == 0)
		_exit(0);
	else if (strncmp(name, "hang", 4) == 0)
		sleep(60);
	else if (strcmp(name, "eat") == 0)
		eat(r);
	else if (strcmp(name, "secret") == 0)
		ask_for(r, "/etc/passwd", OPENER_ELF);
	else if (strcmp(name, "text") == 0)
		ask_for(r, "/etc/passwd", OPENER_TEXT);
	else if (strcmp(name, "binary") == 0)
		ask_for(r, "/proc/self/exe", OPENER_ELF);
	else if (strcmp(name, "served") == 0)
		ask_for(r, "/proc/self/exe", OPENER_BUILD_ID);
	else if (strcmp(name, "nowhere") == 0)
		ask_for(r, "", OPENER_ELF);
	else if (strcmp(name, "few") == 0)
		answer(&(struct name_request){ .count = r->count - 1 }, "few", 0);
	else if (strcmp(name, "noise") == 0)
		return name_channel_send(&channel, NAME_ANSWER, "\xff\xff\xff", 3, -1) == 0;
	else
		return false;
	return true;
}

static void behave(const struct name_request *r, const char *name)
{
	if (misbehave(r, name))
		return;
	if (strcmp(name, "log") == 0 && name_channel_send(&channel, NAME_LOG, "\0a\nb", 4, -1) < 0)
		_exit(3);
	answer(r, name, 0);
}

static int be_double(const char *kind)
{
	struct name_address *addresses;
	struct buf bytes = { 0 };
	struct name_request r;

	if (strcmp(kind, "dead") == 0)
		return 1;
	if (name_channel_send(&channel, NAME_HELLO, "", 1, -1) < 0)
		return 1;
	while (name_channel_receive(&channel, &bytes, NULL) == NAME_REQUEST) {
		if (name_request_read(bytes.data, bytes.len, &r, &addresses) < 0)
			return 1;
		behave(&r, r.file.name);
		free(addresses);
	}
	buf_fini(&bytes);
	return 0;
}

/* What the log said. */
static char said[1024];
static int lines;

static void keep_log(enum log_level level, const char *domain, const char *text)
{
	(void)domain;
	if (level != LOG_WARN)
		return;
	snprintf(said, sizeof said, "%s", text);
	lines++;
}

/* "NAME", "refused", ...: what the process says that the code is called; NULL: nothing. */
static const char *ask(struct naming *n, const char *file)
{
	static const struct name_address addresses[2] = { { 1, 1 }, { 2, 2 } };
	static char name[64];
	struct name_request r = { .file = { .path = file, .name = file },
				  .addresses = addresses,
				  .count = 2 };
	struct name_answer a = { 0 };
	struct err e;
	bool has_name = false;

	said[0] = '\0';
	lines = 0;
	if (naming_ask(n, &r, file, &a, &e) == 0 && a.code == 0 && a.first[2] == 2) {
		snprintf(name, sizeof name, "%s", a.functions[a.frames[1].function].name);
		has_name = true;
	}
	name_answer_fini(&a);
	return has_name ? name : NULL;
}

static void test_hostile(void)
{
	static const struct naming_limits brief = { 1, 100, (uint64_t)256 << 20 };
	static const struct naming_limits hasty = { 100, 1, (uint64_t)256 << 20 };
	static const struct naming_limits small = { 100, 100, (uint64_t)256 << 20 };
	static const struct {
		const char *file, *name, *line;
		const struct naming_limits *limits;
	} rows[] = {
		{ "first", "first", "", &small },
		{ "crash", NULL, "killed by signal 6", &small },
		{ "second", "second", "", &small },
		{ "leave", NULL, "the process that names them ended", &small },
		{ "few", NULL, "its answer makes no sense", &small },
		{ "noise", NULL, "its answer makes no sense", &small },
		{ "loop", NULL, "more than 1 s of CPU time", &brief },
		{ "hang", NULL, "no answer within 1 s", &hasty },
		{ "eat", NULL, "out of memory", &small },
		{ "third", "third", "", &small },
	};
	struct naming n = { 0 };

	setenv(DOUBLE, "alive", 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char want[256] = "";

		naming_isolate(rows[i].limits);
		if (rows[i].line[0])
			snprintf(want, sizeof want,
				 "%s: naming its functions failed (%s); they are shown by address",
				 rows[i].file, rows[i].line);
		if (!sandbox_has_limits() && strcmp(rows[i].file, "eat") == 0)
			continue;
		CHECK_STR(ask(&n, rows[i].file), rows[i].name);
		CHECK_STR(said, want);
		CHECK_INT(lines, rows[i].line[0] ? 1 : 0);
		/* It is not asked for again, and not spoken of again. */
		CHECK_STR(ask(&n, rows[i].file), rows[i].name);
		CHECK_INT(lines, 0);
	}
	naming_end(&n);
}

static void test_files(void)
{
	struct naming n = { 0 };

	naming_isolate(&naming_defaults);
	setenv(DOUBLE, "alive", 1);
	CHECK_STR(ask(&n, "secret"), "refused");
	CHECK_STR(ask(&n, "text"), "refused");
	CHECK_STR(ask(&n, "nowhere"), "refused");
	CHECK_STR(ask(&n, "served"), "refused");
	CHECK_STR(ask(&n, "binary"), "opened");
	CHECK_STR(ask(&n, "log"), "log");
	CHECK_STR(said, "a?b");
	naming_end(&n);
}

/* A signal that is blocked ends the naming at once, although the process hangs. */
static void test_signal(void)
{
	struct naming n = { 0 };
	sigset_t mask, before;
	int64_t start_ns;
	int signal;

	naming_isolate(&naming_defaults);
	setenv(DOUBLE, "alive", 1);
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigprocmask(SIG_BLOCK, &mask, &before);
	raise(SIGINT);
	start_ns = clock_mono_ns();
	CHECK_STR(ask(&n, "hanging"), NULL);
	CHECK(strstr(said, "a signal ends the naming") != NULL);
	CHECK(clock_mono_ns() - start_ns < NS_PER_S);
	CHECK_STR(ask(&n, "fourth"), NULL);
	CHECK_INT(lines, 0);
	sigwait(&mask, &signal);
	sigprocmask(SIG_SETMASK, &before, NULL);
	naming_end(&n);
}

static KEEP int known_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

static int find_base(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	*(uint64_t *)ret = info->dlpi_addr;
	return 1;
}

/* What the real process calls known_function(). */
static void ask_real(struct naming *n, char *ret, size_t size)
{
	uint64_t base = 0;
	struct name_address address;
	struct name_request r = { .file = { .path = "/proc/self/exe", .name = "test" },
				  .addresses = &address,
				  .count = 1 };
	union {
		int (*function)(int);
		uint64_t number;
	} at = { .function = known_function };
	struct name_answer a = { 0 };
	struct elf_image image;
	struct err e;

	dl_iterate_phdr(find_base, &base);
	address = (struct name_address){ 0, at.number - base };
	if (CHECK_INT(elf_image_open(&image, r.file.path, &e), 0)) {
		CHECK(elf_offset_of_vaddr(&image, address.vaddr, &address.offset));
		elf_image_close(&image);
	}
	if (CHECK_INT(naming_ask(n, &r, "test", &a, &e), 0) && CHECK_INT(a.code, 0) &&
	    CHECK_INT(a.first[1], 1))
		snprintf(ret, size, "%s", a.functions[a.frames[0].function].name);
	name_answer_fini(&a);
}

/* The line of /proc/PID/status that begins so, without that. */
static void read_status(pid_t pid, const char *key, char *ret, size_t size)
{
	char path[64], line[256];
	FILE *in;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	in = fopen(path, "r");
	ret[0] = '\0';
	while (in && fgets(line, sizeof line, in))
		if (strncmp(line, key, strlen(key)) == 0)
			snprintf(ret, size, "%s", line + strlen(key));
	if (in)
		fclose(in);
}

static void test_process(void)
{
	char name[64] = "", text[256];
	struct naming n = { 0 };

	naming_isolate(&naming_defaults);
	unsetenv(DOUBLE);
	ask_real(&n, name, sizeof name);
	CHECK_STR(name, "known_function");
	CHECK(n.pid > 0);
	read_status(n.pid, "NoNewPrivs:", text, sizeof text);
	CHECK_STR(text, "\t1\n");
	read_status(n.pid, "CapEff:", text, sizeof text);
	CHECK_STR(text, "\t0000000000000000\n");
	read_status(n.pid, "Uid:", text, sizeof text);
	if (geteuid() == 0)
		CHECK(strstr(text, "\t0\t") == NULL);
	read_status(n.pid, "Seccomp:", text, sizeof text);
	if (sandbox_has_limits())
		CHECK_STR(text, "\t2\n");
	naming_end(&n);
}

/* Where no process can work, the files are read here. */
static void test_fallback(void)
{
	char name[64] = "";
	struct naming n = { 0 };

	naming_isolate(&naming_defaults);
	setenv(DOUBLE, "dead", 1);
	ask_real(&n, name, sizeof name);
	CHECK_STR(name, "known_function");
	CHECK_INT(n.pid, 0);
	naming_end(&n);
	naming_isolate(NULL);
	name[0] = '\0';
	ask_real(&n, name, sizeof name);
	CHECK_STR(name, "known_function");
	naming_end(&n);
}

int main(int argc, char **argv)
{
	const char *kind = getenv(DOUBLE);

	if (argc == 2 && strcmp(argv[1], NAMING_VERB) == 0)
		return kind ? be_double(kind) : naming_serve();
	known_function(0);
	log_open(keep_log, NULL);
	TAP_CASE(test_hostile);
	TAP_CASE(test_files);
	TAP_CASE(test_signal);
	TAP_CASE(test_process);
	TAP_CASE(test_fallback);
	return tap_done();
}
