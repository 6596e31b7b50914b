/* SPDX-License-Identifier: MIT */
/* way: one way to learn the other ranks, for bootstrap.c. */
#ifndef CLUSTER_BOOTSTRAP_WAY_H
#define CLUSTER_BOOTSTRAP_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cluster/secret.h"

#define BOOTSTRAP_TEXT 256 /* bytes of a rank's text, with its NUL; printable, no blanks */

struct bootstrap_config {
	uint32_t rank, size;         /* size 0: the launcher's */
	const char *address_book;    /* a folder; NULL: none */
	const char *generation;      /* of the book; NULL: made from the secret */
	const struct secret *secret; /* NULL: none yet; only for open */
	int64_t join_ns;             /* before missing ranks are an error */
};

typedef int bootstrap_set(void *self, uint32_t rank, const char *text, struct err *e);

struct bootstrap {
	const struct bootstrap_way *way;
	uint32_t rank, size;
	int64_t join_ns;
	void *data; /* the way's */
};

/* A read of what a rank has published since; it needs nothing of struct bootstrap. */
struct bootstrap_lookup {
	bool (*run)(const struct bootstrap_lookup *l, char ret[BOOTSTRAP_TEXT]);
	void (*free)(struct bootstrap_lookup *l);
};

struct bootstrap_way {
	const char *name;
	bool (*is_offered)(const struct bootstrap_config *config);
	/* Sets rank, size and data. */
	int (*open)(const struct bootstrap_config *config, struct bootstrap *b, struct err *e);
	int (*exchange)(struct bootstrap *b, const char *own, const bool *wants, bootstrap_set *set,
			void *self, struct err *e);
	/* NULL, here and below: it cannot. */
	int (*share)(struct bootstrap *b, struct secret *ret, struct err *e);
	struct bootstrap_lookup *(*lookup)(const struct bootstrap *b, uint32_t rank);
	void (*close)(struct bootstrap *b); /* data may be NULL */
};

extern const struct bootstrap_way bootstrap_book;
extern const struct bootstrap_way bootstrap_pmi1;
extern const struct bootstrap_way bootstrap_pmix; /* where HAVE_PMIX */

#endif
