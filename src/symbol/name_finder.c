/* SPDX-License-Identifier: MIT */
#include "symbol/name_finder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "symbol/perfmap.h"

/* One address of a request. */
struct place {
	uint64_t vaddr;
	uint32_t index; /* in the request */
};

/* The addresses of a request, as a lookup wants them. */
struct finder {
	const struct name_request *request;
	struct place *places; /* [place_count], by vaddr */
	size_t place_count;
	uint64_t *addresses; /* [address_count], ascending, no two equal */
	size_t address_count;
	uint32_t *slots; /* [request->count]: index in addresses; UINT32_MAX: none */
};

static int by_vaddr(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Of a file that no longer exists only the debug file may be there, whose segments are empty:
 * there, what auger itself recorded is a virtual address already. f NULL: a perf map. */
static bool find_vaddr(const struct symbol_file *f, const struct name_address *a, uint64_t *ret)
{
	*ret = f ? a->vaddr : a->offset;
	return !f || symbol_file_vaddr(f, a->offset, ret) || !symbol_file_has_code(f);
}

static int finder_init(struct finder *d, const struct name_request *r, const struct symbol_file *f)
{
	*d = (struct finder){ .request = r,
			      .places = calloc(r->count + 1, sizeof *d->places),
			      .addresses = calloc(r->count + 1, sizeof *d->addresses),
			      .slots = calloc(r->count + 1, sizeof *d->slots) };
	if (!d->places || !d->addresses || !d->slots)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		struct place *p = &d->places[d->place_count];

		d->slots[i] = UINT32_MAX;
		p->index = (uint32_t)i;
		d->place_count += find_vaddr(f, &r->addresses[i], &p->vaddr);
	}
	qsort(d->places, d->place_count, sizeof *d->places, by_vaddr);
	for (size_t i = 0; i < d->place_count; i++) {
		const struct place *p = &d->places[i];

		if (!d->address_count || d->addresses[d->address_count - 1] != p->vaddr)
			d->addresses[d->address_count++] = p->vaddr;
		d->slots[p->index] = (uint32_t)d->address_count - 1;
	}
	return 0;
}

static void finder_fini(struct finder *d)
{
	free(d->places);
	free(d->addresses);
	free(d->slots);
}

/* From the answer for addresses to that for the request. */
static int spread(const struct finder *d, const struct symbol_answer *from,
		  struct name_answer *answer)
{
	struct buf frames = { 0 };
	uint32_t count = 0;

	answer->first = calloc(d->request->count + 1, sizeof *answer->first);
	for (size_t i = 0; answer->first && i < d->request->count; i++) {
		uint32_t slot = d->slots[i], at = slot == UINT32_MAX ? 0 : from->first[slot];
		uint32_t end = slot == UINT32_MAX ? 0 : from->first[slot + 1];

		if (end > at)
			buf_put(&frames, from->frames + at, (end - at) * sizeof *from->frames);
		count += end - at;
		answer->first[i + 1] = count;
	}
	answer->frames = (void *)frames.data;
	return answer->first && buf_error(&frames) == 0 ? 0 : -ENOMEM;
}

static int copy_functions(const struct symbol_file *f, struct name_answer *answer)
{
	size_t count = symbol_file_function_count(f);

	answer->functions = calloc(count + 1, sizeof *answer->functions);
	if (!answer->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		answer->functions[i] = symbol_file_function(f, i);
	answer->function_count = (uint32_t)count;
	return 0;
}

static int find_in_file(const struct name_request *r, struct symbol_file *f,
			struct name_answer *answer, struct err *e)
{
	struct symbol_answer found = { 0 };
	struct finder d;
	int rc = finder_init(&d, r, f);

	if (rc == 0)
		rc = symbol_file_lookup(f, d.addresses, d.address_count, &found, e);
	if (rc == 0)
		rc = spread(&d, &found, answer);
	if (rc == 0)
		rc = copy_functions(f, answer);
	answer->has_lines = found.has_lines;
	answer->has_inlines = found.has_inlines;
	symbol_answer_fini(&found);
	finder_fini(&d);
	return rc < 0 ? err_nomem(e) : 0;
}

/* One function for each address that has a name. */
static int take_map_names(const struct finder *d, const char **names, struct name_answer *answer)
{
	size_t count = d->request->count;
	uint32_t n = 0;

	answer->functions = calloc(count + 1, sizeof *answer->functions);
	answer->frames = calloc(count + 1, sizeof *answer->frames);
	answer->first = calloc(count + 1, sizeof *answer->first);
	if (!answer->functions || !answer->frames || !answer->first)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *name = names[d->slots[i]];

		if (name) {
			answer->functions[n] = (struct symbol_function){ name, name, "", 0 };
			answer->frames[n].function = n;
			n++;
		}
		answer->first[i + 1] = n;
	}
	answer->function_count = n;
	return 0;
}

/* text: what the names point into. */
static int find_in_map(const struct name_request *r, struct buf *text, struct name_answer *answer,
		       struct err *e)
{
	const char **names = NULL;
	struct finder d;
	int rc = finder_init(&d, r, NULL);

	if (rc == 0)
		names = calloc(d.address_count + 1, sizeof *names);
	rc = names ? perfmap_find(r->file.path, r->kind == NAME_OWN_PERF_MAP, d.addresses,
				  d.address_count, text, names, e)
		   : err_nomem(e);
	answer->is_cut = rc == 1;
	if (rc >= 0 && take_map_names(&d, names, answer) < 0)
		rc = err_nomem(e);
	free(names);
	finder_fini(&d);
	return rc < 0 ? rc : 0;
}

void name_find(const struct name_request *r, struct buf *out)
{
	struct name_answer answer = { 0 };
	struct symbol_file *f = NULL;
	struct buf text = { 0 };
	struct err e = { 0 };
	int rc;

	if (r->kind == NAME_ELF) {
		rc = symbol_file_open(&r->file, &f, &e);
		if (rc == 0)
			rc = find_in_file(r, f, &answer, &e);
		if (rc == 0 && symbol_file_error(f))
			log_msg(LOG_WARN, "symbol", "%s: names are missing: %s",
				r->file.name ? r->file.name : r->file.build_id,
				strerror(-symbol_file_error(f)));
	} else {
		rc = r->file.path ? find_in_map(r, &text, &answer, &e) : -EINVAL;
	}
	answer.code = rc;
	answer.reason = e.msg;
	name_answer_write(&answer, r->count, out);
	name_answer_fini(&answer);
	symbol_file_close(f);
	buf_fini(&text);
}
