/* SPDX-License-Identifier: MIT */
/*
 * launcher: how a command is started once on each node of an allocation: by srun, by an mpirun, or
 * by ssh host by host. It makes command lines only; who calls it runs them.
 */
#ifndef CACHEJOB_LAUNCHER_H
#define CACHEJOB_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "cachejob/hosts.h"

/* A command line being made. All zero is empty; out of memory is remembered. */
struct words {
	struct buf text; /* the words, a NUL behind each */
	size_t count;
};
void words_fini(struct words *w);
void words_add(struct words *w, const char *word);
void words_addf(struct words *w, const char *fmt, ...) PRINTF(2, 3);
void words_add_all(struct words *w, const struct words *other);
/* NULL-terminated; to be freed by the caller, and borrows from w. NULL: out of memory. */
char **words_argv(const struct words *w) MUST_CHECK;
/* Appends it as a line of sh, without the line's end. */
void words_quote(const struct words *w, struct buf *out);

enum launcher_kind {
	LAUNCHER_AUTO,
	LAUNCHER_SLURM,
	LAUNCHER_OPENMPI,
	LAUNCHER_MPICH,
	LAUNCHER_SSH
};
extern const char *const launcher_kinds[]; /* "auto", "slurm", ..., NULL: for OPT_CHOICE */

struct launcher_opts {
	enum launcher_kind kind;
	const char *hosts;     /* "a,b"; NULL: of the environment */
	const char *host_file; /* the same, in a file */
	const char *rsh;       /* NULL: ssh without questions */
};

struct launcher {
	enum launcher_kind kind; /* not AUTO */
	char found[128];         /* what it was found by, for the user: "Slurm, job 12" */
	char job[64];            /* LAUNCHER_SLURM: its number */
	char rsh[256];           /* LAUNCHER_SSH */
	uint32_t nodes;
	struct hosts hosts; /* [nodes], except of Slurm */
};

/* In this order: hosts and host_file; SLURM_JOB_ID; PBS_NODEFILE. -ENOENT: there is nothing. */
int launcher_find(const struct launcher_opts *o, struct launcher *ret, struct err *e) MUST_CHECK;
void launcher_fini(struct launcher *l);

/* Is one process started that starts all nodes, and gives each its rank? Else one a node. */
bool launcher_is_collective(const struct launcher *l);

/* The command line that starts command on node i; on all nodes if it is collective. */
void launcher_put(const struct launcher *l, uint32_t i, const struct words *command,
		  struct words *ret);

#endif
