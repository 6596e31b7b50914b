/* SPDX-License-Identifier: MIT */
#include "model/syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compat/compat.h"

const char *const syscalls_by_names[] = {
	"call", "thread", "process", "file", "fd", "errno", NULL
};

int syscalls_init(struct syscalls *s, enum syscalls_by by)
{
	*s = (struct syscalls){ .by = by, .strings = strtab_new() };
	if (!s->strings || strtab_intern(s->strings, "", 0) == STRTAB_NONE)
		return -ENOMEM;
	syscalls_add_subject(s, &(struct syscalls_subject){ .fd = -1 });
	return syscalls_error(s);
}

void syscalls_fini(struct syscalls *s)
{
	struct syscalls_cell *cells = s->cells.data;

	for (size_t i = 0; i < s->cells.count; i++)
		latency_fini(&cells[i].latency);
	rows_fini(&s->cells);
	rows_fini(&s->subjects);
	map_fini(&s->by_name);
	map_fini(&s->by_error);
	strtab_free(s->strings);
	*s = (struct syscalls){ 0 };
}

int syscalls_error(const struct syscalls *s)
{
	return s->bad ? -ENOMEM : 0;
}

uint32_t syscalls_str(struct syscalls *s, const char *text, size_t len)
{
	uint32_t id = strtab_intern(s->strings, text, len);

	s->bad |= id == STRTAB_NONE;
	return id == STRTAB_NONE ? 0 : id;
}

const char *syscalls_text(const struct syscalls *s, uint32_t id)
{
	return strtab_get(s->strings, id).ptr;
}

uint32_t syscalls_add_subject(struct syscalls *s, const struct syscalls_subject *subject)
{
	struct syscalls_subject *row = rows_add(&s->subjects, sizeof *row);

	if (!row) {
		s->bad = true;
		return 0;
	}
	*row = *subject;
	return (uint32_t)(s->subjects.count - 1);
}

struct syscalls_subject *syscalls_subject(struct syscalls *s, uint32_t index)
{
	return (struct syscalls_subject *)s->subjects.data + index;
}

static struct syscalls_cell *add_cell(struct syscalls *s, uint32_t *at)
{
	struct syscalls_cell *cell = rows_add(&s->cells, sizeof *cell);

	if (cell)
		*at = (uint32_t)(s->cells.count - 1);
	return cell;
}

struct syscalls_cell *syscalls_cell(struct syscalls *s, uint32_t subject, uint32_t call,
				    int32_t error)
{
	uint32_t *name = map_at(&s->by_name, map_pair(subject, call)), *at;
	struct syscalls_cell *cell;

	if (name && *name == MAP_NONE)
		*name = (uint32_t)s->by_name.count;
	at = name ? map_at(&s->by_error, map_pair(*name, (uint32_t)error)) : NULL;
	if (at && *at != MAP_NONE)
		return (struct syscalls_cell *)s->cells.data + *at;
	cell = at ? add_cell(s, at) : NULL;
	if (!cell) {
		s->bad = true;
		return NULL;
	}
	cell->subject = subject;
	cell->call = call;
	cell->error = error;
	return cell;
}

uint32_t syscalls_cell_index(const struct syscalls *s, const struct syscalls_cell *cell)
{
	return (uint32_t)(cell - (const struct syscalls_cell *)s->cells.data);
}

struct syscalls_cell *syscalls_cell_at(struct syscalls *s, uint32_t index)
{
	return (struct syscalls_cell *)s->cells.data + index;
}

void syscalls_add(struct syscalls *s, uint32_t subject, uint32_t call, int32_t error, int64_t ns)
{
	syscalls_add_to(s, syscalls_cell(s, subject, call, error), ns);
}

void syscalls_add_to(struct syscalls *s, struct syscalls_cell *cell, int64_t ns)
{
	if (!cell)
		return;
	cell->count++;
	if (ns >= 0 && latency_add(&cell->latency, ns) < 0)
		s->bad = true;
}

/* What the kernel has for itself: it restarts the call, or the program sees EINTR. */
static const struct {
	int32_t error;
	const char *name;
} inner[] = {
	{ 512, "ERESTARTSYS" }, { 513, "ERESTARTNOINTR" },        { 514, "ERESTARTNOHAND" },
	{ 515, "ENOIOCTLCMD" }, { 516, "ERESTART_RESTARTBLOCK" },
};

const char *syscalls_error_name(int32_t error, char buffer[24])
{
	const char *name = compat_error_name(error);

	for (size_t i = 0; i < ARRAY_LEN(inner); i++)
		if (inner[i].error == error)
			name = inner[i].name;
	if (name)
		return name;
	snprintf(buffer, 24, "errno %d", error);
	return buffer;
}

bool syscalls_is_slow(const struct syscalls *s, int64_t ns)
{
	if (!s->wants_slowest || ns < 0)
		return false;
	return s->slow_count < SYSCALLS_SLOWEST || ns > s->slowest[SYSCALLS_SLOWEST - 1].took_ns;
}

void syscalls_add_slow(struct syscalls *s, const struct syscall_decoded *c)
{
	const char *error = c->error ? c->error : "";
	struct syscalls_slow slow = { .pid = c->pid,
				      .tid = c->tid,
				      .start_ns = c->start_ns,
				      .took_ns = c->end_ns - c->start_ns };
	size_t at;

	if (!syscalls_is_slow(s, slow.took_ns))
		return;
	slow.call = syscalls_str(s, c->call, strlen(c->call)); /* the first: adding moves strings */
	slow.comm = syscalls_str(s, c->comm, strlen(c->comm));
	slow.args = syscalls_str(s, c->args, strlen(c->args));
	slow.result = syscalls_str(s, c->result, strlen(c->result));
	slow.error = syscalls_str(s, error, strlen(error));
	if (s->slow_count < SYSCALLS_SLOWEST)
		s->slow_count++;
	for (at = s->slow_count - 1; at > 0 && s->slowest[at - 1].took_ns < slow.took_ns; at--)
		s->slowest[at] = s->slowest[at - 1];
	s->slowest[at] = slow;
}
