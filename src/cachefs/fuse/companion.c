/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/companion.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/compat/compat.h"
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

/* Back to where we are, what is at SCHED_IDLE? Source: sched(7), setpriority(2): of this thread. */
static bool may_raise(void)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	if (sched_getscheduler(0) != SCHED_OTHER || setpriority(PRIO_PROCESS, 0, nice - 1) < 0)
		return false;
	setpriority(PRIO_PROCESS, 0, nice);
	return true;
}

void companions_init(struct companions *c)
{
	struct sigaction action = { .sa_handler = look_up };

	memset(c, 0, sizeof *c);
	sigaction(SIGUSR2, &action, NULL);
	sem_init(&c->changed, 0, 0);
	for (unsigned i = 0; i < COMPANIONS_MAX; i++)
		sem_init(&c->list[i].wakes, 0, 0);
	sched_getaffinity(0, sizeof c->cpus, &c->cpus);
	c->may_raise = may_raise();
}

void companions_fini(struct companions *c)
{
	sem_destroy(&c->changed);
	for (unsigned i = 0; i < COMPANIONS_MAX; i++)
		sem_destroy(&c->list[i].wakes);
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

/* Besides us. Source: proc_loadavg(5), the fourth field. */
static int count_running(void)
{
	char text[128];
	int running;

	return file_read_start("/proc/loadavg", text, sizeof text) &&
			       sscanf(text, "%*s %*s %*s %d/", &running) == 1
		       ? running - 1
		       : INT_MAX;
}

/* Besides askers and their companions, do fewer run than there are other CPUs? */
static bool is_room_beside(const struct companions *c, int called)
{
	return count_running() - 2 * called < CPU_COUNT(&c->cpus) - called;
}

/* Can a companion be released with a request in its hand? What cannot be raised again goes on only
 * where a CPU has nothing else to do. */
static bool is_safe(const struct companions *c, int askers)
{
	return c->may_raise || count_running() - askers < CPU_COUNT(&c->cpus);
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

/* Where the asker is; -1: it is gone, or where the companion must not be. */
static int find_cpu(const struct companions *c, const struct companion *one)
{
	int cpu = cpu_of(one->asker);

	return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, &c->cpus) ? cpu : -1;
}

static void bind(struct companion *one, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	one->cpu = cpu;
	pthread_setaffinity_np(one->thread, sizeof set, &set);
}

/* By the companion. Who releases it may not see that it is bound now. */
static void follow(struct companions *c, struct companion *one)
{
	int cpu = find_cpu(c, one);

	if (cpu < 0) {
		one->called = false;
		sem_post(&c->changed);
		return;
	}
	if (cpu != one->cpu)
		cpu = choose_cpu(c, one, cpu);
	if (cpu == one->cpu)
		return;
	bind(one, cpu);
	if (!one->called)
		pthread_setaffinity_np(one->thread, sizeof c->cpus, &c->cpus);
}

static void set_policy(const struct companion *one, int policy)
{
	static const struct sched_param none = { 0 };

	pthread_setschedparam(one->thread, policy | SCHED_RESET_ON_FORK, &none);
}

/* By the watcher, as are all below: those that are called no more run as others do. */
static void settle(struct companions *c)
{
	for (unsigned i = 0; i < c->count; i++) {
		struct companion *one = &c->list[i];

		if (!one->is_bound || one->called)
			continue;
		one->is_bound = false;
		pthread_kill(one->thread, SIGUSR2);
		set_policy(one, SCHED_OTHER);
		pthread_setaffinity_np(one->thread, sizeof c->cpus, &c->cpus);
	}
}

/* False: the asker is gone, or it is over. */
static bool call(struct companions *c, struct companion *one, pid_t asker)
{
	int cpu;

	one->asker = asker;
	one->cpu = -1;
	cpu = find_cpu(c, one);
	if (cpu < 0 || c->closing)
		return false;
	one->answered_seen = one->answered;
	one->heard_seen = one->heard;
	one->heard_ns = clock_mono_ns();
	one->is_bound = true;
	set_policy(one, SCHED_IDLE);
	bind(one, choose_cpu(c, one, cpu));
	one->called = true;
	if (c->closing)
		one->called = false;
	return one->called;
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

	do
		settle(c);
	while (is_called(c) &&
	       (compat_sem_wait_until(&c->changed, until_ns) == 0 || errno == EINTR));
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
	int called = 0;

	for (unsigned i = 0; i < c->count; i++) {
		struct companion *one = &c->list[i];
		unsigned answers;

		if (!one->called)
			continue;
		called++;
		answers = look_at(one, now_ns);
		sum += answers;
		is_stuck |= answers < FEW && one->asked;
		is_busy |= one->heard_ns == now_ns;
		if (now_ns - one->heard_ns >= QUIET_NS)
			one->called = false;
	}
	if (is_stuck || (sum < FEW && poll(&waiting, 1, 0) != 0) || !is_safe(c, called))
		companions_release(c, true);
	return is_busy;
}

static void call_all(struct companions *c, struct companion_askers *a)
{
	unsigned called = 0;

	c->in_vain = false;
	if (!is_safe(c, (int)a->count))
		a->count = 0;
	for (unsigned i = 0; i < a->count && !c->list[called].asked; i++)
		if (call(c, &c->list[called], a->tids[i]))
			a->tids[called++] = a->tids[i];
	a->count = called;
	if (!called)
		c->in_vain = true;
	for (unsigned i = 0; i < called; i++)
		sem_post(&c->list[i].wakes);
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
	settle(c);
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

	follow(c, one);
	pthread_sigmask(SIG_SETMASK, NULL, &awake);
	sigdelset(&awake, SIGUSR2);
	if (one->called)
		ppoll(&waiting, 1, NULL, &awake);
}

bool companion_wait(struct companions *c, struct companion *one)
{
	while (!one->called && !c->closing)
		sem_wait(&one->wakes);
	return !c->closing;
}

void companions_release(struct companions *c, bool in_vain)
{
	for (unsigned i = 0; i < c->count; i++)
		if (atomic_exchange(&c->list[i].called, false))
			c->in_vain = in_vain;
	sem_post(&c->changed);
}

void companions_end(struct companions *c)
{
	c->closing = true;
	companions_release(c, false);
	for (unsigned i = 0; i < c->count; i++)
		sem_post(&c->list[i].wakes);
}
