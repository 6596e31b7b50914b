/* SPDX-License-Identifier: MIT */
#include "source/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strtab.h"
#include "symbol/elf/disasm.h"
#include "symbol/symbol_file.h"

#define MAX_CODE_BYTES ((uint64_t)16 << 20) /* of one function */

struct listing {
	const struct profile *profile;
	const struct line_values *costs;
	const char *function, *file;
	uint64_t delta;          /* of the mapping: profile's address less the file's */
	struct strtab *texts;    /* of instructions and inlined names */
	struct code_line *insns; /* [count] */
	size_t count, cap;
	struct err *e;
};

static const char *keep(struct listing *l, const char *text)
{
	uint32_t id = strtab_intern(l->texts, text, strlen(text));

	return id == STRTAB_NONE ? NULL : strtab_get(l->texts, id).ptr;
}

static int add(struct listing *l, const struct code_line *insn)
{
	if (l->count == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 256;
		struct code_line *insns = reallocarray(l->insns, cap, sizeof *insns);

		if (!insns)
			return err_nomem(l->e);
		l->insns = insns;
		l->cap = cap;
	}
	l->insns[l->count++] = *insn;
	return 0;
}

static bool is_the_function(const struct listing *l, const struct symbol_function *fn)
{
	return strcmp(fn->name, l->function) == 0 &&
	       (!*l->file || !*fn->file || strcmp(fn->file, l->file) == 0);
}

/* frames: [count] of one address, innermost first. The instruction is the function's when it
 * is one of them; the ones further in are what was inlined there. */
static int add_of_frames(struct listing *l, struct code_line *insn, struct symbol_file *f,
			 const struct symbol_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct symbol_function fn = symbol_file_function(f, frames[i].function);

		if (!is_the_function(l, &fn))
			continue;
		insn->line = frames[i].line;
		if (i > 0) {
			insn->inlined = keep(l, symbol_file_function(f, frames[0].function).name);
			if (!insn->inlined)
				return err_nomem(l->e);
		}
		return add(l, insn);
	}
	return 0;
}

static int add_code(struct listing *l, uint32_t mapping, struct symbol_file *f,
		    const struct insns *code)
{
	uint64_t *addresses = reallocarray(NULL, code->count + 1, sizeof *addresses);
	struct symbol_answer answer = { 0 };
	int rc;

	if (!addresses)
		return err_nomem(l->e);
	for (size_t i = 0; i < code->count; i++)
		addresses[i] = code->list[i].address;
	rc = symbol_file_lookup(f, addresses, code->count, &answer, l->e);
	for (size_t i = 0; rc == 0 && i < code->count; i++) {
		struct code_line insn = {
			.mapping = mapping,
			.size = code->list[i].size,
			.address = code->list[i].address + l->delta,
			.text = keep(l, insn_text(code, i)),
		};

		rc = insn.text ? add_of_frames(l, &insn, f, answer.frames + answer.first[i],
					       answer.first[i + 1] - answer.first[i])
			       : err_nomem(l->e);
	}
	if (rc == 0 || answer.first)
		symbol_answer_fini(&answer);
	free(addresses);
	return rc;
}

static int list_extent(struct listing *l, uint32_t mapping, struct symbol_file *f,
		       const struct symbol_extent *extent)
{
	uint64_t len = extent->end - extent->start;
	const unsigned char *bytes;
	struct insns code = { 0 };
	int rc;

	if (len > MAX_CODE_BYTES)
		return 0;
	bytes = symbol_file_code(f, extent->start, (size_t)len);
	if (!bytes)
		return 0;
	rc = disassemble(&code, symbol_file_machine(f), bytes, (size_t)len, extent->start, l->e);
	if (rc == 0)
		rc = add_code(l, mapping, f, &code);
	insns_fini(&code);
	if (rc != -ENOTSUP)
		return rc;
	log_msg(LOG_WARN, "annotate", "no instructions: %s", l->e->msg);
	return 0;
}

/* Other tools' profiles have addresses as they were at run time. */
static bool find_delta(struct listing *l, const struct symbol_file *f, const struct mapping *m,
		       uint64_t address)
{
	uint64_t vaddr;

	if (!symbol_file_vaddr(f, address - m->start + m->offset, &vaddr))
		return false;
	l->delta = address - vaddr;
	return true;
}

/* The extents that the sampled addresses [first..last) of one mapping lie in, each once. */
static int list_mapping(struct listing *l, size_t first, size_t last)
{
	const struct address_value *at = &l->costs->addresses[first];
	const struct mapping *m = profile_get_mapping(l->profile, at->mapping);
	const struct symbol_file_opts opts = {
		.path = profile_text(l->profile, m->path),
		.build_id = profile_text(l->profile, m->build_id),
	};
	struct symbol_extent extent = { 0 };
	struct symbol_file *f;
	int rc;

	if (opts.path[0] == '[') {
		log_msg(LOG_WARN, "annotate", "no instructions: the code of %s is in no file",
			opts.path);
		return 0;
	}
	rc = symbol_file_open(&opts, &f, l->e);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0) {
		log_msg(LOG_WARN, "annotate", "no instructions: %s", l->e->msg);
		return 0;
	}
	for (size_t i = first; rc == 0 && i < last; i++) {
		uint64_t address = l->costs->addresses[i].address;

		if (!find_delta(l, f, m, address) || address - l->delta < extent.end ||
		    !symbol_file_extent(f, address - l->delta, &extent))
			continue;
		rc = list_extent(l, at->mapping, f, &extent);
	}
	symbol_file_close(f);
	return rc;
}

static int list_all(struct listing *l)
{
	const struct line_values *c = l->costs;
	size_t first = 0;
	int rc = 0;

	while (rc == 0 && first < c->address_count) {
		size_t last = first;

		while (last < c->address_count &&
		       c->addresses[last].mapping == c->addresses[first].mapping)
			last++;
		rc = list_mapping(l, first, last);
		first = last;
	}
	return rc;
}

int listing_new(struct listing **ret, const struct profile *p, const struct line_values *costs,
		const char *function, const char *file, struct err *e)
{
	struct listing *l = calloc(1, sizeof *l);
	int rc;

	if (!l)
		return err_nomem(e);
	*l = (struct listing){ .profile = p,
			       .costs = costs,
			       .function = function,
			       .file = file,
			       .texts = strtab_new(),
			       .e = e };
	rc = l->texts ? list_all(l) : err_nomem(e);
	if (rc < 0) {
		listing_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

void listing_free(struct listing *l)
{
	if (!l)
		return;
	strtab_free(l->texts);
	free(l->insns);
	free(l);
}

struct code_line *listing_insns(struct listing *l, size_t *ret_count)
{
	*ret_count = l->count;
	return l->insns;
}
