/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/node_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/log.h"
#include "base/quote.h"

#define PER_NODE_NS (NS_PER_S / 100)

struct node_file {
	struct node_file_opts opts;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool is_ending; /* under lock */

	/* Of the thread; after its end, of node_file_stop. */
	struct control_stats stats;
	struct cluster_statistics cluster; /* the last ones: at the end, the node has left */
	int64_t written_ns;
	bool has_failed;   /* to write; it was logged */
	bool has_answered; /* a peer; it was logged */
};

static void put_text(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\": ", key);
	quote_json(out, text, strlen(text));
	buf_put_str(out, ",\n");
}

static void put_number(struct buf *out, const char *key, uint64_t value)
{
	buf_printf(out, "\"%s\": ", key);
	buf_put_uint(out, value);
	buf_put_str(out, ",\n");
}

static void put_identity(const struct node_file *f, const char *state, struct buf *out)
{
	char host[256] = "";

	if (gethostname(host, sizeof host - 1) < 0)
		*host = '\0';
	put_text(out, "host", host);
	put_text(out, "state", state);
	put_text(out, "launch", f->opts.launch ? f->opts.launch : "");
	put_text(out, "target", f->opts.target);
	put_text(out, "view", f->opts.view);
	put_text(out, "transport", f->cluster.transport);
	put_text(out, "endpoint", f->cluster.endpoint);
	put_number(out, "rank", f->cluster.rank);
	put_number(out, "ranks", f->cluster.size);
	put_number(out, "pid", (uint64_t)f->stats.pid);
	put_number(out, "written_ns", (uint64_t)clock_wall_ns());
}

static void put_cache(const struct control_stats *s, struct buf *out)
{
	uint64_t used = 0;

	for (int i = 0; i < USAGE_TABLES; i++)
		used += s->used_bytes[i];
	put_number(out, "requests", s->requests);
	put_number(out, "hits", s->hits);
	put_number(out, "misses", s->misses);
	put_number(out, "failed", s->failed);
	put_number(out, "read_bytes", s->bytes);
	put_number(out, "wait_ns", s->wait_ns);
	put_number(out, "used_bytes", used);
	put_number(out, "budget_bytes", s->budget_bytes);
}

static void put_cluster(const struct cluster_statistics *c, struct buf *out)
{
	put_number(out, "storage_requests", c->storage_requests);
	put_number(out, "storage_bytes", c->storage_bytes);
	put_number(out, "peer_requests", c->peer_requests);
	put_number(out, "peer_bytes", c->peer_bytes);
	put_number(out, "sent_bytes", c->sent_bytes);
	put_number(out, "received_bytes", c->received_bytes);
	put_number(out, "connected", c->connected);
	put_number(out, "connection_losses", c->connection_losses);
	put_number(out, "lost_peers", c->protocol.lost_peers);
	put_number(out, "rerouted", c->protocol.rerouted);
	put_number(out, "errors", c->protocol.errors);
	put_number(out, "refused", c->refused);
	put_number(out, "replayed", c->replayed);
	put_number(out, "join_ns", c->join_ns);
	put_number(out, "first_answer_ns", c->first_answer_ns);
}

static void put_levels(const struct cluster_statistics *c, struct buf *out)
{
	size_t count = CLUSTER_LEVELS;

	while (count && !c->levels[count - 1].requests && !c->levels[count - 1].served)
		count--;
	buf_put_str(out, "\"levels\": [");
	for (size_t i = 0; i < count; i++) {
		const struct cluster_level *l = &c->levels[i];

		buf_printf(out,
			   "%s\n{\"requests\": %llu, \"bytes\": %llu, \"wait_ns\": %llu, "
			   "\"longest_ns\": %llu, \"served\": %llu, \"hits\": %llu}",
			   i ? "," : "", (unsigned long long)l->requests,
			   (unsigned long long)l->bytes, (unsigned long long)l->wait_ns,
			   (unsigned long long)l->longest_ns, (unsigned long long)l->served,
			   (unsigned long long)l->hits);
	}
	buf_put_str(out, "]\n");
}

static void write_file(struct node_file *f, const char *state)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct err e = { 0 };

	buf_put_str(&text, "{\n");
	put_identity(f, state, &text);
	put_cache(&f->stats, &text);
	put_cluster(&f->cluster, &text);
	put_levels(&f->cluster, &text);
	buf_put_str(&text, "}\n");
	f->written_ns = clock_mono_ns();
	if (buf_error(&text) < 0 || job_files_put(f->opts.files, JOB_LOGS, NULL, NODE_FILE_NAME,
						  text.data, text.len, &e) == 0)
		return;
	if (!f->has_failed)
		log_msg(LOG_WARN, "cache", "%s", e.msg);
	f->has_failed = true;
}

/* Copper's line of the same moment begins with the same words. */
static void log_first_answer(struct node_file *f)
{
	if (f->has_answered || !f->cluster.first_answer_ns)
		return;
	f->has_answered = true;
	log_msg(LOG_INFO, "cache",
		"first successful parent request completed after %llu us since provider startup",
		(unsigned long long)f->cluster.first_answer_ns / 1000);
}

/* Has anything happened since the last file? */
static bool read_counts(struct node_file *f)
{
	struct control_stats stats = f->stats;
	struct cluster_statistics cluster = f->cluster;

	profiling_stats(f->opts.profiling, &f->stats);
	if (overlay_statistics(f->opts.overlay, &cluster))
		f->cluster = cluster;
	log_first_answer(f);
	return stats.requests != f->stats.requests || stats.bytes != f->stats.bytes ||
	       f->written_ns + NODE_FILE_BEAT_NS <= clock_mono_ns();
}

/* False: the end. */
static bool wait_for(struct node_file *f, int64_t ns)
{
	int64_t until_ns = clock_mono_ns() + ns;
	const struct timespec until = { .tv_sec = until_ns / NS_PER_S,
					.tv_nsec = until_ns % NS_PER_S };
	bool goes_on;

	pthread_mutex_lock(&f->lock);
	while (!f->is_ending && pthread_cond_timedwait(&f->wake, &f->lock, &until) == 0)
		continue;
	goes_on = !f->is_ending;
	pthread_mutex_unlock(&f->lock);
	return goes_on;
}

static void *run(void *arg)
{
	struct node_file *f = arg;

	(void)read_counts(f);
	write_file(f, "serving");
	while (wait_for(f, NS_PER_S + f->cluster.size * PER_NODE_NS))
		if (read_counts(f))
			write_file(f, "serving");
	return NULL;
}

struct node_file *node_file_start(const struct node_file_opts *o)
{
	struct node_file *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->opts = *o;
	pthread_mutex_init(&f->lock, NULL);
	compat_cond_init(&f->wake);
	if (pthread_create(&f->thread, NULL, run, f) == 0)
		return f;
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->wake);
	free(f);
	return NULL;
}

void node_file_stop(struct node_file *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->is_ending = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	(void)read_counts(f);
	write_file(f, "ended");
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->wake);
	free(f);
}
