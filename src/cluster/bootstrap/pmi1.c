/* SPDX-License-Identifier: MIT */
/*
 * PMI-1: lines of text over the descriptor that the launcher names in PMI_FD (hydra of MPICH, srun
 * --mpi=pmi2). Source: MPICH, src/pmi; the lines "cmd=NAME key=value ...".
 */
#include "cluster/bootstrap/pmi1.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/str.h"
#include "cluster/bootstrap/way.h"

#define MAX_LINE 4096
#define KVS_MAX 256

struct pmi {
	int fd; /* the launcher's; not closed by us */
	char kvs[KVS_MAX];
	struct buf in; /* what was read behind the last line */
	int64_t end_ns;
};

static bool read_number(const char *name, uint64_t limit, uint64_t *ret)
{
	const char *text = getenv(name);
	size_t len = text ? strlen(text) : 0;

	return len && number_parse(text, len, ret) == len && *ret <= limit;
}

static bool pmi_is_offered(const struct bootstrap_config *config)
{
	uint64_t number;

	(void)config;
	return read_number("PMI_FD", INT32_MAX, &number) &&
	       read_number("PMI_RANK", UINT32_MAX - 1, &number) &&
	       read_number("PMI_SIZE", UINT32_MAX - 1, &number);
}

/* The next line of the launcher, without its end, in p->in: *ret is its length. */
static int read_line(struct pmi *p, size_t *ret, struct err *e)
{
	for (;;) {
		const char *end = p->in.len ? memchr(p->in.data, '\n', p->in.len) : NULL;
		struct pollfd wait = { .fd = p->fd, .events = POLLIN };
		int64_t left = p->end_ns - clock_mono_ns();
		ssize_t n;
		void *into;

		if (end) {
			*ret = (size_t)(end - p->in.data);
			return 0;
		}
		if (p->in.len >= MAX_LINE)
			return err_set(e, -EPROTO, "PMI: the launcher sends more than a line");
		if (left <= 0)
			return err_set(e, -ETIMEDOUT,
				       "PMI: not all ranks, or no launcher, answered in time");
		left = (left + 999999) / 1000000;
		if (poll(&wait, 1, left < 60000 ? (int)left : 60000) <= 0)
			continue;
		into = buf_reserve(&p->in, MAX_LINE);
		if (!into)
			return err_nomem(e);
		n = read(p->fd, into, MAX_LINE);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return err_errno(e, "PMI");
		if (n == 0)
			return err_set(e, -ECONNRESET, "PMI: the launcher closed the connection");
		buf_grew(&p->in, (size_t)n);
	}
}

bool pmi1_find(struct str line, const char *key, char *ret, size_t size)
{
	struct str word;

	while ((word = str_take_word(&line)).len) {
		size_t len = strlen(key);

		if (!str_starts_with(word, key) || word.len <= len || word.ptr[len] != '=')
			continue;
		if (word.len - len - 1 >= size)
			return false;
		memcpy(ret, word.ptr + len + 1, word.len - len - 1);
		ret[word.len - len - 1] = '\0';
		return true;
	}
	return false;
}

/*
 * Sends a command, and reads its reply, whose cmd is want and whose rc is 0 or missing. key, when
 * not NULL: its value goes to ret.
 */
static int call(struct pmi *p, const char *command, const char *want, const char *key, char *ret,
		size_t size, struct err *e)
{
	int rc = file_write_all(p->fd, command, strlen(command));
	char text[64];
	struct str line;
	size_t len = 0;

	if (rc < 0)
		return err_set(e, rc, "PMI: %s", strerror(-rc));
	if (read_line(p, &len, e) < 0)
		return e->code;
	line = (struct str){ p->in.data, len };
	if (!pmi1_find(line, "cmd", text, sizeof(text)) || strcmp(text, want) != 0)
		rc = err_set(e, -EPROTO, "PMI: no %s, but '%.*s'", want, (int)(len < 80 ? len : 80),
			     line.ptr);
	else if (pmi1_find(line, "rc", text, sizeof(text)) && strcmp(text, "0") != 0)
		rc = err_set(e, -EPROTO, "PMI: %s is %s", want, text);
	else if (key && !pmi1_find(line, key, ret, size))
		rc = err_set(e, -EPROTO, "PMI: %s without %s", want, key);
	memmove(p->in.data, p->in.data + len + 1, p->in.len - len - 1);
	p->in.len -= len + 1;
	return rc;
}

static int pmi_open(const struct bootstrap_config *config, struct bootstrap *b, struct err *e)
{
	uint64_t fd = 0, rank = 0, size = 0;
	struct pmi *p = calloc(1, sizeof(*p));

	if (!p)
		return err_nomem(e);
	b->data = p;
	(void)(read_number("PMI_FD", INT32_MAX, &fd) &&
	       read_number("PMI_RANK", UINT32_MAX - 1, &rank) &&
	       read_number("PMI_SIZE", UINT32_MAX - 1, &size)); /* as in pmi_is_offered() */
	b->rank = (uint32_t)rank;
	b->size = (uint32_t)size;
	p->fd = (int)fd;
	p->end_ns = clock_mono_ns() + config->join_ns;
	if (call(p, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", NULL, NULL, 0,
		 e) < 0 ||
	    call(p, "cmd=get_my_kvsname\n", "my_kvsname", "kvsname", p->kvs, sizeof(p->kvs), e) < 0)
		return e->code;
	return 0;
}

static int get(struct bootstrap *b, uint32_t rank, char ret[BOOTSTRAP_TEXT], struct err *e)
{
	struct pmi *p = b->data;
	char command[KVS_MAX + 64];

	snprintf(command, sizeof(command), "cmd=get kvsname=%s key=auger-%u\n", p->kvs, rank);
	return call(p, command, "get_result", "value", ret, BOOTSTRAP_TEXT, e);
}

static int pmi_exchange(struct bootstrap *b, const char *own, const bool *wants, bootstrap_set *set,
			void *self, struct err *e)
{
	char command[KVS_MAX + BOOTSTRAP_TEXT + 64], text[BOOTSTRAP_TEXT];
	struct pmi *p = b->data;

	p->end_ns = clock_mono_ns() + b->join_ns;
	snprintf(command, sizeof(command), "cmd=put kvsname=%s key=auger-%u value=%s\n", p->kvs,
		 b->rank, own);
	if (call(p, command, "put_result", NULL, NULL, 0, e) < 0 ||
	    call(p, "cmd=barrier_in\n", "barrier_out", NULL, NULL, 0, e) < 0)
		return e->code;
	for (uint32_t i = 0; i < b->size; i++)
		if (wants[i] && (get(b, i, text, e) < 0 || set(self, i, text, e) < 0))
			return e->code;
	/* At once: later the launcher would end all nodes when one of them dies. */
	return call(p, "cmd=finalize\n", "finalize_ack", NULL, NULL, 0, e);
}

static void pmi_close(struct bootstrap *b)
{
	struct pmi *p = b->data;

	if (!p)
		return;
	buf_fini(&p->in);
	free(p);
}

const struct bootstrap_way bootstrap_pmi1 = {
	.name = "PMI-1",
	.is_offered = pmi_is_offered,
	.open = pmi_open,
	.exchange = pmi_exchange,
	.close = pmi_close,
};
