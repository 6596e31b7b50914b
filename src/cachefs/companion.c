/* SPDX-License-Identifier: MIT */
#include "cachefs/companion.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"

#define SOON_NS (NS_PER_S / 200)       /* after the last request */
#define LOOK_NS (NS_PER_S / 1000)      /* at the companion, when it has just come or nobody asks */
#define LOOK_MAX_NS (8 * LOOK_NS)      /* while it answers: each look may move the asker */
#define QUIET_LOOKS 64                 /* in a row: nobody asks any more */
#define FEW 8                          /* answers from look to look: others have the CPU */
#define NEEDED 2                       /* requests in a row */
#define WORTH_IT 64                    /* answers in a row, for what calling it takes */
#define REST_MIN_NS (NS_PER_S / 10000) /* after a time in vain; each next one: twice as long */
#define REST_MAX_NS (NS_PER_S / 4)

static void look_up(int signal)
{
	(void)signal;
}

void companion_init(struct companion *c)
{
	struct sigaction action = { .sa_handler = look_up };

	memset(c, 0, sizeof *c);
	sigaction(SIGUSR2, &action, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	sched_getaffinity(0, sizeof c->cpus, &c->cpus);
}

void companion_fini(struct companion *c)
{
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
}

bool companion_is_due(const struct companion *c, struct companion_asker *a, pid_t tid)
{
	int64_t now_ns, before_ns = a->at_ns;

	if (!tid || c->asked)
		return false;
	now_ns = clock_mono_ns();
	a->in_row = tid == a->tid ? a->in_row + 1 : 0;
	a->tid = tid;
	a->at_ns = now_ns;
	return a->in_row >= NEEDED && now_ns - before_ns < SOON_NS && now_ns >= c->due_ns;
}

/* Where a thread runs, or ran last; -1: it is gone. Source: proc_pid_stat(5), field 39. */
static int cpu_of(pid_t tid)
{
	char path[32], text[1024];
	const char *at;
	int cpu = -1;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
	if (!file_read_start(path, text, sizeof text))
		return -1;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %d", &cpu) == 1 ? cpu : -1;
}

/* Whoever may not raise it again leaves it at SCHED_IDLE, where it gets time on some CPU. */
static void place(struct companion *c, int policy, const cpu_set_t *cpus)
{
	static const struct sched_param none = { 0 };

	pthread_setschedparam(c->thread, policy | SCHED_RESET_ON_FORK, &none);
	pthread_setaffinity_np(c->thread, sizeof *cpus, cpus);
}

/* Besides the asker, its companion and us, do fewer run than there are other CPUs? Source:
 * proc_loadavg(5), the fourth field. */
static bool is_room_beside(const struct companion *c)
{
	char text[128];
	int running;

	return file_read_start("/proc/loadavg", text, sizeof text) &&
	       sscanf(text, "%*s %*s %*s %d/", &running) == 1 &&
	       running - 3 < CPU_COUNT(&c->cpus) - 1;
}

/* Off the asker's CPU: who wakes up where somebody else runs than a companion is moved to another
 * CPU, away from its own. From there on it may run anywhere. */
static void step_aside(const struct companion *c)
{
	cpu_set_t others = c->cpus;
	int cpu = c->cpu;

	if (sched_getcpu() != cpu || !is_room_beside(c))
		return;
	CPU_CLR((size_t)cpu, &others);
	pthread_setaffinity_np(pthread_self(), sizeof others, &others);
	pthread_setaffinity_np(pthread_self(), sizeof c->cpus, &c->cpus);
}

/* False: it is gone, or where we must not be. */
static bool follow(struct companion *c)
{
	int cpu = cpu_of(c->asker);
	cpu_set_t set;

	if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, &c->cpus))
		return false;
	if (cpu == c->cpu)
		return true;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	pthread_mutex_lock(&c->lock);
	if (c->called)
		place(c, SCHED_IDLE, &set);
	c->cpu = cpu;
	pthread_mutex_unlock(&c->lock);
	return true;
}

static void call(struct companion *c, pid_t asker)
{
	pthread_mutex_lock(&c->lock);
	c->asker = asker;
	c->cpu = -1;
	c->called = !c->closing;
	pthread_mutex_unlock(&c->lock);
}

static void release(struct companion *c)
{
	c->called = false;
	if (!pthread_equal(pthread_self(), c->thread))
		pthread_kill(c->thread, SIGUSR2);
	place(c, SCHED_OTHER, &c->cpus);
	pthread_cond_broadcast(&c->changed);
}

void companion_release(struct companion *c, bool in_vain)
{
	pthread_mutex_lock(&c->lock);
	if (c->called) {
		c->in_vain = in_vain;
		release(c);
	}
	pthread_mutex_unlock(&c->lock);
}

/* For the time between two looks. */
static void pause_watch(struct companion *c, int64_t pause_ns)
{
	int64_t until_ns = clock_mono_ns() + pause_ns;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };

	pthread_mutex_lock(&c->lock);
	while (c->called &&
	       pthread_cond_clockwait(&c->changed, &c->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	pthread_mutex_unlock(&c->lock);
}

/* Its time is over: when is it worth another one? */
static void plan_next(struct companion *c, unsigned answers)
{
	if (answers >= WORTH_IT)
		c->rest_ns = 0;
	else if (c->in_vain && c->rest_ns < REST_MAX_NS)
		c->rest_ns = c->rest_ns ? 2 * c->rest_ns : REST_MIN_NS;
	if (c->in_vain)
		c->due_ns = clock_mono_ns() + c->rest_ns;
}

void companion_watch(struct companion *c, pid_t asker, int session_fd)
{
	struct pollfd waiting = { .fd = session_fd, .events = POLLIN };
	unsigned first = c->answered, before = first, quiet = 0;
	int64_t pause_ns = LOOK_NS;

	call(c, asker);
	if (follow(c))
		pthread_cond_broadcast(&c->changed);
	else
		companion_release(c, true);
	while (c->called && quiet < QUIET_LOOKS) {
		unsigned answers;
		bool waits;

		pause_watch(c, pause_ns);
		answers = c->answered - before;
		waits = c->asked || poll(&waiting, 1, 0) != 0;
		before += answers;
		if (waits && answers < FEW) {
			companion_release(c, true); /* it does not get on */
		} else if (answers) {
			quiet = 0;
			pause_ns = 2 * pause_ns < LOOK_MAX_NS ? 2 * pause_ns : LOOK_MAX_NS;
			step_aside(c);
		} else {
			quiet++;
			pause_ns = LOOK_NS;
		}
	}
	companion_release(c, false);
	plan_next(c, before - first);
}

void companion_answers(struct companion *c)
{
	c->asked = false;
	c->answered++;
}

void companion_await(struct companion *c)
{
	struct pollfd waiting = { .fd = c->fd, .events = POLLIN };
	sigset_t awake;

	if (!follow(c))
		companion_release(c, true);
	pthread_sigmask(SIG_SETMASK, NULL, &awake);
	sigdelset(&awake, SIGUSR2);
	if (c->called)
		ppoll(&waiting, 1, NULL, &awake);
}

bool companion_wait(struct companion *c)
{
	pthread_mutex_lock(&c->lock);
	while (!c->called && !c->closing)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return !c->closing;
}

void companion_end(struct companion *c)
{
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	release(c);
	pthread_mutex_unlock(&c->lock);
}
