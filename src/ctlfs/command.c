/* SPDX-License-Identifier: MIT */
#include "ctlfs/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/str.h"

#define MAX_WORDS 6 /* one more than the longest command */

struct parser {
	const char *line;
	struct str words[MAX_WORDS];
	size_t count; /* may exceed MAX_WORDS */
	const struct cpulist *known;
	struct command *c;
	size_t at; /* byte */
	struct err *e;
};

/* A command that is a word, or a word and a number. */
static const struct simple {
	const char *name;
	enum verb verb;
	const char *usage; /* for a number; NULL: takes none */
	uint64_t min, max;
} simples[] = {
	{ "start", VERB_START, NULL, 0, 0 },
	{ "stop", VERB_STOP, NULL, 0, 0 },
	{ "startclr", VERB_STARTCLR, NULL, 0, 0 },
	{ "clear", VERB_CLEAR, NULL, 0, 0 },
	{ "opstart", VERB_OPSTART, NULL, 0, 0 },
	{ "opstop", VERB_OPSTOP, NULL, 0, 0 },
	{ "opclear", VERB_OPCLEAR, NULL, 0, 0 },
	{ "flush", VERB_FLUSH, NULL, 0, 0 },
	{ "qlimit", VERB_QLIMIT, "qlimit KB", QLIMIT_MIN_KB, QLIMIT_MAX_KB },
	{ "depth", VERB_DEPTH, "depth N", 1, DEPTH_MAX },
	{ "autostop", VERB_AUTOSTOP, "autostop SEC", 0, AUTOSTOP_MAX_S },
};

void command_fini(struct command *c)
{
	cpulist_fini(&c->cores);
}

size_t command_core_index(const struct cpulist *known, uint64_t core)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->cpus[i] == core)
			return i;
	return SIZE_MAX;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void split(struct parser *p, size_t len)
{
	size_t at = 0;

	for (;;) {
		struct str w;

		while (at < len && is_blank(p->line[at]))
			at++;
		if (at == len)
			return;
		w = (struct str){ p->line + at, 0 };
		while (at < len && !is_blank(p->line[at])) {
			at++;
			w.len++;
		}
		if (p->count < MAX_WORDS)
			p->words[p->count] = w;
		p->count++;
	}
}

static bool is_word(const struct parser *p, size_t i, const char *text)
{
	return i < p->count && str_equals(p->words[i], text);
}

/* Fails at word i. */
static int refuse(struct parser *p, size_t i, int code, const char *text)
{
	size_t last = p->count < MAX_WORDS ? p->count : MAX_WORDS;

	if (i < last)
		p->at = (size_t)(p->words[i].ptr - p->line);
	else if (last)
		p->at = (size_t)(p->words[last - 1].ptr - p->line) + p->words[last - 1].len;
	return err_set(p->e, code, "%s", text);
}

/* Decimal digits, nothing else. */
static bool take_number(struct str w, uint64_t *ret)
{
	return w.len && number_parse(w.ptr, w.len, ret) == w.len;
}

static int take_value(struct parser *p, size_t i, const char *usage, uint64_t min, uint64_t max)
{
	int rc;

	if (p->count != i + 1)
		return refuse(p, p->count > i + 1 ? i + 1 : i, -EINVAL, usage);
	if (!take_number(p->words[i], &p->c->value))
		return refuse(p, i, -EINVAL, usage);
	if (p->c->value >= min && p->c->value <= max)
		return 0;
	rc = refuse(p, i, -ERANGE, usage);
	err_set(p->e, rc, "%s: %" PRIu64 " is not in %" PRIu64 "..%" PRIu64, usage, p->c->value,
		min, max);
	return rc;
}

static int take_all(struct parser *p)
{
	const struct cpulist *known = p->known;
	struct cpulist *cores = &p->c->cores;

	cores->cpus = malloc(known->count * sizeof *cores->cpus);
	if (!cores->cpus)
		return err_nomem(p->e);
	memcpy(cores->cpus, known->cpus, known->count * sizeof *cores->cpus);
	cores->count = known->count;
	return 0;
}

/* "3", "0,2-5", "all" */
static int take_cores(struct parser *p, size_t i)
{
	char text[256];
	struct str w = p->words[i];
	uint32_t missing;
	uint64_t number;
	int rc;

	if (is_word(p, i, "all"))
		return take_all(p);
	if (w.len >= sizeof text)
		return refuse(p, i, -EINVAL, COMMAND_OPTIMER_USAGE);
	memcpy(text, w.ptr, w.len);
	text[w.len] = '\0';
	if (take_number(w, &number) && number >= CPULIST_MAX) {
		refuse(p, i, -ENXIO, "");
		return err_set(p->e, -ENXIO, "no such coreid %s", text);
	}
	rc = cpulist_parse(text, &p->c->cores, p->e);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		return refuse(p, i, -EINVAL, COMMAND_OPTIMER_USAGE);
	if (cpulist_within(&p->c->cores, p->known, &missing))
		return 0;
	refuse(p, i, -ENXIO, "");
	return err_set(p->e, -ENXIO, "no such coreid %u", missing);
}

static int take_switch(struct parser *p, size_t i, const char *usage)
{
	p->c->is_on = is_word(p, i, "on");
	return p->c->is_on || is_word(p, i, "off") ? 0 : refuse(p, i, -EINVAL, usage);
}

static int take_period(struct parser *p, size_t i)
{
	return take_value(p, i, COMMAND_OPTIMER_USAGE, PERIOD_MIN_US, PERIOD_MAX_US);
}

static int parse_optimer(struct parser *p)
{
	int rc;

	if (p->count < 3)
		return refuse(p, p->count, -EINVAL, COMMAND_OPTIMER_USAGE);
	if (is_word(p, 1, "period")) {
		p->c->verb = VERB_PERIOD;
		return take_period(p, 2);
	}
	p->c->verb = VERB_TIMER;
	rc = take_cores(p, 1);
	if (rc < 0)
		return rc;
	if (p->count > 3 && !is_word(p, 3, "period"))
		return refuse(p, 3, -EINVAL, COMMAND_OPTIMER_USAGE);
	rc = take_switch(p, 2, "optimer needs on|off");
	return rc == 0 && p->count > 3 ? take_period(p, 4) : rc;
}

static int parse_simple(struct parser *p, const struct simple *simple)
{
	p->c->verb = simple->verb;
	if (simple->usage)
		return take_value(p, 1, simple->usage, simple->min, simple->max);
	if (p->count > 1)
		return refuse(p, 1, -EINVAL, COMMAND_USAGE);
	return simple->verb == VERB_OPSTART || simple->verb == VERB_OPSTOP ? take_all(p) : 0;
}

static int parse_for_all(struct parser *p)
{
	if (is_word(p, 0, "optimer"))
		return parse_optimer(p);
	if (is_word(p, 0, "user")) {
		p->c->verb = VERB_USER;
		if (p->count > 2)
			return refuse(p, 2, -EINVAL, "user on|off");
		return take_switch(p, 1, "user on|off");
	}
	for (size_t i = 0; i < sizeof simples / sizeof *simples; i++)
		if (is_word(p, 0, simples[i].name))
			return parse_simple(p, &simples[i]);
	return refuse(p, 0, -EINVAL, COMMAND_USAGE);
}

static int parse_for_core(struct parser *p, uint32_t core)
{
	struct cpulist *cores = &p->c->cores;

	p->c->is_on = is_word(p, 0, "on");
	if (is_word(p, 0, "opstart"))
		p->c->verb = VERB_OPSTART;
	else if (is_word(p, 0, "opstop"))
		p->c->verb = VERB_OPSTOP;
	else if (p->c->is_on || is_word(p, 0, "off"))
		p->c->verb = VERB_TIMER;
	else
		return refuse(p, 0, -EINVAL, COMMAND_CORE_USAGE);
	if (p->count > 1)
		return refuse(p, 1, -EINVAL, COMMAND_CORE_USAGE);
	cores->cpus = malloc(sizeof *cores->cpus);
	if (!cores->cpus)
		return err_nomem(p->e);
	cores->cpus[0] = core;
	cores->count = 1;
	return 0;
}

int command_parse(const char *line, size_t len, const struct cpulist *known, int64_t core,
		  struct command *ret, size_t *ret_at, struct err *e)
{
	struct command c = { 0 };
	struct parser p = { .line = line, .known = known, .c = &c, .e = e };
	int rc;

	split(&p, len);
	rc = core < 0 ? parse_for_all(&p) : parse_for_core(&p, (uint32_t)core);
	*ret_at = p.at;
	if (rc < 0)
		command_fini(&c);
	else
		*ret = c;
	return rc;
}
