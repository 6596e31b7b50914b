/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/eager.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_NS (NS_PER_S / 5000) /* where requests come twice as often */
#define SHARED_NS 50000           /* others ran on our CPU meanwhile */
#define MISSES_MAX 3              /* in a row: then it looks less and less often */
#define REST_MAX 8                /* down to each 256th time */

/* Not if it is in vain, as when who asks runs on our CPU. */
static bool is_due(struct eager *g)
{
	if (2 * g->usual_wait_ns > LOOK_NS)
		return false;
	if (!g->rest)
		return true;
	g->rest--;
	return false;
}

static void set_looks(struct eager *g, int fd, bool looks)
{
	if (g->looks != looks)
		fcntl(fd, F_SETFL, looks ? O_NONBLOCK : 0);
	g->looks = looks;
}

/* Who else wants our CPU gets it, and keeps it. */
static ssize_t look(struct eager *g, int fd, void *into, size_t len, int64_t begin_ns)
{
	int64_t now_ns = begin_ns, before_ns;
	ssize_t n;

	set_looks(g, fd, true);
	do {
		before_ns = now_ns;
		n = read(fd, into, len);
		if (n >= 0 || errno != EAGAIN)
			break;
		sched_yield();
		now_ns = clock_mono_ns();
	} while (now_ns - begin_ns < LOOK_NS && now_ns - before_ns < SHARED_NS);
	g->misses = n >= 0 ? 0 : g->misses + 1;
	if (g->misses >= MISSES_MAX)
		g->rest = 1u << (g->misses < REST_MAX ? g->misses : REST_MAX);
	return n;
}

ssize_t eager_read(struct eager *g, int fd, void *into, size_t len)
{
	int64_t begin_ns = clock_mono_ns(), waited_ns;
	ssize_t n = -1;

	errno = EAGAIN;
	if (is_due(g))
		n = look(g, fd, into, len, begin_ns);
	if (n < 0 && errno == EAGAIN) {
		set_looks(g, fd, false);
		n = read(fd, into, len);
	}
	waited_ns = clock_mono_ns() - begin_ns;
	if (waited_ns > 2 * LOOK_NS)
		waited_ns = 2 * LOOK_NS;
	g->usual_wait_ns += (waited_ns - g->usual_wait_ns) / 8;
	return n;
}
