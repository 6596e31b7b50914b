/* SPDX-License-Identifier: MIT */
/*
 * command: parses what is written to kpctl and cpu/N/ctl, one command a line.
 *
 * A line is parsed as a whole or fails; command_run.c runs it. Words and error texts are those of
 * Akaros' kprof device; numbers, periods and further words, which it did not check, are checked.
 */
#ifndef CTLFS_COMMAND_H
#define CTLFS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "target/cpulist.h"

#define COMMAND_MAX_BYTES 4095 /* of one write */
#define COMMAND_USAGE                                                                       \
	"startclr|start|stop|clear|opstart|opstop|optimer|opclear|flush|qlimit|depth|user|" \
	"autostop"
#define COMMAND_OPTIMER_USAGE "optimer [<0|1|..|n|all> <on|off>] [period USEC]"
#define COMMAND_CORE_USAGE "on|off|opstart|opstop"

#define PERIOD_MIN_US 100
#define PERIOD_MAX_US 1000000
#define QLIMIT_MIN_KB 64
#define QLIMIT_MAX_KB ((uint64_t)16 << 20)
#define DEPTH_MAX 255
#define AUTOSTOP_MAX_S 86400

enum verb {
	VERB_START,
	VERB_STOP,
	VERB_STARTCLR,
	VERB_CLEAR,
	VERB_OPSTART, /* cores */
	VERB_OPSTOP,  /* cores */
	VERB_TIMER,   /* cores, is_on, value: microseconds, 0: as before */
	VERB_PERIOD,  /* value: microseconds */
	VERB_OPCLEAR,
	VERB_FLUSH,
	VERB_QLIMIT,   /* value: KiB */
	VERB_DEPTH,    /* value: frames */
	VERB_USER,     /* is_on */
	VERB_AUTOSTOP, /* value: seconds, 0: never */
};

struct command {
	enum verb verb;
	struct cpulist cores; /* owned */
	bool is_on;
	uint64_t value;
};

void command_fini(struct command *c); /* all zero is allowed */

/*
 * line: [0..len), without the newline. known: the cores of the machine. core: the core of
 * cpu/N/ctl, or -1. *ret_at: the byte where the error is. -EINVAL, -ENXIO: no such core, -ERANGE,
 * -ENOMEM.
 */
int command_parse(const char *line, size_t len, const struct cpulist *known, int64_t core,
		  struct command *ret, size_t *ret_at, struct err *e) MUST_CHECK;

/* The index of a core in the list; SIZE_MAX: not in it. */
size_t command_core_index(const struct cpulist *known, uint64_t core);

#endif
