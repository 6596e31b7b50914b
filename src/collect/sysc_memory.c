/* SPDX-License-Identifier: MIT */
#include "collect/sysc_memory.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static size_t want_bytes(const struct sysc_call *c, const struct sysc_fetch *f, bool *ret_is_cut)
{
	uint64_t bytes = f->limit;

	if (f->kind == FETCH_BY_NEXT)
		bytes = c->args[f->arg + 1] * f->unit;
	else if (f->kind == FETCH_BY_RET)
		bytes = c->ret > 0 ? (uint64_t)c->ret : 0;
	*ret_is_cut = bytes > f->limit;
	return bytes < f->limit ? bytes : f->limit;
}

/* Within a page, so that a string near the end of what is mapped is read, too. */
static size_t read_memory(pid_t tid, uint64_t from, char *to, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t page = 4096 - ((from + done) & 4095);
		struct iovec here = { to + done, len - done < page ? len - done : page };
		struct iovec there = { (void *)(uintptr_t)(from + done),
				       here.iov_len }; /* NOLINT */
		ssize_t n = process_vm_readv(tid, &here, 1, &there, 1, 0);

		if (n <= 0)
			break;
		done += (size_t)n;
		if (memchr(here.iov_base, 0, (size_t)n) && len > 64)
			break; /* of a string, enough */
	}
	return done;
}

static void fetch(struct sysc_call *c, const struct sysc_fetch *f, char *to)
{
	struct sysc_memory *m = &c->memory[c->memory_count];
	bool is_cut;
	size_t want = want_bytes(c, f, &is_cut), got;

	if (!c->args[f->arg])
		return;
	got = read_memory((pid_t)c->tid, c->args[f->arg], to, want);
	if (got == 0 && want > 0)
		return;
	if (f->kind == FETCH_STRING) {
		size_t len = strnlen(to, got);

		is_cut = len == got;
		got = len;
	}
	*m = (struct sysc_memory){
		.arg = f->arg, .is_cut = is_cut, .len = (uint16_t)got, .bytes = to
	};
	c->memory_count++;
}

void sysc_read_memory(struct sysc_call *c, bool wants_all, bool at_enter,
		      char bytes[SYSC_FETCHES][SYSC_FETCH_BYTES])
{
	struct sysc_fetch fetches[SYSC_FETCHES];
	size_t count = sysc_fetches(c->nr, wants_all, fetches);

	for (size_t i = 0; i < count; i++)
		if (fetches[i].at_enter == at_enter)
			fetch(c, &fetches[i], bytes[c->memory_count]);
}
