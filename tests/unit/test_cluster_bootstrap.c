/* SPDX-License-Identifier: MIT */
/* The address book, and PMI-1 with a launcher of its own. */
#include "cluster/bootstrap/bootstrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cluster/mac.h"
#include "tap.h"

#define RANKS 3
#define PATIENCE_NS (60 * NS_PER_S)

static char folder[128]; /* main() makes it, and moves there */
static const struct secret secret = { "a secret" };

/* One rank, in a thread of its own. */
struct member {
	pthread_t thread;
	struct bootstrap_config config;
	struct bootstrap *bootstrap;
	bool wants[RANKS];
	char texts[RANKS][BOOTSTRAP_TEXT]; /* what set() was called with */
	int calls, rc;
	struct err e;
};

static int set(void *self, uint32_t rank, const char *text, struct err *e)
{
	struct member *m = self;

	(void)e;
	snprintf(m->texts[rank], BOOTSTRAP_TEXT, "%s", text);
	m->calls++;
	return 0;
}

static void *take_part(void *arg)
{
	struct member *m = arg;
	char own[64];

	m->rc = bootstrap_open(&m->config, &m->bootstrap, &m->e);
	if (m->rc < 0)
		return NULL;
	snprintf(own, sizeof(own), "tcp:10.0.0.%u:80", bootstrap_rank(m->bootstrap));
	m->rc = bootstrap_exchange(m->bootstrap, own, m->wants, set, m, &m->e);
	return NULL;
}

static struct member member_of(uint32_t rank, int64_t join_ns)
{
	return (struct member){ .config = { .rank = rank,
					    .size = RANKS,
					    .address_book = "book",
					    .secret = &secret,
					    .join_ns = join_ns } };
}

static int count_files(const char *path)
{
	DIR *d = opendir(path);
	int count = 0;

	while (d && readdir(d))
		count++;
	if (d)
		closedir(d);
	return count - 2;
}

static void test_book(void)
{
	struct member all[RANKS];

	for (uint32_t i = 0; i < RANKS; i++) {
		all[i] = member_of(i, PATIENCE_NS);
		all[i].wants[0] = i != 0;
		all[i].wants[2] = i == 1;
		CHECK_INT(pthread_create(&all[i].thread, NULL, take_part, &all[i]), 0);
	}
	for (uint32_t i = 0; i < RANKS; i++) {
		pthread_join(all[i].thread, NULL);
		if (!CHECK_INT(all[i].rc, 0))
			fprintf(stderr, "%s\n", all[i].e.msg);
		CHECK_INT(all[i].calls, (int)i == 0 ? 0 : i == 1 ? 2 : 1);
	}
	CHECK_STR(all[1].texts[0], "tcp:10.0.0.0:80");
	CHECK_STR(all[1].texts[2], "tcp:10.0.0.2:80");
	CHECK_STR(all[2].texts[0], "tcp:10.0.0.0:80");
	CHECK_INT(count_files("book"), RANKS);
	for (uint32_t i = 0; i < RANKS; i++)
		bootstrap_close(all[i].bootstrap);
	CHECK_INT(count_files("book"), 0);
	rmdir("book");
}

static void test_missing(void)
{
	struct member m = member_of(1, 1);

	take_part(&m);
	CHECK_INT(m.rc, -ETIMEDOUT);
	CHECK(strstr(m.e.msg, "of 3 ranks, 0, 2 did not write to address book 'book'") != NULL);
	bootstrap_close(m.bootstrap);
	CHECK_INT(count_files("book"), 0);
	rmdir("book");
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (CHECK(fd >= 0)) {
		CHECK_INT(file_write_all(fd, text, strlen(text)), 0);
		close(fd);
	}
}

/* Files that no node wrote. */
static void test_hostile_book(void)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{ "auger-overlay 1 3 tcp:1.2.3.4:5\n", -ETIMEDOUT }, /* good; rank 2 is missing */
		{ "auger-overlay 1 4 tcp:1.2.3.4:5\n", -EINVAL },
		{ "auger-overlay 2 3 tcp:1.2.3.4:5\n", -EINVAL },
		{ "auger-overlay 1 3 tcp:1.2.3.4:5", -EINVAL },
		{ "auger-overlay 1 3 ", -EINVAL },
		{ "auger-overlay 1 3\n", -EINVAL },
		{ "auger-overlay 1  x\n", -EINVAL },
		{ "auger-overlay 1 99999999999999999999999 x\n", -EINVAL },
		{ "", -EINVAL },
		{ "\n", -EINVAL },
	};

	CHECK_INT(mkdir("book", 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct member m = member_of(0, 1);

		m.config.generation = "g";
		m.wants[1] = true;
		put("book/auger.g.1", rows[i].text);
		put("book/auger.g.77", "not read"); /* as these are */
		put("book/auger.g.1x", "not read");
		put("book/auger.old.2", "not read");
		take_part(&m);
		if (!CHECK_INT(m.rc, rows[i].want))
			fprintf(stderr, "of '%s': %s\n", rows[i].text, m.e.msg);
		bootstrap_close(m.bootstrap);
	}
	unlink("book/auger.g.1");
	unlink("book/auger.g.77");
	unlink("book/auger.g.1x");
	unlink("book/auger.old.2");
	rmdir("book");
}

static void test_planted_book(void)
{
	struct member m = member_of(0, 1);

	m.config.generation = "g";
	m.wants[1] = true;
	CHECK_INT(mkdir("book", 0700), 0);
	CHECK_INT(mkfifo("book/auger.g.1", 0600), 0);
	take_part(&m);
	CHECK_INT(m.rc, -EINVAL);
	bootstrap_close(m.bootstrap);
	unlink("book/auger.g.1");
	put("target", "auger-overlay 1 3 tcp:1.2.3.4:5\n");
	CHECK_INT(symlink("../target", "book/auger.g.1"), 0);
	take_part(&m);
	CHECK_INT(m.rc, -ELOOP);
	bootstrap_close(m.bootstrap);
	unlink("book/auger.g.1");
	unlink("target");
	CHECK_INT(chmod("book", 0770), 0);
	m.bootstrap = NULL;
	take_part(&m);
	CHECK_INT(m.rc, -EACCES);
	rmdir("book");
}

/* A rank that was started again has written the file: the old process leaves it. */
static void test_replaced(void)
{
	struct member m = member_of(0, 1);

	m.config.generation = "g";
	take_part(&m);
	CHECK_INT(m.rc, -ETIMEDOUT);
	put("book/auger.g.0", "auger-overlay 1 3 tcp:9.9.9.9:9\n");
	bootstrap_close(m.bootstrap);
	CHECK_INT(access("book/auger.g.0", F_OK), 0);
	unlink("book/auger.g.0");
	rmdir("book");
}

static void test_arguments(void)
{
	static const struct {
		struct bootstrap_config config;
		int want;
	} rows[] = {
		{ { .rank = 3, .size = 3, .address_book = "book", .secret = &secret }, -EINVAL },
		{ { .rank = 0, .size = 0, .address_book = "book", .secret = &secret }, -EINVAL },
		{ { .rank = 0, .size = 2 }, -EINVAL },
		{ { .rank = 0, .size = 2, .address_book = "book" }, -EACCES },
		{ { .size = 2, .address_book = "book", .generation = "../x" }, -EINVAL },
		{ { .size = 2, .address_book = "book", .generation = "" }, -EINVAL },
		{ { .size = 2, .address_book = "none/book", .secret = &secret }, -ENOENT },
		{ { .size = 1 }, 0 },
		{ { .size = 0 }, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bootstrap *b = NULL;
		struct err e;

		CHECK_INT(bootstrap_open(&rows[i].config, &b, &e), rows[i].want);
		if (b)
			CHECK_STR(bootstrap_name(b), "alone");
		bootstrap_close(b);
	}
	rmdir("book");
}

/* --- PMI-1 --- */

/* A launcher that answers each line by the next text, whatever it is. */
struct launcher {
	pthread_t thread;
	int fd;
	const char *const *answers; /* ends with NULL */
	char heard[2048];
};

static void *serve(void *arg)
{
	struct launcher *l = arg;
	size_t len = 0;

	for (size_t i = 0; l->answers[i]; i++) {
		char c = 0;

		while (c != '\n' && read(l->fd, &c, 1) == 1)
			if (len + 1 < sizeof(l->heard))
				l->heard[len++] = c;
		if (c != '\n')
			break;
		(void)!write(l->fd, l->answers[i], strlen(l->answers[i]));
	}
	shutdown(l->fd, SHUT_WR);
	return NULL;
}

/* Takes part as rank 1 of 2. */
static void meet(struct member *m, struct launcher *l, const char *const *answers)
{
	int fds[2];
	char number[16];

	*l = (struct launcher){ .answers = answers };
	*m = (struct member){ .config = { .join_ns = PATIENCE_NS } };
	m->wants[0] = true;
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	l->fd = fds[0];
	snprintf(number, sizeof(number), "%d", fds[1]);
	setenv("PMI_FD", number, 1);
	setenv("PMI_RANK", "1", 1);
	setenv("PMI_SIZE", "2", 1);
	CHECK_INT(pthread_create(&l->thread, NULL, serve, l), 0);
	take_part(m);
	close(fds[1]);
	pthread_join(l->thread, NULL);
	close(l->fd);
	unsetenv("PMI_FD");
	unsetenv("PMI_RANK");
	unsetenv("PMI_SIZE");
}

static void test_pmi(void)
{
	static const char *const answers[] = {
		"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
		"cmd=my_kvsname kvsname=kvs_7_0\n",
		"cmd=put_result rc=0 msg=success\n",
		"cmd=barrier_out\n",
		"cmd=get_result rc=0 msg=success value=tcp:10.0.0.0:80\n",
		"cmd=finalize_ack\n",
		NULL,
	};
	struct launcher l;
	struct member m;

	meet(&m, &l, answers);
	if (!CHECK_INT(m.rc, 0))
		fprintf(stderr, "%s\n", m.e.msg);
	CHECK_STR(m.texts[0], "tcp:10.0.0.0:80");
	CHECK_INT(m.calls, 1);
	CHECK_STR(l.heard, "cmd=init pmi_version=1 pmi_subversion=1\n"
			   "cmd=get_my_kvsname\n"
			   "cmd=put kvsname=kvs_7_0 key=auger-1 value=tcp:10.0.0.1:80\n"
			   "cmd=barrier_in\n"
			   "cmd=get kvsname=kvs_7_0 key=auger-0\n"
			   "cmd=finalize\n");
	if (m.bootstrap) {
		struct secret none;

		CHECK_STR(bootstrap_name(m.bootstrap), "PMI-1");
		CHECK_INT(bootstrap_share(m.bootstrap, &none, &m.e), -EACCES);
	}
	bootstrap_close(m.bootstrap);
}

static void test_hostile_pmi(void)
{
	static char endless[8193];
	static const struct {
		const char *answers[4];
		int want;
	} rows[] = {
		{ { NULL }, -ECONNRESET },
		{ { "cmd=response_to_init rc=-1\n" }, -EPROTO },
		{ { "cmd=response_to_init rc=0\n", "cmd=my_kvsname\n" }, -EPROTO },
		{ { "cmd=response_to_init rc=0\n", "cmd=other kvsname=x\n" }, -EPROTO },
		{ { "\n" }, -EPROTO },
		{ { "cmd\n" }, -EPROTO },
		{ { "cmd=\n" }, -EPROTO },
		{ { endless }, -EPROTO },
	};

	memset(endless, 'x', sizeof(endless) - 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct launcher l;
		struct member m;

		meet(&m, &l, rows[i].answers);
		if (!CHECK_INT(m.rc, rows[i].want))
			fprintf(stderr, "of answer %zu: %s\n", i, m.e.msg);
		bootstrap_close(m.bootstrap);
	}
}

int main(void)
{
	struct err e;

	unsetenv("PMI_FD");
	if (!mkdtemp(tap_pattern(folder, sizeof(folder))) || chdir(folder) < 0)
		return 1;
	if (mac_open(&e) == 0) {
		TAP_CASE(test_book);
		TAP_CASE(test_missing);
		TAP_CASE(test_hostile_book);
		TAP_CASE(test_planted_book);
		TAP_CASE(test_replaced);
		TAP_CASE(test_arguments);
	}
	TAP_CASE(test_pmi);
	TAP_CASE(test_hostile_pmi);
	if (chdir("/") < 0 || rmdir(folder) < 0)
		perror(folder);
	return tap_done();
}
