/* SPDX-License-Identifier: MIT */
#include "ctlfs/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rows.h"

/* Switches the timer of every core by the state of optimer and start. */
static int apply_timers(struct session *s, struct err *e)
{
	for (size_t i = 0; i < s->known->count; i++) {
		int rc =
			tracer_set_timer(s->tracer, i, s->is_started || s->cores[i].is_timer_on, e);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A core that went offline after the mount has no timer. */
static int check_online(const struct cpulist *wanted, struct err *e)
{
	CLEANUP(cpulist_fini) struct cpulist online = { 0 };
	uint32_t missing;
	int rc = cpulist_online(NULL, &online, e);

	if (rc < 0)
		return rc;
	if (!cpulist_within(wanted, &online, &missing))
		return err_set(e, -ENXIO, "no such coreid %u: it is offline", missing);
	return 0;
}

static int set_period(struct session *s, uint64_t period_us, struct err *e)
{
	int rc = tracer_set_period(s->tracer, period_us * 1000, e);

	if (rc == 0)
		s->period_us = period_us;
	return rc;
}

static int set_timers(struct session *s, const struct command *c, struct err *e)
{
	int rc = c->is_on ? check_online(&c->cores, e) : 0;

	if (rc == 0 && c->value)
		rc = set_period(s, c->value, e);
	if (rc < 0)
		return rc;
	if (!c->is_on)
		session_poll_all(s);
	for (size_t i = 0; i < c->cores.count; i++)
		s->cores[command_core_index(s->known, c->cores.cpus[i])].is_timer_on = c->is_on;
	return apply_timers(s, e);
}

static int set_started(struct session *s, bool is_started, struct err *e)
{
	if (!is_started)
		session_poll_all(s);
	s->is_counting = is_started;
	s->is_started = is_started;
	return apply_timers(s, e);
}

static void note_start(struct session *s)
{
	s->stop_ns = s->autostop_s ? clock_mono_ns() + (int64_t)s->autostop_s * NS_PER_S : 0;
}

static void start_tracing(struct session *s, const struct cpulist *cores)
{
	note_start(s);
	for (size_t i = 0; i < cores->count; i++) {
		struct core_state *core = &s->cores[command_core_index(s->known, cores->cpus[i])];

		if (!core->is_tracing)
			core->traced_from = (uint64_t)clock_mono_ns();
		core->is_tracing = true;
		journal_add(s->journal, "Enable tracing on %" PRIu32, cores->cpus[i]);
	}
}

static void stop_tracing(struct session *s, const struct cpulist *cores)
{
	bool was_on = session_is_tracing(s, QUEUE_ALL);

	session_poll_all(s);
	for (size_t i = 0; i < cores->count; i++) {
		struct core_state *core = &s->cores[command_core_index(s->known, cores->cpus[i])];

		if (core->is_tracing)
			journal_add(s->journal, "Disable tracing on %" PRIu32, cores->cpus[i]);
		core->is_tracing = false;
	}
	if (!was_on || session_is_tracing(s, QUEUE_ALL))
		return;
	s->stop_ns = 0;
	for (struct stream *t = s->streams; t; t = t->next)
		t->was_stopped = true;
}

static int clear_collected(struct session *s, struct err *e)
{
	session_poll_all(s);
	queue_clear(&s->queue);
	processes_clear(&s->processes);
	s->unprofiled = 0;
	return tracer_clear(s->tracer, e);
}

static int run_histogram_command(struct session *s, enum verb verb, struct err *e)
{
	if (verb == VERB_CLEAR || verb == VERB_STARTCLR)
		histogram_clear(&s->histogram);
	if (verb == VERB_CLEAR)
		return 0;
	return set_started(s, verb != VERB_STOP, e);
}

static int run_command(struct session *s, const struct command *c, struct err *e)
{
	switch (c->verb) {
	case VERB_START:
	case VERB_STARTCLR:
	case VERB_STOP:
	case VERB_CLEAR:
		return run_histogram_command(s, c->verb, e);
	case VERB_OPSTART:
		start_tracing(s, &c->cores);
		return 0;
	case VERB_OPSTOP:
		stop_tracing(s, &c->cores);
		return 0;
	case VERB_TIMER:
		return set_timers(s, c, e);
	case VERB_PERIOD:
		return set_period(s, c->value, e);
	case VERB_OPCLEAR:
		return clear_collected(s, e);
	case VERB_FLUSH:
		session_poll_all(s);
		return 0;
	case VERB_QLIMIT:
		s->queue.limit = c->value << 10;
		return 0;
	case VERB_DEPTH:
		s->depth = c->value;
		return 0;
	case VERB_USER:
		s->has_user = c->is_on;
		return 0;
	case VERB_AUTOSTOP:
		s->autostop_s = c->value;
		if (session_is_tracing(s, QUEUE_ALL))
			note_start(s);
		return 0;
	}
	return 0;
}

/* The commands of one write. */
struct batch {
	struct rows commands; /* struct command */
};

static void batch_fini(struct batch *b)
{
	struct command *commands = b->commands.data;

	for (size_t i = 0; i < b->commands.count; i++)
		command_fini(&commands[i]);
	rows_fini(&b->commands);
}

static int parse_line(struct session *s, struct batch *b, const char *file, int64_t core,
		      const char *line, size_t len, struct err *e)
{
	struct command *c = rows_add(&b->commands, sizeof *c);
	size_t at = 0;
	int rc = c ? command_parse(line, len, s->known, core, c, &at, e) : err_nomem(e);

	if (rc < 0)
		journal_refuse(s->journal, file, line, len, at, e);
	return rc;
}

static int parse_all(struct session *s, struct batch *b, const char *file, int64_t core,
		     const char *text, size_t len, struct err *e)
{
	int rc = 0;

	do {
		const char *end = len ? memchr(text, '\n', len) : NULL;
		size_t line = end ? (size_t)(end - text) : len;

		rc = parse_line(s, b, file, core, text, line, e);
		line += end != NULL;
		text += line;
		len -= line;
	} while (rc == 0 && len);
	return rc;
}

int session_command(struct session *s, const char *file, int64_t core, const char *text, size_t len,
		    struct err *e)
{
	CLEANUP(batch_fini) struct batch b = { 0 };
	const struct command *commands;
	int rc;

	if (len > COMMAND_MAX_BYTES) {
		err_set(e, -EMSGSIZE, "more than %d bytes", COMMAND_MAX_BYTES);
		journal_refuse(s->journal, file, text, 0, 0, e);
		return e->code;
	}
	rc = parse_all(s, &b, file, core, text, len, e);
	if (rc < 0)
		return rc;
	commands = b.commands.data;
	for (size_t i = 0; rc == 0 && i < b.commands.count; i++)
		rc = run_command(s, &commands[i], e);
	if (rc < 0)
		journal_refuse(s->journal, file, text, len, 0, e);
	else
		journal_accept(s->journal);
	return rc;
}
