/* SPDX-License-Identifier: MIT */
/*
 * hop: data from one node of the overlay to the next, by each transport, beside plain TCP in the
 * same run: bytes a second, and CPU of both ends for each GB.
 *
 * hop [MIB]: how much is moved, 1024 by default, in chunks of 1 MiB.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/node.h"
#include "cluster/secret.h"
#include "cluster/transport/transport.h"

#define WINDOW 8
#define CHUNK WIRE_CHUNK_BYTES

static unsigned char source[CHUNK], target[CHUNK];
static char book[64], secret[80];
static unsigned count = 1024;
static const char *transport = "tcp";

struct result {
	double seconds, cpu; /* of both ends */
};

static void die(const char *what)
{
	fprintf(stderr, "hop: %s\n", what);
	exit(1);
}

static double cpu_of(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* --- the overlay --- */

struct reader {
	struct cluster_node *node;
	unsigned next;         /* chunk; the node's thread's after the first ones */
	_Atomic unsigned done; /* chunks */
};

static bool find(void *self, const struct wire_key *key, struct protocol_answer *ret)
{
	if (self) /* the reader has nothing */
		return false;
	*ret = (struct protocol_answer){ .read_ns = clock_mono_ns(),
					 .attr.identity = key->identity,
					 .body = { .bytes = source, .len = CHUNK } };
	return true;
}

static void keep(void *self, const struct wire_key *key, const struct protocol_answer *a,
		 bool is_local)
{
	(void)key;
	(void)is_local;
	if (self && a->body.len == CHUNK)
		memcpy(target, a->body.bytes, CHUNK); /* as a cache does */
}

static void read_storage(void *self, struct cluster_read *r)
{
	(void)self;
	r->answer.rc = -EIO;
	cluster_node_read_done(r);
}

static const struct cluster_node_ops ops = { .find = find, .keep = keep, .read = read_storage };

static void answered(void *self, const struct wire_key *key, const struct protocol_answer *a);

static void request_next(struct reader *r)
{
	struct wire_key key = {
		.op = WIRE_CHUNK, .chunk = r->next++, .path = { "f", 1 }, .identity = { 1, 1, 1, 1 }
	};

	if (cluster_node_request(r->node, &key, 0, answered, r) < 0)
		die("a request was refused");
}

static void answered(void *self, const struct wire_key *key, const struct protocol_answer *a)
{
	struct reader *r = self;

	(void)key;
	if (a->rc < 0)
		die("a chunk did not come");
	atomic_fetch_add(&r->done, 1);
	if (r->next < count)
		request_next(r);
}

static struct cluster_node *start(uint32_t rank, struct reader *r)
{
	struct cluster_node_config config = { .rank = rank,
					      .size = 2,
					      .trees = 1,
					      .transport = transport,
					      .listen = "127.0.0.1",
					      .address_book = book,
					      .secret_file = secret,
					      .join_ns = 60 * NS_PER_S,
					      .timeout_ns = 60 * NS_PER_S };
	struct cluster_node *n;
	struct err e;

	if (cluster_node_start(&config, &ops, r, &n, &e) < 0)
		die(e.msg);
	return n;
}

static void serve(int until)
{
	struct cluster_node *n = start(0, NULL);
	char byte;

	(void)!read(until, &byte, 1);
	cluster_node_stop(n);
	_exit(0);
}

static struct result over_overlay(void)
{
	struct reader r = { 0 };
	struct result result = { 0 };
	double before = cpu_of(RUSAGE_CHILDREN);
	int64_t began;
	int fds[2];

	if (pipe(fds) < 0)
		die("no pipe");
	if (fork() == 0) {
		close(fds[1]);
		serve(fds[0]);
	}
	close(fds[0]);
	r.node = start(1, &r);
	result.cpu = -cpu_of(RUSAGE_SELF);
	began = clock_mono_ns();
	for (unsigned i = 0; i < WINDOW; i++)
		request_next(&r);
	while (atomic_load(&r.done) < count)
		usleep(1000);
	result.seconds = (double)(clock_mono_ns() - began) / 1e9;
	result.cpu += cpu_of(RUSAGE_SELF);
	close(fds[1]);
	wait(NULL);
	result.cpu += cpu_of(RUSAGE_CHILDREN) - before;
	cluster_node_stop(r.node);
	return result;
}

/* --- plain TCP --- */

static void write_all(int fd)
{
	for (unsigned i = 0; i < count; i++) {
		for (size_t at = 0; at < CHUNK;) {
			ssize_t n = send(fd, source + at, CHUNK - at, MSG_NOSIGNAL);

			if (n <= 0)
				_exit(1);
			at += (size_t)n;
		}
	}
	_exit(0);
}

static struct result over_tcp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	struct result result = { .cpu = -cpu_of(RUSAGE_SELF) - cpu_of(RUSAGE_CHILDREN) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	size_t total = 0;
	int64_t began;

	if (bind(listener, (struct sockaddr *)&at, len) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&at, len) < 0)
		die("no connection");
	began = clock_mono_ns();
	if (fork() == 0)
		write_all(accept(listener, NULL, NULL));
	while (total < (size_t)count * CHUNK) {
		ssize_t n = recv(fd, target, CHUNK, 0);

		if (n <= 0)
			die("the connection ended");
		total += (size_t)n;
	}
	result.seconds = (double)(clock_mono_ns() - began) / 1e9;
	wait(NULL);
	result.cpu += cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN);
	close(fd);
	close(listener);
	return result;
}

static void print(const char *what, const struct result *r)
{
	double gb = (double)count * CHUNK / 1e9;

	printf("%-11s %6.2f GB/s, %5.2f s of CPU a GB\n", what, gb / r->seconds, r->cpu / gb);
}

static void compare(const char *name, const struct result *tcp)
{
	struct result overlay;
	char what[32];

	transport = name;
	snprintf(what, sizeof(what), "overlay %s", name);
	overlay = over_overlay();
	print(what, &overlay);
	printf("ratio       %6.2f of the rate, %.2f of the CPU\n", tcp->seconds / overlay.seconds,
	       overlay.cpu / tcp->cpu);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/auger-hop-XXXXXX";
	struct result tcp;
	struct err e;

	if (argc > 1)
		count = (unsigned)atoi(argv[1]);
	memset(source, 7, sizeof(source));
	if (count < WINDOW || !mkdtemp(folder))
		die("no folder");
	snprintf(book, sizeof(book), "%s/book", folder);
	snprintf(secret, sizeof(secret), "%s/secret", folder);
	if (secret_create(secret, &e) < 0)
		die(e.msg);
	tcp = over_tcp();
	print("plain TCP", &tcp);
	compare("tcp", &tcp);
	if (transport_find("ofi", &e))
		compare("ofi", &tcp);
	unlink(secret);
	rmdir(book);
	rmdir(folder);
	return memcmp(source, target, CHUNK) != 0;
}
