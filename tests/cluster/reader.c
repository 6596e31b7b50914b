/* SPDX-License-Identifier: MIT */
/*
 * reader: one node of an overlay, as a process: reads all files of a folder through the node, a few
 * requests at once, and compares each byte with the file itself.
 *
 * reader FOLDER FILES RANK SIZE [NAME=VALUE...]: files are f0, f1, ... Prints "ready" and waits for
 * a line of standard input; prints "mark" after mark=N answers, and one line of JSON when all is
 * read. Each further line is answered by its statistics; it serves others until the end of input.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fifo.h"
#include "base/log.h"
#include "cluster/node.h"

#define MAX_FILES 64
#define MAX_CHUNKS 64
#define STORAGE_THREADS 2

struct job {
	struct fifo_link link;
	struct cluster_read *read;
};

struct file {
	struct protocol_answer attr, chunks[MAX_CHUNKS]; /* held where has_attr; body.bytes owned */
};

static struct {
	const char *folder;
	uint32_t files, window;
	uint64_t mark;
	long delay_us; /* of storage */
	long think_us; /* of the program, after an answer */
	struct cluster_node *node;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct file all[MAX_FILES]; /* the cache; under lock, as all below */
	struct fifo jobs;
	uint32_t waiting; /* requests without an answer */
	uint64_t sizes[MAX_FILES];
	struct file_identity identities[MAX_FILES];
	uint64_t answered, errors, wrong, bytes;
	int64_t longest_ns;
	bool is_over;
} world = { .window = 4, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void die(const char *what)
{
	fprintf(stderr, "reader: %s\n", what);
	exit(1);
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

static int index_of(const struct wire_key *key)
{
	char text[16];
	int i;

	if (key->path.len < 2 || key->path.len >= sizeof(text))
		return -1;
	memcpy(text, key->path.ptr, key->path.len);
	text[key->path.len] = '\0';
	i = atoi(text + 1);
	return i >= 0 && i < MAX_FILES ? i : -1;
}

/* --- the cache --- */

/* NULL: it has no place in the cache. Under lock. */
static struct protocol_answer *place_of(const struct wire_key *key)
{
	int i = index_of(key);

	if (i < 0 || (key->op == WIRE_CHUNK && key->chunk >= MAX_CHUNKS))
		return NULL;
	if (key->op == WIRE_GETATTR)
		return &world.all[i].attr;
	return key->op == WIRE_CHUNK ? &world.all[i].chunks[key->chunk] : NULL;
}

/* What is held is never freed, so the body stays where it is. */
static bool find(void *self, const struct wire_key *key, struct protocol_answer *ret)
{
	const struct protocol_answer *held;

	(void)self;
	pthread_mutex_lock(&world.lock);
	held = place_of(key);
	if (held)
		*ret = *held;
	pthread_mutex_unlock(&world.lock);
	return held && ret->has_attr;
}

static void keep(void *self, const struct wire_key *key, const struct protocol_answer *a,
		 bool is_local)
{
	struct protocol_answer *held;
	char *copy;

	(void)self;
	(void)is_local;
	if (a->rc < 0)
		return;
	pthread_mutex_lock(&world.lock);
	held = place_of(key);
	if (held && !held->has_attr) {
		copy = malloc(a->body.len + 1);
		if (!copy)
			die("no memory");
		if (a->body.len)
			memcpy(copy, a->body.bytes, a->body.len);
		*held = *a;
		held->body.bytes = copy;
	}
	pthread_mutex_unlock(&world.lock);
}

/* --- storage --- */

static void set_attr(const struct stat *st, struct protocol_answer *a)
{
	a->has_attr = true;
	a->attr.identity = (struct file_identity){
		.fs = 1, .ino = (uint64_t)st->st_ino, .ctime_ns = 1, .size = (uint64_t)st->st_size
	};
	a->attr.mode = st->st_mode;
}

static void read_file(struct cluster_read *r)
{
	char path[4096];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", world.folder, r->key.path.ptr);
	r->answer.read_ns = clock_mono_ns();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		r->answer.rc = -errno;
		return;
	}
	set_attr(&st, &r->answer);
	if (r->key.op == WIRE_CHUNK) {
		char *bytes = malloc(WIRE_CHUNK_BYTES);
		ssize_t n = bytes ? pread(fd, bytes, WIRE_CHUNK_BYTES,
					  (off_t)r->key.chunk * WIRE_CHUNK_BYTES)
				  : -1;

		r->data = bytes;
		r->release = free;
		r->answer.rc = n < 0 ? -EIO : 0;
		r->answer.body =
			(struct wire_body){ .bytes = bytes, .len = n < 0 ? 0 : (uint32_t)n };
	}
	close(fd);
}

static void *storage(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&world.lock);
	for (;;) {
		struct job *job = (struct job *)fifo_take(&world.jobs);

		if (!job && world.is_over)
			break;
		if (!job) {
			pthread_cond_wait(&world.changed, &world.lock);
			continue;
		}
		pthread_mutex_unlock(&world.lock);
		if (world.delay_us)
			nanosleep(&(struct timespec){ .tv_sec = world.delay_us / 1000000,
						      .tv_nsec = world.delay_us % 1000000 * 1000 },
				  NULL);
		read_file(job->read);
		cluster_node_read_done(job->read);
		free(job);
		pthread_mutex_lock(&world.lock);
	}
	pthread_mutex_unlock(&world.lock);
	return NULL;
}

static void submit(void *self, struct cluster_read *r)
{
	struct job *job = calloc(1, sizeof(*job));

	(void)self;
	if (!job)
		die("no memory");
	job->read = r;
	pthread_mutex_lock(&world.lock);
	fifo_put(&world.jobs, &job->link);
	pthread_cond_broadcast(&world.changed);
	pthread_mutex_unlock(&world.lock);
}

static const struct cluster_node_ops ops = { .find = find, .keep = keep, .read = submit };

/* --- the program --- */

static bool is_right(int i, const struct wire_key *key, const struct protocol_answer *a)
{
	char path[4096], *own = malloc(WIRE_CHUNK_BYTES);
	bool is_equal;
	ssize_t n;
	int fd;

	if (!own)
		die("no memory");

	snprintf(path, sizeof(path), "%s/f%d", world.folder, i);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, own, WIRE_CHUNK_BYTES, (off_t)key->chunk * WIRE_CHUNK_BYTES);
	if (fd >= 0)
		close(fd);
	is_equal = n == (ssize_t)a->body.len && memcmp(own, a->body.bytes, a->body.len) == 0;
	free(own);
	return is_equal;
}

static void answered(void *self, const struct wire_key *key, const struct protocol_answer *a)
{
	int64_t *since = self, took = clock_mono_ns() - *since;
	int i = index_of(key);
	bool ok = i >= 0 && a->rc == 0 && (key->op != WIRE_CHUNK || is_right(i, key, a));

	free(since);
	pthread_mutex_lock(&world.lock);
	world.waiting--;
	if (++world.answered == world.mark)
		say("mark");
	world.errors += a->rc != 0;
	world.wrong += a->rc == 0 && !ok;
	world.bytes += a->body.len;
	if (took > world.longest_ns)
		world.longest_ns = took;
	if (ok && key->op == WIRE_GETATTR) {
		world.sizes[i] = a->attr.identity.size;
		world.identities[i] = a->attr.identity;
	}
	pthread_cond_broadcast(&world.changed);
	pthread_mutex_unlock(&world.lock);
}

static void wait_below(uint32_t limit)
{
	pthread_mutex_lock(&world.lock);
	while (world.waiting >= limit)
		pthread_cond_wait(&world.changed, &world.lock);
	pthread_mutex_unlock(&world.lock);
}

static void request(enum wire_op op, uint32_t file, uint32_t chunk)
{
	int64_t *since = malloc(sizeof(*since));
	char path[16];
	struct wire_key key = { .op = op, .chunk = chunk, .path.ptr = path };
	struct protocol_answer held;

	if (!since)
		die("no memory");
	key.path.len = (size_t)snprintf(path, sizeof(path), "f%u", file);
	*since = clock_mono_ns();
	pthread_mutex_lock(&world.lock);
	world.waiting++;
	if (op == WIRE_CHUNK)
		key.identity = world.identities[file];
	pthread_mutex_unlock(&world.lock);
	if (find(NULL, &key, &held))
		answered(since, &key, &held);
	else if (cluster_node_request(world.node, &key, INT64_C(1) << 60, answered, since) < 0)
		die("a request was refused");
	wait_below(world.window);
	if (world.think_us)
		usleep((useconds_t)world.think_us);
}

static void read_all(uint32_t rank)
{
	for (uint32_t i = 0; i < world.files; i++) {
		uint32_t file = (i + rank) % world.files; /* another order on each node */
		uint64_t size;

		request(WIRE_GETATTR, file, 0);
		wait_below(1);
		pthread_mutex_lock(&world.lock);
		size = world.sizes[file];
		pthread_mutex_unlock(&world.lock);
		for (uint32_t c = 0; (uint64_t)c * WIRE_CHUNK_BYTES < size; c++)
			request(WIRE_CHUNK, file, c);
	}
	wait_below(1);
}

static void print_result(const char *what)
{
	struct cluster_statistics s;

	cluster_node_statistics(world.node, &s);
	pthread_mutex_lock(&world.lock);
	printf("{\"what\": \"%s\", \"answered\": %llu, \"errors\": %llu, \"wrong\": %llu, "
	       "\"bytes\": %llu, \"longest_ms\": %.1f, ",
	       what, (unsigned long long)world.answered, (unsigned long long)world.errors,
	       (unsigned long long)world.wrong, (unsigned long long)world.bytes,
	       (double)world.longest_ns / 1e6);
	pthread_mutex_unlock(&world.lock);
	printf("\"storage_requests\": %llu, \"storage_bytes\": %llu, \"peer_requests\": %llu, "
	       "\"peer_bytes\": %llu, \"connected\": %u, \"refused\": %llu, \"replayed\": %llu, "
	       "\"losses\": %llu, \"rerouted\": %llu, \"lost_peers\": %llu, \"endpoint\": \"%s\", "
	       "\"join_ms\": %.1f}\n",
	       (unsigned long long)s.storage_requests, (unsigned long long)s.storage_bytes,
	       (unsigned long long)s.peer_requests, (unsigned long long)s.peer_bytes, s.connected,
	       (unsigned long long)s.refused, (unsigned long long)s.replayed,
	       (unsigned long long)s.connection_losses, (unsigned long long)s.protocol.rerouted,
	       (unsigned long long)s.protocol.lost_peers, s.endpoint, (double)s.join_ns / 1e6);
	fflush(stdout);
}

static void log_line(enum log_level level, const char *domain, const char *text)
{
	(void)level;
	fprintf(stderr, "%s: %s [%.3f]\n", domain, text, (double)clock_mono_ns() / 1e9);
}

static void set_option(struct cluster_node_config *c, char *text)
{
	char *value = strchr(text, '=');

	if (!value)
		die("NAME=VALUE");
	*value++ = '\0';
	if (strcmp(text, "book") == 0)
		c->address_book = value;
	else if (strcmp(text, "secret") == 0)
		c->secret_file = value;
	else if (strcmp(text, "listen") == 0)
		c->listen = value;
	else if (strcmp(text, "transport") == 0)
		c->transport = value;
	else if (strcmp(text, "fanout") == 0)
		c->fanout = (uint32_t)atoi(value);
	else if (strcmp(text, "trees") == 0)
		c->trees = (uint32_t)atoi(value);
	else if (strcmp(text, "join_ms") == 0)
		c->join_ns = atoll(value) * 1000000;
	else if (strcmp(text, "timeout_ms") == 0)
		c->timeout_ns = atoll(value) * 1000000;
	else if (strcmp(text, "delay_us") == 0)
		world.delay_us = atol(value);
	else if (strcmp(text, "think_us") == 0)
		world.think_us = atol(value);
	else if (strcmp(text, "generation") == 0)
		c->generation = value;
	else if (strcmp(text, "mark") == 0)
		world.mark = (uint64_t)atoll(value);
	else if (strcmp(text, "window") == 0)
		world.window = (uint32_t)atoi(value);
	else
		die("unknown option");
}

static void free_cache(void)
{
	for (size_t i = 0; i < MAX_FILES; i++) {
		free((void *)(uintptr_t)world.all[i].attr.body.bytes);
		for (size_t j = 0; j < MAX_CHUNKS; j++)
			free((void *)(uintptr_t)world.all[i].chunks[j].body.bytes);
	}
}

int main(int argc, char **argv)
{
	struct cluster_node_config config = { .listen = "127.0.0.1",
					      .join_ns = 60 * NS_PER_S,
					      .timeout_ns = 60 * NS_PER_S };
	pthread_t threads[STORAGE_THREADS];
	struct err e;
	char line[64];

	if (argc < 5)
		die("FOLDER FILES RANK SIZE [NAME=VALUE...]");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_open(log_line, getenv("AUGER_LOG"));
	world.folder = argv[1];
	world.files = (uint32_t)atoi(argv[2]);
	config.rank = (uint32_t)atoi(argv[3]);
	config.size = (uint32_t)atoi(argv[4]);
	for (int i = 5; i < argc; i++)
		set_option(&config, argv[i]);
	if (world.files > MAX_FILES)
		die("too many files");
	for (size_t i = 0; i < STORAGE_THREADS; i++)
		if (pthread_create(&threads[i], NULL, storage, NULL))
			die("no thread");
	if (cluster_node_start(&config, &ops, NULL, &world.node, &e) < 0)
		die(e.msg);
	say("ready");
	if (!fgets(line, sizeof(line), stdin)) /* "go" */
		die("standard input ended");
	read_all(config.rank);
	print_result("read");
	while (fgets(line, sizeof(line), stdin))
		print_result("now");
	cluster_node_stop(world.node);
	pthread_mutex_lock(&world.lock);
	world.is_over = true;
	pthread_cond_broadcast(&world.changed);
	pthread_mutex_unlock(&world.lock);
	for (size_t i = 0; i < STORAGE_THREADS; i++)
		pthread_join(threads[i], NULL);
	free_cache();
	return 0;
}
