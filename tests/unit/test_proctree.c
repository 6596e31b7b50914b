/* SPDX-License-Identifier: MIT */
#include "target/proctree.h"

#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define FREE_PID 0x3ffffff0 /* beyond all numbers of processes */

/* As the kernel tells of an end. */
struct message {
	struct nlmsghdr head;
	struct genlmsghdr family_head;
	struct nlattr both, pid_head;
	uint32_t pid;
	struct nlattr stats_head;
	unsigned char stats[384]; /* the first bytes of struct taskstats since version 12 */
} __attribute__((packed));

/* A tree of one process; another one is foreign. Ends are told by us. */
struct bench {
	pid_t ours, foreign;
	struct exit_events exits;
	struct proctree tree;
	int tell_fd;
};

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pid == 0)
		pause();
	return pid;
}

/* Sets 0: the number is free. */
static void end_sleeper(pid_t *pid)
{
	if (!*pid)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

static void look(struct bench *b)
{
	struct err e;

	CHECK_INT(proctree_scan(&b->tree, &e), 0);
}

static void bench_init(struct bench *b)
{
	int ends[2];

	*b = (struct bench){ .ours = start_sleeper(), .foreign = start_sleeper() };
	CHECK_INT(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
	b->exits.fd = ends[0];
	b->tell_fd = ends[1];
	b->tree = (struct proctree){ .roots = &b->ours, .root_count = 1, .exits = &b->exits };
	look(b);
}

static void bench_fini(struct bench *b)
{
	end_sleeper(&b->ours);
	end_sleeper(&b->foreign);
	close(b->exits.fd);
	close(b->tell_fd);
	proctree_fini(&b->tree);
}

static void tell_end(struct bench *b, pid_t pid, pid_t tid, pid_t parent)
{
	struct message m = { .head.nlmsg_len = sizeof m, .pid = (uint32_t)tid };
	struct taskstats stats = { .version = TASKSTATS_VERSION,
				   .ac_pid = (uint32_t)tid,
				   .ac_ppid = (uint32_t)parent,
				   .ac_minflt = 10 };
	uint32_t tgid = (uint32_t)pid;

	m.both = (struct nlattr){ sizeof m - offsetof(struct message, both),
				  TASKSTATS_TYPE_AGGR_PID };
	m.pid_head = (struct nlattr){ sizeof m.pid_head + sizeof m.pid, TASKSTATS_TYPE_PID };
	m.stats_head =
		(struct nlattr){ sizeof m.stats_head + sizeof m.stats, TASKSTATS_TYPE_STATS };
	memcpy(m.stats, &stats, sizeof stats < sizeof m.stats ? sizeof stats : sizeof m.stats);
	memcpy(m.stats + EXIT_EVENTS_TGID_AT, &tgid, sizeof tgid);
	CHECK_INT(write(b->tell_fd, &m, sizeof m), sizeof m);
}

/* The processes that had the number, and their faults. */
static size_t count(const struct bench *b, pid_t pid, int64_t *ret_faults)
{
	const struct process *all = b->tree.processes.data;
	size_t n = 0;

	*ret_faults = 0;
	for (size_t i = 0; i < b->tree.processes.count; i++) {
		if (all[i].pid != pid)
			continue;
		n++;
		*ret_faults += all[i].own.minor_faults;
	}
	return n;
}

static void test_unseen(void)
{
	struct bench b;
	int64_t faults;

	bench_init(&b);
	tell_end(&b, FREE_PID + 1, FREE_PID + 1, FREE_PID); /* before its parent */
	tell_end(&b, FREE_PID, FREE_PID, b.ours);
	tell_end(&b, FREE_PID + 2, FREE_PID + 2, b.foreign);
	look(&b);
	CHECK_INT(count(&b, FREE_PID, &faults), 1);
	CHECK_INT(count(&b, FREE_PID + 1, &faults), 1);
	CHECK_INT(faults, 10);
	CHECK_INT(count(&b, FREE_PID + 2, &faults), 0);
	bench_fini(&b);
}

/* The number of one that was foreign may be that of ours between two looks. */
static void test_foreign_number(void)
{
	struct bench b;
	int64_t faults;
	pid_t number;

	bench_init(&b);
	number = b.foreign;
	end_sleeper(&b.foreign);
	tell_end(&b, number, number, getpid());
	tell_end(&b, FREE_PID, FREE_PID, number);
	tell_end(&b, number, number, b.ours);
	look(&b);
	CHECK_INT(count(&b, number, &faults), 1);
	CHECK_INT(faults, 10);
	CHECK_INT(count(&b, FREE_PID, &faults), 1);
	bench_fini(&b);
}

/* The first thread of a process has ended, and the process goes on: it is told twice of one. */
static void test_exec_of_thread(void)
{
	struct bench b;
	int64_t faults;
	pid_t number;

	bench_init(&b);
	number = b.ours;
	tell_end(&b, number, number, getpid());
	for (int i = 0; i < 5; i++)
		look(&b);
	CHECK(!((struct process *)b.tree.processes.data)->has_ended);
	tell_end(&b, number, number, getpid());
	end_sleeper(&b.ours);
	look(&b);
	CHECK_INT(count(&b, number, &faults), 1);
	CHECK_INT(faults, 20);
	bench_fini(&b);
}

/* Much later a number is that of another process, ours or not. */
static void test_number_again(void)
{
	struct bench b;
	int64_t faults;

	bench_init(&b);
	tell_end(&b, FREE_PID, FREE_PID, b.ours);
	for (int i = 0; i < 5; i++)
		look(&b);
	tell_end(&b, FREE_PID, FREE_PID + 1, b.foreign);
	look(&b);
	CHECK_INT(count(&b, FREE_PID, &faults), 1);
	CHECK_INT(faults, 10);
	tell_end(&b, FREE_PID, FREE_PID, b.ours);
	look(&b);
	CHECK_INT(count(&b, FREE_PID, &faults), 2);
	CHECK_INT(faults, 20);
	bench_fini(&b);
}

int main(void)
{
	TAP_CASE(test_unseen);
	TAP_CASE(test_foreign_number);
	TAP_CASE(test_exec_of_thread);
	TAP_CASE(test_number_again);
	return tap_done();
}
