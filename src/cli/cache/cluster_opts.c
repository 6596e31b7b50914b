/* SPDX-License-Identifier: MIT */
#include "cli/cache/cluster_opts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "cachejob/hosts.h"
#include "cluster/secret.h"
#include "cluster/tree.h"
#include "job/place.h"

#define RANKS_MAX 1000000
#define POLL_NS (NS_PER_S / 20) /* short beside the start of a node */

const struct opt cache_cluster_opts[] = {
	OPT_UINT(0, "ranks", "N", struct cache_cluster_args, ranks, 1, RANKS_MAX,
		 "Serve the view on N nodes together [default: the launcher's, or 1]"),
	OPT_UINT(0, "rank", "R", struct cache_cluster_args, rank, 0, RANKS_MAX,
		 "Be node R of them, from 0 on [default: the launcher's]"),
	OPT_STR(0, "node-file", "FILE", struct cache_cluster_args, node_file,
		"Take both from the position of this host in FILE, a name a line"),
	OPT_STR(0, "address-book", "DIR", struct cache_cluster_args, address_book,
		"Exchange addresses in DIR, which all nodes share [default: below --job-dir]"),
	OPT_STR(0, "secret-file", "FILE", struct cache_cluster_args, secret_file,
		"Prove the secret in FILE to the other nodes [default: below --job-dir]"),
	OPT_STR(0, "transport", "auto|tcp|ofi", struct cache_cluster_args, transport,
		"Send messages by this transport [default auto]"),
	OPT_STR(0, "listen", "ADDR", struct cache_cluster_args, listen,
		"Listen on this address or interface [default: of the host's name]"),
	OPT_LIST(0, "shared", "PATH", struct cache_cluster_args, shared,
		 "Take PATH as the same on all nodes; again for more"),
	OPT_UINT(0, "trees", "N", struct cache_cluster_args, trees, 1, 64,
		 "Let N nodes read storage, each a part of all files [default 4]"),
	OPT_UINT(0, "join-timeout", "SECONDS", struct cache_cluster_args, join_s, 1, 86400,
		 "Wait SECONDS for the other nodes [default 60]"),
	OPT_STR(0, "launch", "NAME", struct cache_cluster_args, launch,
		"Write NAME into the node's file, which 'cache launch' waits for"),
	OPT_END,
};

/* A number of the launcher's; CACHE_NO_RANK: it gives none. */
static uint64_t number_of(const char *text)
{
	size_t len = strlen(text);
	uint64_t value;

	return len && number_parse(text, len, &value) == len ? value : CACHE_NO_RANK;
}

/* Does it pass addresses? Source: spec of PMIx 4, PMI-1 of MPICH. */
static bool has_exchange(void)
{
	return (getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK")) || getenv("PMI_FD");
}

static int fill_ranks(const struct cache_cluster_args *args, struct cluster_node_config *n,
		      struct err *e)
{
	struct job_place place;
	uint64_t rank = args->rank, size = args->ranks;
	int rc = 0;

	job_place_read(&place);
	if (args->node_file)
		rc = hosts_find_self(args->node_file, &rank, &size, e);
	else if (!size && has_exchange() && !args->address_book)
		size = number_of(place.size);
	else if (!size && args->address_book)
		return err_usage(e, "--address-book needs --ranks, and --rank without a launcher");
	if (rc < 0 || size == 0 || size == CACHE_NO_RANK)
		return rc;
	if (size == 1)
		rank = 0;
	if (rank == CACHE_NO_RANK)
		rank = number_of(place.rank);
	if (rank == CACHE_NO_RANK)
		return err_usage(e, "--ranks needs --rank: no launcher gives it here");
	if (rank >= size || size > RANKS_MAX)
		return err_usage(e, "rank %llu of %llu nodes", (unsigned long long)rank,
				 (unsigned long long)size);
	n->rank = (uint32_t)rank;
	n->size = (uint32_t)size;
	return 0;
}

static int make_folder(const char *path, struct err *e)
{
	return mkdir(path, 0700) < 0 && errno != EEXIST ? err_errno(e, "%s", path) : 0;
}

/* Rank 0 makes it; the others wait until it is there. */
static int wait_for_secret(const char *path, const struct cluster_node_config *n, struct err *e)
{
	int64_t until_ns = clock_mono_ns() + n->join_ns;
	const struct timespec pause = { .tv_nsec = POLL_NS };

	if (n->rank == 0 && secret_create(path, e) < 0 && e->code != -EEXIST)
		return e->code;
	while (access(path, F_OK) < 0) {
		if (clock_mono_ns() > until_ns)
			return err_set(e, -ETIMEDOUT, "%s: rank 0 has not made it", path);
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* The files of a job: JOB/cluster/book, JOB/cluster/secret. */
static int fill_files(const struct cache_cluster_args *args, const char *job,
		      struct cache_cluster_paths *paths, struct cluster_node_config *n,
		      struct err *e)
{
	char folder[PATH_MAX];
	int rc = 0;

	n->address_book = args->address_book;
	n->secret_file = args->secret_file;
	if (!n->address_book && has_exchange())
		return 0;
	if (n->address_book && n->secret_file)
		return 0;
	if (!job)
		return err_usage(e, "--ranks needs --address-book and --secret-file, or --job-dir");
	if (snprintf(folder, sizeof folder, "%s/cluster", job) >= (int)sizeof folder ||
	    snprintf(paths->book, sizeof paths->book, "%s/book", folder) >= PATH_MAX ||
	    snprintf(paths->secret, sizeof paths->secret, "%s/secret", folder) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: too long", job);
	if (mkdir(job, 0777) < 0 && errno != EEXIST)
		return err_errno(e, "%s", job);
	rc = make_folder(folder, e);
	if (!n->address_book)
		n->address_book = paths->book;
	if (rc == 0 && !n->secret_file) {
		n->secret_file = paths->secret;
		rc = wait_for_secret(paths->secret, n, e);
	}
	return rc;
}

int cache_cluster_fill(const struct cache_cluster_args *args, const char *job,
		       struct cache_cluster_paths *paths, struct overlay_opts *ret, bool *ret_is_on,
		       struct err *e)
{
	struct cluster_node_config *n = &ret->node;
	int rc;

	*ret_is_on = false;
	n->transport = args->transport ? args->transport : "auto";
	n->listen = args->listen;
	n->join_ns = (int64_t)args->join_s * NS_PER_S;
	rc = fill_ranks(args, n, e);
	if (rc < 0 || !n->size || (n->size == 1 && !args->launch))
		return rc;
	n->fanout = PROTOCOL_FANOUT;
	n->trees = args->trees ? (uint32_t)args->trees : PROTOCOL_TREES;
	if (n->trees > n->size)
		n->trees = n->size;
	for (size_t i = 0; i < args->shared.count; i++)
		paths->shared[i] = args->shared.items[i];
	ret->shared.paths = paths->shared;
	ret->shared.count = args->shared.count;
	*ret_is_on = true;
	return fill_files(args, job, paths, n, e);
}
