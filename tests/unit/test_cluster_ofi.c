/* SPDX-License-Identifier: MIT */
/* The transport over libfabric, whose data peers read from memory. */
#include "cluster/transport/transport.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/mac.h"
#include "tap.h"
#include "transport_cases.h"

#define PROBED_NS (NS_PER_S / 2) /* time for some probes */

/* A peer in a process of its own, which never answers a request. libfabric has threads, so the
 * process begins before it is opened, and waits for a byte. */
static struct silent {
	pid_t pid;
	int to, from; /* pipes */
} silent[2];

static void be_silent(int from, int to)
{
	struct member m;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(from, &byte, 1) != 1 || !open_member(&m, 1, &secret) ||
	    write(to, m.endpoint, sizeof(m.endpoint)) != sizeof(m.endpoint))
		_exit(1);
	for (;;)
		step(&m);
}

static void start_silent(struct silent *s)
{
	int there[2], back[2];

	if (!CHECK(pipe(there) == 0 && pipe(back) == 0))
		return;
	fflush(stdout);
	s->pid = fork();
	if (s->pid == 0)
		be_silent(there[0], back[1]);
	close(there[0]);
	close(back[1]);
	s->to = there[1];
	s->from = back[0];
}

static void end_silent(struct silent *s)
{
	if (s->pid <= 0)
		return;
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->to);
	close(s->from);
	s->pid = 0;
}

/* Sends it a request, which it has when this returns. */
static bool request_of_silent(struct member *a, struct silent *s)
{
	int64_t end = clock_mono_ns() + PATIENCE_NS;
	struct wire_message m = request(1);
	struct member b = { .rank = 1 };

	if (!CHECK(write(s->to, "g", 1) == 1 &&
		   read(s->from, b.endpoint, sizeof(b.endpoint)) == sizeof(b.endpoint)))
		return false;
	introduce(a, &b);
	transport->send(a->self, 1, &m);
	while (!counts_of(a).connected && clock_mono_ns() < end)
		step(a);
	transport->flush(a->self, end);
	return CHECK_INT(counts_of(a).connected, 1);
}

static void end_and_notice(struct member *a, struct silent *s)
{
	int64_t began = clock_mono_ns();

	end_silent(s);
	run_until(a, NULL, &a->failed, 1);
	printf("# noticed after %.0f ms\n", (double)(clock_mono_ns() - began) / 1e6);
}

/* Of a process that is killed, libfabric says nothing, and a reply never comes. */
static void test_killed(void)
{
	struct member a;

	if (!open_member(&a, 0, &secret))
		return;
	if (request_of_silent(&a, &silent[0]))
		end_and_notice(&a, &silent[0]);
	close_member(&a);
}

/* A process that is slow is not taken for dead; one that dies while it is stopped is. */
static void test_stopped(void)
{
	struct member a;
	int64_t end;

	if (!open_member(&a, 0, &secret))
		return;
	if (request_of_silent(&a, &silent[1])) {
		kill(silent[1].pid, SIGSTOP);
		waitpid(silent[1].pid, NULL, WUNTRACED);
		for (end = clock_mono_ns() + PROBED_NS; clock_mono_ns() < end;)
			step(&a);
		CHECK_INT(a.failed, 0);
		end_and_notice(&a, &silent[1]);
	}
	close_member(&a);
}

/* Data is read, verified, and then forgotten by its sender, each once. */
static void test_data(void)
{
	struct wire_message big = big_reply(1), small = request(2);
	struct member a, b;

	if (!open_member(&a, 0, &secret) || !open_member(&b, 1, &secret))
		return;
	introduce(&a, &b);
	transport->send(a.self, 1, &big);
	transport->send(a.self, 1, &small);
	run_until(&a, &b, &b.received, 2);
	CHECK_INT(b.body_len, BIG);
	CHECK(b.is_body_right && b.heard > 0);
	run_until(&a, &b, &a.sent, 1);
	big.body.len = 100; /* goes within the message */
	transport->send(a.self, 1, &big);
	run_until(&a, &b, &b.received, 3);
	run_until(&a, &b, &a.sent, 2);
	CHECK_INT(b.body_len, 100);
	CHECK_INT(counts_of(&b).refused + counts_of(&b).replayed, 0);
	transport->flush(a.self, clock_mono_ns() + PATIENCE_NS);
	close_member(&a);
	close_member(&b);
}

static void test_failures(void)
{
	struct wire_message small = request(1), big = big_reply(2);
	struct secret other = { "another job's" };
	struct member a, b;

	if (!open_member(&a, 0, &secret))
		return;
	transport->send(a.self, 1, &small); /* nobody knows where it is */
	transport->send(a.self, 2, &big);
	CHECK_INT(a.failed + a.sent, 0); /* never during send */
	run_until(&a, NULL, &a.failed, 2);
	CHECK_INT(a.sent, 1);
	if (!open_member(&b, 1, &other))
		return;
	introduce(&a, &b);
	transport->send(a.self, 1, &small);
	transport->send(a.self, 1, &big);
	run_until(&a, &b, &a.failed, 3);
	CHECK_INT(a.sent, 2);
	CHECK_INT(b.received, 0);
	CHECK(counts_of(&b).refused > 0);
	close_member(&b);
	transport->send(a.self, 1, &big); /* lost with the transport, with its event */
	close_member(&a);
	CHECK_INT(a.sent, 3);
}

/* Sends until it is there: on a machine that does not let this process run, a peer may be lost. */
static void send_until(struct member *from, struct member *to)
{
	int64_t end = clock_mono_ns() + PATIENCE_NS;
	struct wire_message m = request(5);
	int before = to->received, failed = -1;

	while (to->received == before && clock_mono_ns() < end) {
		if (from->failed != failed)
			transport->send(from->self, to->rank, &m);
		failed = from->failed;
		step(from);
		step(to);
	}
	CHECK(to->received > before);
}

/* A peer that was started again is found at its new address, and the old session is over. */
static void test_restart(void)
{
	struct member a, b;

	if (!open_member(&a, 0, &secret) || !open_member(&b, 1, &secret))
		return;
	introduce(&a, &b);
	send_until(&a, &b);
	close_member(&b);
	if (!open_member(&b, 1, &secret))
		return;
	introduce(&a, &b);
	send_until(&a, &b);
	send_until(&b, &a);
	close_member(&a);
	close_member(&b);
}

#define SMOKE "ofi:smoke:00:0000000000000000:0000000000000000"

static void test_bad_endpoints(void)
{
	struct err e = { 0 };
	struct member a;

	if (!open_member(&a, 0, &secret))
		return;
	CHECK_INT(transport->set_endpoint(a.self, 1, "tcp:127.0.0.1:1", &e), -EINVAL);
	CHECK_STR(e.msg, "rank 1: 'tcp:127.0.0.1:1' is no endpoint of libfabric");
	CHECK_INT(transport->set_endpoint(a.self, 1, SMOKE, &e), -EINVAL);
	CHECK(strstr(e.msg, "rank 1 uses smoke of libfabric, this node ") != NULL);
	CHECK(transport_find("ofi", &e) == transport);
	close_member(&a);
}

/* 0: libfabric has a provider here. */
static int probe(struct err *e)
{
	struct transport_config config = { .size = 1, .secret = &secret, .listen = "127.0.0.1" };
	char endpoint[ENDPOINT_MAX];
	void *self;
	int rc = transport->open(&config, &self, endpoint, e);

	if (rc == 0)
		transport->close(self);
	return rc;
}

int main(void)
{
	struct err e;

	transport = &transport_ofi;
	for (size_t i = 0; i < ARRAY_LEN(silent); i++)
		start_silent(&silent[i]);
	if (probe(&e) < 0) {
		for (size_t i = 0; i < ARRAY_LEN(silent); i++)
			end_silent(&silent[i]);
		printf("1..0 # SKIP %s\n", e.msg);
		return 0;
	}
	TAP_CASE(test_messages);
	TAP_CASE(test_both_connect);
	TAP_CASE(test_data);
	TAP_CASE(test_failures);
	TAP_CASE(test_restart);
	TAP_CASE(test_killed);
	TAP_CASE(test_stopped);
	TAP_CASE(test_wake);
	TAP_CASE(test_bad_endpoints);
	return tap_done();
}
