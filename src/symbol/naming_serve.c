/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "symbol/elf/opener.h"
#include "symbol/name_channel.h"
#include "symbol/name_finder.h"
#include "symbol/naming.h"
#include "symbol/sandbox.h"

#define SORTED 2048 /* bytes from which on qsort() of glibc looks for the size of memory, once */

static const struct name_channel channel = { .fd = STDIN_FILENO };
static bool is_channel_broken; /* a message may be there in part: nothing more can be said */

static int send_message(enum name_message type, const void *bytes, size_t len)
{
	int rc = name_channel_send(&channel, type, bytes, len, -1);

	is_channel_broken |= rc < 0 && rc != -EMSGSIZE;
	return rc;
}

/* The parent is gone: nobody wants what we do. */
static int no_parent(struct err *e, int rc)
{
	return err_set(e, rc, "no answer from auger");
}

static int open_by_parent(const char *path, enum opener_kind kind, struct err *e)
{
	struct buf message = { 0 };
	int fd = -1, rc, code;

	buf_put_byte(&message, (unsigned char)kind);
	buf_put_str(&message, path);
	rc = buf_error(&message);
	if (rc == 0)
		rc = send_message(NAME_OPEN, message.data, message.len);
	if (rc == 0) {
		rc = name_channel_receive(&channel, &message, &fd);
		is_channel_broken |= rc < 0;
	}
	if (rc == NAME_OPENED && fd < 0 && message.len >= sizeof code) {
		memcpy(&code, message.data, sizeof code);
		rc = err_set(e, code, "%s", message.data + sizeof code);
	} else if (fd < 0) {
		rc = no_parent(e, rc < 0 ? rc : -EPROTO);
	}
	buf_fini(&message);
	return fd >= 0 ? fd : rc;
}

static void log_by_parent(enum log_level level, const char *domain, const char *text)
{
	struct buf message = { 0 };

	(void)domain; /* this process has one */
	buf_put_byte(&message, (unsigned char)level);
	buf_put_str(&message, text);
	if (buf_error(&message) == 0 && send_message(NAME_LOG, message.data, message.len) < 0)
		errno = 0; /* it was too long, or the next answer fails as well */
	buf_fini(&message);
}

static int answer_one(const struct buf *question)
{
	struct name_address *addresses = NULL;
	struct name_request r;
	struct buf answer = { 0 };
	int rc = name_request_read(question->data, question->len, &r, &addresses);

	if (rc == 0)
		name_find(&r, &answer);
	if (rc == 0)
		rc = buf_error(&answer);
	if (rc == -ENOMEM) {
		const struct name_answer none = { .code = -ENOMEM };

		buf_fini(&answer);
		name_answer_write(&none, 0, &answer);
		rc = buf_error(&answer);
	}
	if (is_channel_broken)
		rc = -EPIPE;
	if (rc == 0)
		rc = name_channel_send(&channel, NAME_ANSWER, answer.data, answer.len, -1);
	free(addresses);
	buf_fini(&answer);
	return rc;
}

static int compare_bytes(const void *pa, const void *pb)
{
	const unsigned char *a = pa, *b = pb;

	return *a - *b;
}

/* What libc does once, and with files. */
static void warm_up(void)
{
	static unsigned char bytes[SORTED];

	qsort(bytes, sizeof bytes, 1, compare_bytes);
}

int naming_serve(void)
{
	struct buf question = { 0 };
	unsigned char has_filter;
	int rc;

	prctl(PR_SET_NAME, "auger-naming");
	log_open(log_by_parent, getenv("AUGER_LOG"));
	log_raise(LOG_INFO);
	opener_set(open_by_parent);
	warm_up();
	has_filter = sandbox_enter(STDIN_FILENO + 1);
	rc = name_channel_send(&channel, NAME_HELLO, &has_filter, 1, -1);
	while (rc == 0) {
		rc = name_channel_receive(&channel, &question, NULL);
		if (rc == NAME_REQUEST)
			rc = answer_one(&question);
	}
	buf_fini(&question);
	return rc == -EPIPE ? 0 : 1;
}
