/* SPDX-License-Identifier: MIT */
#include "view/tables/growth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/merge.h"
#include "view/tree.h"

#define NAME_MAX_BYTES 512
#define UNKNOWN "[unknown]"

/* Entries of page faults, by architecture and age of the kernel. */
static bool is_fault(const char *name)
{
	static const char *const names[] = { "asm_exc_page_fault",  "exc_page_fault",
					     "do_user_addr_fault",  "handle_mm_fault",
					     "page_fault",          "do_page_fault",
					     "async_page_fault",    "do_mem_abort",
					     "do_translation_fault" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* "__x64_sys_read": "read"; NULL: no system call's own function. */
static const char *call_name(const char *name)
{
	static const char *const prefixes[] = { "__x64_sys_",   "__ia32_sys_",  "__arm64_sys_",
						"__riscv_sys_", "__s390x_sys_", "SyS_" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (text_starts_with(name, prefixes[i]))
			return name + strlen(prefixes[i]);
	return NULL;
}

static bool is_call_entry(const char *name)
{
	return text_starts_with(name, "entry_SYSCALL") || strcmp(name, "do_syscall_64") == 0 ||
	       strcmp(name, "el0_svc") == 0 || strcmp(name, "system_call_fastpath") == 0;
}

static bool is_interrupt(const char *name)
{
	return text_starts_with(name, "asm_sysvec_") ||
	       text_starts_with(name, "asm_common_interrupt") ||
	       text_starts_with(name, "sysvec_") || text_starts_with(name, "common_interrupt") ||
	       strcmp(name, "el0_irq") == 0 || strcmp(name, "el1_irq") == 0;
}

/* Code that works for whoever calls it. */
static bool is_runtime(const char *module)
{
	static const char *const names[] = { "libc.",      "libc-", "ld-linux", "ld-2",
					     "libpthread", "libm.", "libm-",    "libgcc_s",
					     "libstdc++",  "[vdso]" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (text_starts_with(module, names[i]))
			return true;
	return false;
}

/* What a stack did, from its innermost frame outwards. */
struct account {
	const char *function; /* NULL: none yet */
	const char *runtime;  /* the innermost of the libraries, when there is no other */
	char call[NAME_MAX_BYTES];
	bool is_kernel, is_fault, is_call, is_interrupt;
};

static void see_kernel_frame(struct account *a, const char *name)
{
	const char *call = call_name(name);

	a->is_kernel = true;
	a->is_fault |= is_fault(name);
	a->is_interrupt |= is_interrupt(name);
	a->is_call |= call || is_call_entry(name);
	if (call)
		snprintf(a->call, sizeof a->call, "system call %s", call);
}

static void see_frame(struct account *a, const struct frames *f, const struct frame *frame)
{
	const char *name = frames_text(f, frame->function);

	if (frame->kind == FRAME_KERNEL && !a->function && !a->runtime)
		see_kernel_frame(a, name);
	else if (frame->kind == FRAME_KERNEL || a->function || strcmp(name, UNKNOWN) == 0)
		return;
	else if (is_runtime(frames_text(f, frame->module)))
		a->runtime = a->runtime ? a->runtime : name;
	else
		a->function = name;
}

static const char *what_of(const struct account *a, const char *user_words)
{
	if (!a->is_kernel)
		return user_words;
	if (a->is_fault)
		return "page faults";
	if (a->call[0])
		return a->call;
	return a->is_call ? "system calls" : a->is_interrupt ? "interrupts" : "other kernel code";
}

static struct growth_row *find_row(struct growth *g, const char *function, const char *what,
				   bool is_kernel)
{
	char key[2 * NAME_MAX_BYTES];
	int len = snprintf(key, sizeof key, "%.*s%c%s", NAME_MAX_BYTES - 1, function, '\0', what);
	size_t known = strtab_count(g->strings);
	uint32_t id = strtab_intern(g->strings, key, (size_t)len);
	struct growth_row *row;

	if (id == STRTAB_NONE)
		return NULL;
	if (id < known)
		return (struct growth_row *)g->store.data + id;
	row = rows_add(&g->store, sizeof *row);
	if (!row)
		return NULL;
	row->function = strtab_get(g->strings, id).ptr;
	row->what = row->function + strlen(row->function) + 1;
	row->is_kernel = is_kernel;
	return row;
}

static void see_stack(struct account *a, const struct frames *f, uint32_t node)
{
	while (node) {
		struct stack_node n = profile_get_node(f->profile, node);
		size_t count;
		const uint32_t *ids = frames_of(f, n.location, &count);

		see_frame(a, f, &f->list[ids[count - 1]]);
		node = n.parent;
	}
}

static int add_samples(struct growth *g, const struct frames *f, size_t type, bool is_after)
{
	bool is_faults = strcmp(profile_text(f->profile, profile_get_type(f->profile, type).type),
				GROWTH_FAULTS) == 0;
	const char *user_words = is_faults ? "page faults" : "user code";

	for (size_t i = 0; i < profile_sample_count(f->profile); i++) {
		struct sample s = profile_get_sample(f->profile, i);
		struct account a = { 0 };
		struct growth_row *row;
		const char *function;

		if (!s.values[type])
			continue;
		see_stack(&a, f, s.node);
		function = a.function ? a.function : a.runtime ? a.runtime : UNKNOWN;
		row = find_row(g, function, what_of(&a, user_words), a.is_kernel);
		if (!row)
			return -ENOMEM;
		*(is_after ? &row->after : &row->before) += s.values[type];
	}
	return 0;
}

static int add_side(struct growth *g, const char *type, const struct growth_side *side,
		    bool is_after, struct err *e)
{
	struct frames frames;
	int index = profile_find_type(side->profile, type), rc;

	if (index < 0)
		return err_set(e, -EINVAL, "the profile has no '%s'", type);
	rc = frames_init(&frames, side->profile, FRAME_BY_FUNCTION, e);
	if (rc < 0)
		return rc;
	rc = add_samples(g, &frames, (size_t)index, is_after);
	frames_fini(&frames);
	return rc < 0 ? err_nomem(e) : 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct growth_row *x = a, *y = b;
	int64_t of_x = x->after - x->before, of_y = y->after - y->before;
	int order;

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	order = strcmp(x->function, y->function);
	return order ? order : strcmp(x->what, y->what);
}

static void divide(struct growth *g, int64_t before, int64_t after)
{
	for (size_t i = 0; i < g->count; i++) {
		struct growth_row *row = &g->rows[i];

		row->before /= before;
		row->after /= after;
		g->before += row->before;
		g->after += row->after;
		g->kernel_before += row->is_kernel ? row->before : 0;
		g->kernel_after += row->is_kernel ? row->after : 0;
	}
}

int growth_collect(struct growth *ret, const char *type, const struct growth_side *before,
		   const struct growth_side *after, struct err *e)
{
	int rc;

	*ret = (struct growth){ .strings = strtab_new() };
	if (!ret->strings)
		return err_nomem(e);
	rc = add_side(ret, type, before, false, e);
	if (rc == 0)
		rc = add_side(ret, type, after, true, e);
	if (rc < 0) {
		growth_fini(ret);
		return rc;
	}
	ret->rows = ret->store.data;
	ret->count = ret->store.count;
	divide(ret, before->divisor, after->divisor);
	if (ret->count)
		qsort(ret->rows, ret->count, sizeof *ret->rows, compare_rows);
	return 0;
}

void growth_fini(struct growth *g)
{
	rows_fini(&g->store);
	strtab_free(g->strings);
	*g = (struct growth){ 0 };
}

const struct growth_row *growth_most(const struct growth *g, bool is_kernel)
{
	for (size_t i = 0; i < g->count && g->rows[i].after > g->rows[i].before; i++)
		if (g->rows[i].is_kernel == is_kernel)
			return &g->rows[i];
	return NULL;
}

/* Half of the divisor up: a stack that few samples have is not lost. */
static int64_t share_of(int64_t value, int64_t divisor)
{
	return (value + divisor / 2) / divisor;
}

static int copy_shares(struct profile *to, const struct profile *src, int64_t divisor,
		       struct err *e)
{
	struct profile_copier *c = profile_copier_new(to, src, NULL, 0);

	if (!c)
		return err_nomem(e);
	profile_copy_head(to, src);
	for (size_t i = 0; i < profile_sample_count(src); i++) {
		struct sample s = profile_get_sample(src, i);
		int64_t values[PROFILE_MAX_TYPES] = { 0 };

		for (size_t t = 0; t < profile_type_count(src); t++)
			values[t] = share_of(s.values[t], divisor);
		profile_add(to, profile_copy_node(c, s.node), 0, values);
	}
	profile_copier_free(c);
	return profile_check(to, e);
}

int growth_of_one(const struct growth_side *side, struct profile **ret, struct err *e)
{
	struct profile *sum = profile_new(), *p = profile_new();
	int rc = sum && p ? 0 : err_nomem(e);

	/* Added up first: what was divided before would be rounded in each thread. */
	if (rc == 0)
		rc = copy_shares(sum, side->profile, 1, e);
	if (rc == 0)
		rc = copy_shares(p, sum, side->divisor, e);
	profile_free(sum);
	if (rc < 0)
		profile_free(p);
	else
		*ret = p;
	return rc;
}
