/* SPDX-License-Identifier: MIT */
#include "ctlfs/mpstat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "ctlfs/command.h"

#define STAT_MAX_BYTES ((size_t)16 << 20)
#define RAW_VERSION 1

static const char *const names[MPSTAT_STATES] = { "irq", "kern", "user", "idle" };

void mpstat_fini(struct mpstat *m)
{
	free(m->base);
	m->base = NULL;
}

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice" in ticks. */
static bool parse_line(const char *line, unsigned *ret_core, uint64_t *states)
{
	unsigned long long v[8] = { 0 };
	uint64_t tick = (uint64_t)(NS_PER_S / sysconf(_SC_CLK_TCK));

	if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", ret_core, &v[0], &v[1],
		   &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) < 8)
		return false;
	states[0] = (v[5] + v[6]) * tick;
	states[1] = (v[2] + v[7]) * tick;
	states[2] = (v[0] + v[1]) * tick;
	states[3] = (v[3] + v[4]) * tick;
	return true;
}

/* ret: [cores]; offline cores have zeros. */
static int read_states(const struct cpulist *cores, uint64_t (*ret)[MPSTAT_STATES], struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc = file_read_small("/proc/stat", STAT_MAX_BYTES, &text, e);
	char *line, *rest;

	if (rc < 0)
		return rc;
	for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		uint64_t states[MPSTAT_STATES];
		unsigned core;
		size_t i;

		if (!parse_line(line, &core, states))
			continue;
		i = command_core_index(cores, core);
		if (i != SIZE_MAX)
			memcpy(ret[i], states, sizeof states);
	}
	return 0;
}

/* Times since the reset; the caller frees it. NULL: e has the reason. */
static uint64_t (*measure(const struct mpstat *m, const struct cpulist *cores,
			  struct err *e))[MPSTAT_STATES]
{
	uint64_t(*states)[MPSTAT_STATES] = calloc(cores->count, sizeof *states);

	if (!states) {
		err_nomem(e);
		return NULL;
	}
	if (read_states(cores, states, e) < 0) {
		free(states);
		return NULL;
	}
	for (size_t i = 0; m->base && i < cores->count; i++)
		for (size_t k = 0; k < MPSTAT_STATES; k++)
			states[i][k] -= states[i][k] < m->base[i][k] ? states[i][k] : m->base[i][k];
	return states;
}

static void put_row(struct buf *out, uint32_t core, const uint64_t *states)
{
	uint64_t total = 0;

	for (size_t k = 0; k < MPSTAT_STATES; k++)
		total += states[k];
	buf_printf(out, "%5u: ", core);
	for (size_t k = 0; k < MPSTAT_STATES; k++)
		buf_printf(out, "%s%10" PRIu64 ".%06" PRIu64 " (%3" PRIu64 "%%)", k ? ", " : "",
			   states[k] / 1000000000, states[k] / 1000 % 1000000,
			   total ? states[k] / 1000 * 100 / (total / 1000 + !(total / 1000)) : 0);
	buf_put_str(out, " \n");
}

int mpstat_put(const struct mpstat *m, const struct cpulist *cores, struct buf *out, struct err *e)
{
	uint64_t(*states)[MPSTAT_STATES] = measure(m, cores, e);

	if (!states)
		return e->code;
	buf_put_str(out, "  CPU: ");
	for (size_t k = 0; k < MPSTAT_STATES; k++)
		buf_printf(out, "%s%23s", k ? "   " : "", names[k]);
	buf_put_str(out, "  \n");
	for (size_t i = 0; i < cores->count; i++)
		put_row(out, cores->cpus[i], states[i]);
	free(states);
	return 0;
}

int mpstat_put_raw(const struct mpstat *m, const struct cpulist *cores, struct buf *out,
		   struct err *e)
{
	uint64_t(*states)[MPSTAT_STATES] = measure(m, cores, e);

	if (!states)
		return e->code;
	buf_printf(out, "v%03d %5zu %16llu", RAW_VERSION, cores->count,
		   (unsigned long long)NS_PER_S);
	for (size_t k = 0; k < MPSTAT_STATES; k++)
		buf_printf(out, " %6s", names[k]);
	buf_put_byte(out, '\n');
	for (size_t i = 0; i < cores->count; i++) {
		buf_printf(out, "%5u: ", cores->cpus[i]);
		for (size_t k = 0; k < MPSTAT_STATES; k++)
			buf_printf(out, "%s%16" PRIx64, k ? " " : "", states[i][k]);
		buf_put_byte(out, '\n');
	}
	free(states);
	return 0;
}

static int reset(struct mpstat *m, const struct cpulist *cores, struct err *e)
{
	const struct mpstat from_start = { 0 };
	uint64_t(*states)[MPSTAT_STATES] = measure(&from_start, cores, e);

	if (!states)
		return e->code;
	free(m->base);
	m->base = states;
	return 0;
}

int mpstat_command(struct mpstat *m, const struct cpulist *cores, const char *text, size_t len,
		   struct err *e)
{
	char words[3][16] = { "", "", "" }, line[64];
	int count;

	snprintf(line, sizeof line, "%.*s", (int)(len < 63 ? len : 63), text);
	count = sscanf(line, "%15s %15s %15s", words[0], words[1], words[2]);
	if (count == 1 && strcmp(words[0], "reset") == 0)
		return reset(m, cores, e);
	if (count == 1 && (strcmp(words[0], "on") == 0 || strcmp(words[0], "off") == 0))
		return 0;
	if (count < 1 || strcmp(words[0], "ipi") != 0)
		return err_set(e, -EINVAL, "mpstat bad option (reset|ipi|on|off)");
	if (count == 1)
		return err_set(e, -EINVAL, "need another arg: ipi [on|off]");
	if (count > 2 || (strcmp(words[1], "on") != 0 && strcmp(words[1], "off") != 0))
		return err_set(e, -EINVAL, "ipi [on|off]");
	return 0;
}
