/* SPDX-License-Identifier: MIT */
#include "symbol/elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/elf_image.h"
#include "base/log.h"
#include "base/number.h"
#include "symbol/elf/debuginfod_cache.h"
#include "symbol/elf/end_signals.h"

#define LIBRARY "libdebuginfod.so.1"
#define URLS "DEBUGINFOD_URLS"
#define SILENCE_S 30 /* that a server may need to send anything */
#define FETCH_S 600  /* for a file */
#define MAX_BYTES (INT64_C(8) << 30)

/* Of the library, whose header is not needed to build; its ABI has not changed since elfutils
 * 0.178. */
struct debuginfod_client;
typedef int progress_function(struct debuginfod_client *client, long done, long total);

static struct {
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	int (*find)(struct debuginfod_client *client, const unsigned char *id, int len,
		    char **ret_path);
	void (*set_progress)(struct debuginfod_client *client, progress_function *f);
} library;

static struct {
	pthread_mutex_t lock; /* of the rest, and of the library */
	debuginfod_progress *show;
	const char *urls;    /* instead of the variable; NULL: not given */
	void *handle;        /* of the library */
	bool is_off;         /* a warning said why */
	const char *id;      /* of the file that is fetched */
	long done;           /* bytes of it */
	int64_t begin_ns;    /* of the request */
	int64_t moved_ns;    /* when done last grew */
	const char *stopped; /* why the request was ended here; NULL: it was not */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

void debuginfod_show(debuginfod_progress *show)
{
	state.show = show;
}

void debuginfod_set_urls(const char *urls)
{
	state.urls = urls;
}

const char *debuginfod_urls(void)
{
	const char *urls = state.urls ? state.urls : getenv(URLS);

	return urls && urls[strspn(urls, " ")] ? urls : NULL;
}

static int load(struct err *e)
{
	const struct {
		const char *name;
		void **to;
	} functions[] = {
		{ "debuginfod_begin", (void **)&library.begin },
		{ "debuginfod_end", (void **)&library.end },
		{ "debuginfod_find_debuginfo", (void **)&library.find },
		{ "debuginfod_set_progressfn", (void **)&library.set_progress },
	};
	void *handle;

	if (state.handle)
		return 0;
	errno = 0;
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return errno == ENOMEM
			       ? err_nomem(e)
			       : err_set(e, -ENOTSUP, "no libdebuginfod here: %s", dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		*functions[i].to = dlsym(handle, functions[i].name);
		if (!*functions[i].to) {
			err_set(e, -ENOTSUP, "no libdebuginfod here: %s", dlerror());
			dlclose(handle);
			return e->code;
		}
	}
	if (state.urls && setenv(URLS, state.urls, 1) < 0) {
		dlclose(handle);
		return err_nomem(e);
	}
	state.handle = handle;
	return 0;
}

int debuginfod_load(struct err *e)
{
	int rc;

	pthread_mutex_lock(&state.lock);
	rc = load(e);
	pthread_mutex_unlock(&state.lock);
	return rc;
}

/* As the library, which takes the last 100 KiB of that time. */
static int64_t silence_ns(void)
{
	const char *text = getenv("DEBUGINFOD_TIMEOUT");
	uint64_t seconds = 0;
	size_t len = text ? strlen(text) : 0;

	if (!len || number_parse(text, len, &seconds) != len || !seconds || seconds > FETCH_S)
		seconds = SILENCE_S;
	return (int64_t)seconds * NS_PER_S;
}

/* The library calls this at least once a second. Before a server has the file, done counts these
 * calls, and total is 0. Not 0 ends the request. */
static int watch(struct debuginfod_client *client, long done, long total)
{
	int64_t now_ns = clock_mono_ns();

	(void)client;
	if (total > 0 && done > state.done) {
		state.done = done;
		state.moved_ns = now_ns;
	}
	if (end_signals_pending())
		state.stopped = "a signal ends it";
	else if (now_ns - state.moved_ns > silence_ns())
		state.stopped = "the server sends nothing";
	else if (now_ns - state.begin_ns > FETCH_S * NS_PER_S)
		state.stopped = "it takes too long";
	else if (done > MAX_BYTES || total > MAX_BYTES)
		state.stopped = "the file is too large";
	if (state.show)
		state.show(state.id, total > 0 && done > 0 ? (uint64_t)done : 0,
			   total > 0 ? (uint64_t)total : 0);
	return state.stopped != NULL;
}

static int fetch(const char *id, struct err *e)
{
	struct debuginfod_client *client = library.begin();
	int fd;

	if (!client)
		return err_nomem(e);
	state.id = id;
	state.done = 0;
	state.begin_ns = state.moved_ns = clock_mono_ns();
	state.stopped = NULL;
	library.set_progress(client, watch);
	fd = library.find(client, (const unsigned char *)id, 0, NULL);
	library.end(client);
	if (state.show)
		state.show(NULL, 0, 0);
	if (state.stopped) {
		if (fd >= 0)
			close(fd);
		return err_set(e, -ETIMEDOUT, "%s", state.stopped);
	}
	if (fd < 0)
		return err_set(e, fd, "%s", strerror(-fd));
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		errno = 0; /* a program that is started meanwhile can read it */
	return fd;
}

static int prepare_cache(struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };

	if (geteuid() != 0)
		return 0;
	debuginfod_cache_path(&path);
	if (buf_error(&path) < 0)
		return err_nomem(e);
	if (debuginfod_cache_make(path.data, e) < 0)
		return err_wrap(e, "root's cache (DEBUGINFOD_CACHE_PATH)");
	return 0;
}

static int open_locked(const char *id, struct err *e)
{
	int rc = state.is_off ? err_set(e, -ENOENT, "no request is made any more") : load(e);

	if (rc == 0)
		rc = prepare_cache(e);
	if (rc == 0)
		rc = fetch(id, e);
	if (rc >= 0 || rc == -ENOENT || rc == -ENOMEM)
		return rc;
	state.is_off = true;
	log_msg(LOG_WARN, "symbol", "debuginfod: %s; no more debug files are requested", e->msg);
	return rc;
}

int debuginfod_open(const char *build_id, struct err *e)
{
	size_t len = strlen(build_id);
	int rc;

	if (!len || len % 2 || len >= ELF_BUILD_ID_HEX ||
	    strspn(build_id, "0123456789abcdef") != len)
		return err_set(e, -EINVAL, "debuginfod: no build id");
	if (!debuginfod_urls())
		return err_set(e, -ENOENT, "debuginfod: %s: " URLS " names no server", build_id);
	pthread_mutex_lock(&state.lock);
	rc = open_locked(build_id, e);
	pthread_mutex_unlock(&state.lock);
	if (rc >= 0)
		log_msg(LOG_INFO, "symbol", "debuginfod: fetched build id %s", build_id);
	return rc < 0 ? err_wrap(e, "debuginfod: %s", build_id) : rc;
}
