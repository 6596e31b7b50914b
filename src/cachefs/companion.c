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
#define LOOK_NS (NS_PER_S / 1000)      /* at the companions, when they come or nobody asks */
#define LOOK_MAX_NS (8 * LOOK_NS)      /* while they answer: each look may move an asker */
#define QUIET_NS (64 * LOOK_NS)        /* since the last request: its asker asks no more */
#define FEW 8                          /* answers from look to look: others have the CPU */
#define NEEDED 2                       /* requests in a row */
#define WORTH_IT 64                    /* answers, for what calling them takes */
#define WORTH_IN_VAIN 1024             /* and for what it takes to see that they are in vain */
#define REST_MIN_NS (NS_PER_S / 10000) /* after a time in vain; each next one: twice as long */
#define REST_MAX_NS (NS_PER_S / 4)

static void look_up(int signal)
{
	(void)signal;
}

void companions_init(struct companions *c)
{
	struct sigaction action = { .sa_handler = look_up };

	memset(c, 0, sizeof *c);
	sigaction(SIGUSR2, &action, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	sched_getaffinity(0, sizeof c->cpus, &c->cpus);
}

void companions_fini(struct companions *c)
{
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
}

unsigned companions_max(const struct companions *c)
{
	unsigned cpus = (unsigned)CPU_COUNT(&c->cpus);

	return cpus < COMPANIONS_MAX ? cpus : COMPANIONS_MAX;
}

static bool has_asker(const struct companion_askers *a, pid_t tid)
{
	for (unsigned i = 0; i < a->count; i++)
		if (a->tids[i] == tid)
			return true;
	return false;
}

bool companions_are_due(const struct companions *c, struct companion_askers *a, pid_t tid)
{
	int64_t now_ns;

	if (!tid || !c->count)
		return false;
	now_ns = clock_mono_ns();
	if (now_ns - a->at_ns >= SOON_NS || (a->count == c->count && !has_asker(a, tid)))
		a->count = 0; /* of more than there are companions, none has one */
	a->at_ns = now_ns;
	a->in_row++;
	if (!has_asker(a, tid)) {
		a->tids[a->count++] = tid;
		a->in_row = 0;
	}
	return a->in_row >= NEEDED && now_ns >= c->due_ns;
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
static void place(const struct companion *one, int policy, const cpu_set_t *cpus)
{
	static const struct sched_param none = { 0 };

	pthread_setschedparam(one->thread, policy | SCHED_RESET_ON_FORK, &none);
	pthread_setaffinity_np(one->thread, sizeof *cpus, cpus);
}

/* Besides askers, their companions and us, do fewer run than there are other CPUs? Source:
 * proc_loadavg(5), the fourth field. */
static bool is_room_beside(const struct companions *c, int called)
{
	char text[128];
	int running;

	return file_read_start("/proc/loadavg", text, sizeof text) &&
	       sscanf(text, "%*s %*s %*s %d/", &running) == 1 &&
	       running - 1 - 2 * called < CPU_COUNT(&c->cpus) - called;
}

/* Off the askers' CPUs: who wakes up where somebody else runs than a companion is moved to another
 * CPU, away from its own. From there on it may run anywhere. */
static void step_aside(const struct companions *c)
{
	cpu_set_t others = c->cpus;
	bool is_in_the_way = false;
	int called = 0;

	for (unsigned i = 0; i < c->count; i++) {
		int cpu = c->list[i].called ? c->list[i].cpu : -1;

		if (cpu < 0)
			continue;
		called++;
		is_in_the_way |= sched_getcpu() == cpu;
		CPU_CLR((size_t)cpu, &others);
	}
	if (!is_in_the_way || !CPU_COUNT(&others) || !is_room_beside(c, called))
		return;
	pthread_setaffinity_np(pthread_self(), sizeof others, &others);
	pthread_setaffinity_np(pthread_self(), sizeof c->cpus, &c->cpus);
}

/* Of any companion but this one. */
static bool is_taken(const struct companions *c, const struct companion *one, int cpu)
{
	for (unsigned i = 0; i < c->count; i++)
		if (&c->list[i] != one && c->list[i].called && c->list[i].cpu == cpu)
			return true;
	return false;
}

/* cpu, or where the companion is if another one is there; then any that none has. */
static int choose_cpu(const struct companions *c, const struct companion *one, int cpu)
{
	if (is_taken(c, one, cpu) && one->cpu >= 0)
		return one->cpu;
	for (int other = 0; other < CPU_SETSIZE && is_taken(c, one, cpu); other++)
		if (CPU_ISSET((size_t)other, &c->cpus) && !is_taken(c, one, other))
			cpu = other;
	return cpu;
}

/* False: the asker is gone, or where it must not be. */
static bool follow(struct companions *c, struct companion *one)
{
	int cpu = cpu_of(one->asker);
	cpu_set_t set;

	if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, &c->cpus))
		return false;
	if (cpu == one->cpu)
		return true;
	pthread_mutex_lock(&c->lock);
	cpu = choose_cpu(c, one, cpu);
	if (one->called && cpu != one->cpu) {
		CPU_ZERO(&set);
		CPU_SET((size_t)cpu, &set);
		place(one, SCHED_IDLE, &set);
		one->cpu = cpu;
	}
	pthread_mutex_unlock(&c->lock);
	return true;
}

/* Under lock. */
static void release(struct companions *c, struct companion *one)
{
	if (!one->called)
		return;
	one->called = false;
	if (!pthread_equal(pthread_self(), one->thread))
		pthread_kill(one->thread, SIGUSR2);
	place(one, SCHED_OTHER, &c->cpus);
	pthread_cond_broadcast(&c->changed);
}

static void release_one(struct companions *c, struct companion *one)
{
	pthread_mutex_lock(&c->lock);
	release(c, one);
	pthread_mutex_unlock(&c->lock);
}

void companions_release(struct companions *c, bool in_vain)
{
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < c->count; i++) {
		if (c->list[i].called)
			c->in_vain = in_vain;
		release(c, &c->list[i]);
	}
	pthread_mutex_unlock(&c->lock);
}

/* False: the asker is gone. */
static bool call(struct companions *c, struct companion *one, pid_t asker)
{
	pthread_mutex_lock(&c->lock);
	one->asker = asker;
	one->cpu = -1;
	one->called = !c->closing;
	one->answered_seen = one->answered;
	one->heard_seen = one->heard;
	one->heard_ns = clock_mono_ns();
	pthread_mutex_unlock(&c->lock);
	if (follow(c, one))
		return true;
	release_one(c, one);
	return false;
}

static bool is_called(const struct companions *c)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->list[i].called)
			return true;
	return false;
}

/* For the time between two looks. */
static void pause_watch(struct companions *c, int64_t pause_ns)
{
	int64_t until_ns = clock_mono_ns() + pause_ns;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };

	pthread_mutex_lock(&c->lock);
	while (is_called(c) &&
	       pthread_cond_clockwait(&c->changed, &c->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	pthread_mutex_unlock(&c->lock);
}

/* How many it has answered since the last look. */
static unsigned look_at(struct companion *one, int64_t now_ns)
{
	unsigned answered = one->answered, heard = one->heard, more;

	if (heard != one->heard_seen)
		one->heard_ns = now_ns;
	more = answered - one->answered_seen;
	one->answered_seen = answered;
	one->heard_seen = heard;
	return more;
}

/* True: some were asked since the last look. Those that do not get on are released. */
static bool look(struct companions *c, int session_fd)
{
	struct pollfd waiting = { .fd = session_fd, .events = POLLIN };
	int64_t now_ns = clock_mono_ns();
	bool is_busy = false, is_stuck = false;
	unsigned sum = 0;

	for (unsigned i = 0; i < c->count; i++) {
		struct companion *one = &c->list[i];
		unsigned answers;

		if (!one->called)
			continue;
		answers = look_at(one, now_ns);
		sum += answers;
		is_stuck |= answers < FEW && one->asked;
		is_busy |= one->heard_ns == now_ns;
		if (now_ns - one->heard_ns >= QUIET_NS)
			release_one(c, one);
	}
	if (is_stuck || (sum < FEW && poll(&waiting, 1, 0) != 0))
		companions_release(c, true);
	return is_busy;
}

static void call_all(struct companions *c, struct companion_askers *a)
{
	unsigned called = 0;

	c->in_vain = false;
	for (unsigned i = 0; i < a->count && !c->list[called].asked; i++)
		if (call(c, &c->list[called], a->tids[i]))
			a->tids[called++] = a->tids[i];
	a->count = called;
	pthread_mutex_lock(&c->lock);
	if (!is_called(c))
		c->in_vain = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* Those that still asked at the end: somebody else may have come. */
static void keep_askers(const struct companions *c, struct companion_askers *a)
{
	int64_t now_ns = clock_mono_ns();
	unsigned kept = 0;

	for (unsigned i = 0; i < a->count; i++)
		if (now_ns - c->list[i].heard_ns < 2 * LOOK_MAX_NS)
			a->tids[kept++] = a->tids[i];
	a->count = kept;
	a->in_row = 0;
	a->at_ns = now_ns;
}

static unsigned answered_by_all(const struct companions *c)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < c->count; i++)
		sum += c->list[i].answered;
	return sum;
}

/* Their time is over: when is it worth another one? */
static void plan_next(struct companions *c, unsigned answers)
{
	if (answers >= (c->in_vain ? WORTH_IN_VAIN : WORTH_IT))
		c->rest_ns = 0;
	else if (c->in_vain && c->rest_ns < REST_MAX_NS)
		c->rest_ns = c->rest_ns ? 2 * c->rest_ns : REST_MIN_NS;
	if (c->in_vain)
		c->due_ns = clock_mono_ns() + c->rest_ns;
}

void companions_watch(struct companions *c, struct companion_askers *a, int session_fd)
{
	unsigned before = answered_by_all(c);
	int64_t pause_ns = LOOK_NS;

	call_all(c, a);
	while (is_called(c)) {
		pause_watch(c, pause_ns);
		if (!look(c, session_fd)) {
			pause_ns = LOOK_NS;
			continue;
		}
		pause_ns = 2 * pause_ns < LOOK_MAX_NS ? 2 * pause_ns : LOOK_MAX_NS;
		step_aside(c);
	}
	keep_askers(c, a);
	plan_next(c, answered_by_all(c) - before);
}

bool companions_hear(struct companions *c, pid_t tid)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->list[i].called && c->list[i].asker == tid) {
			c->list[i].heard++;
			return true;
		}
	return false;
}

void companion_answers(struct companion *one)
{
	one->asked = false;
	one->answered++;
}

void companion_await(struct companions *c, struct companion *one)
{
	struct pollfd waiting = { .fd = one->fd, .events = POLLIN };
	sigset_t awake;

	if (!follow(c, one))
		release_one(c, one);
	pthread_sigmask(SIG_SETMASK, NULL, &awake);
	sigdelset(&awake, SIGUSR2);
	if (one->called)
		ppoll(&waiting, 1, NULL, &awake);
}

bool companion_wait(struct companions *c, struct companion *one)
{
	pthread_mutex_lock(&c->lock);
	while (!one->called && !c->closing)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return !c->closing;
}

void companions_end(struct companions *c)
{
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	companions_release(c, false);
}
