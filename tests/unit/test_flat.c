/* SPDX-License-Identifier: MIT */
#include "view/edges.h"
#include "view/flat.h"

#include <stdlib.h>

#include "tap.h"

#define FUNCTIONS 6
#define DEPTH 12
#define STACKS 40
#define MAX_LINES 3

/* A stack as a test sees it: functions, outermost first; inlined ones are like others. */
struct stack {
	int functions[DEPTH * MAX_LINES]; /* [depth] */
	size_t depth;
	int64_t value;
};

struct naive {
	int64_t self[FUNCTIONS], total[FUNCTIONS];
	int64_t edges[FUNCTIONS + 1][FUNCTIONS]; /* [0]: the outermost's caller; [1 + caller] */
	int64_t sum;
};

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 16;
}

/* A location with up to MAX_LINES lines; its functions are appended to the stack. */
static uint32_t random_location(struct profile *p, const uint32_t *functions, struct stack *s,
				unsigned *state)
{
	struct line lines[MAX_LINES];
	struct location l = { .lines = lines, .line_count = 1 + next_random(state) % MAX_LINES };

	for (uint32_t i = l.line_count; i-- > 0;) {
		int f = (int)(next_random(state) % FUNCTIONS);

		lines[i] = (struct line){ functions[f], 0 };
		s->functions[s->depth++] = f;
	}
	return profile_add_location(p, &l);
}

static void add_random_stack(struct profile *p, const uint32_t *functions, struct stack *s,
			     unsigned *state)
{
	size_t depth = 1 + next_random(state) % DEPTH;
	uint32_t node = 0;

	s->depth = 0;
	s->value = next_random(state) % 100;
	while (depth--)
		node = profile_push(p, node, random_location(p, functions, s, state));
	profile_add(p, node, 0, &s->value);
}

static void count_naively(const struct stack *stacks, struct naive *n)
{
	memset(n, 0, sizeof *n);
	for (size_t i = 0; i < STACKS; i++) {
		const struct stack *s = &stacks[i];
		bool seen[FUNCTIONS] = { false }, called[FUNCTIONS + 1][FUNCTIONS] = { { false } };
		int caller = -1;

		n->sum += s->value;
		n->self[s->functions[s->depth - 1]] += s->value;
		for (size_t k = 0; k < s->depth; k++) {
			int f = s->functions[k];

			if (!seen[f])
				n->total[f] += s->value;
			if (!called[caller + 1][f])
				n->edges[caller + 1][f] += s->value;
			seen[f] = called[caller + 1][f] = true;
			caller = f;
		}
	}
}

static int number_of(const struct flat *f, uint32_t row)
{
	return flat_name(f, row)[0] - 'a';
}

static void compare_rows(const struct flat *f, const struct naive *n)
{
	int64_t selves = 0;

	CHECK_INT(f->rows[FLAT_ROOT].total, n->sum);
	for (uint32_t i = FLAT_ROOT + 1; i < f->row_count; i++) {
		int number = number_of(f, i);

		if (flat_name(f, i)[0] == '[')
			continue; /* the location of the empty stack */
		CHECK_INT(f->rows[i].self, n->self[number]);
		CHECK_INT(f->rows[i].total, n->total[number]);
		CHECK(f->rows[i].total >= f->rows[i].self);
		selves += f->rows[i].self;
	}
	CHECK_INT(selves, n->sum);
}

static void compare_edges(const struct flat *f, const struct naive *n)
{
	bool is_asked[64] = { false };
	struct edges x;
	struct err e;

	memset(is_asked + 1, true, f->row_count - 1);
	if (!CHECK_INT(edges_init(&x, f, is_asked, &e), 0))
		return;
	for (uint32_t row = FLAT_ROOT + 1; row < f->row_count; row++) {
		int64_t sum = 0, want = 0;
		size_t count;
		const uint32_t *ids = edges_callers(&x, row, &count);

		if (flat_name(f, row)[0] == '[')
			continue;
		for (size_t i = 0; i < count; i++) {
			const struct edge *edge = &x.list[ids[i]];
			int caller = edge->caller == FLAT_ROOT ? 0 : 1 + number_of(f, edge->caller);

			CHECK_INT(edge->value, n->edges[caller][number_of(f, row)]);
			CHECK(i == 0 || x.list[ids[i - 1]].value >= edge->value);
			sum += edge->value;
		}
		for (int caller = 0; caller <= FUNCTIONS; caller++)
			want += n->edges[caller][number_of(f, row)];
		CHECK_INT(sum, want);
		sum = want = 0;
		ids = edges_callees(&x, row, &count);
		for (size_t i = 0; i < count; i++)
			sum += x.list[ids[i]].value;
		for (int callee = 0; callee < FUNCTIONS; callee++)
			want += n->edges[1 + number_of(f, row)][callee];
		CHECK_INT(sum, want);
	}
	edges_fini(&x);
}

/* What the walks count is what counting stack by stack gives, with recursion and inlining. */
static void test_random(void)
{
	for (unsigned seed = 1; seed <= 50; seed++) {
		static const char names[FUNCTIONS][2] = { "a", "b", "c", "d", "e", "f" };
		struct profile *p = profile_new();
		uint32_t functions[FUNCTIONS];
		struct stack stacks[STACKS];
		unsigned state = seed;
		struct naive naive;
		struct flat flat;
		struct err e;

		profile_add_type(p, "samples", "count");
		for (int i = 0; i < FUNCTIONS; i++)
			functions[i] = profile_add_function(
				p, &(struct function){ .name = profile_str(p, names[i]) });
		for (size_t i = 0; i < STACKS; i++)
			add_random_stack(p, functions, &stacks[i], &state);
		count_naively(stacks, &naive);
		if (CHECK_INT(flat_init(&flat, p, FRAME_BY_FUNCTION, 0, 0, &e), 0)) {
			compare_rows(&flat, &naive);
			compare_edges(&flat, &naive);
			flat_fini(&flat);
		}
		profile_free(p);
	}
}

static void add_named(struct profile *p, const char *folded, int64_t samples, int64_t cpu)
{
	int64_t values[] = { samples, cpu };
	uint32_t node = 0;

	while (*folded) {
		size_t len = strcspn(folded, ";");

		node = profile_push(p, node, profile_name_location(p, folded, len));
		folded += len + (folded[len] == ';');
	}
	profile_add(p, node, 0, values);
}

static void check_order(const struct flat *f, enum flat_order order, const char *want)
{
	char got[256] = "";
	uint32_t *rows;
	size_t count;
	struct err e;

	if (!CHECK_INT(flat_sorted(f, order, &rows, &count, &e), 0))
		return;
	for (size_t i = 0; i < count; i++) {
		const struct flat_row *row = &f->rows[rows[i]];
		size_t len = strlen(got);

		snprintf(got + len, sizeof got - len, "%s %lld %lld %lld;", flat_name(f, rows[i]),
			 (long long)row->self, (long long)row->total, (long long)row->samples);
	}
	CHECK_STR(got, want);
	free(rows);
}

/* Samples of their own type; lost ones have no time; what has no stack is unknown. */
static void test_orders(void)
{
	struct profile *p = profile_new();
	struct flat f;
	struct err e;

	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	add_named(p, "main;b", 1, 10);
	add_named(p, "main;a", 1, 10);
	add_named(p, "main;a;main", 1, 5);
	add_named(p, "[lost]", 7, 0);
	add_named(p, "", 1, 2);
	add_named(p, "main;never", 0, 0);
	if (CHECK_INT(flat_init(&f, p, FRAME_BY_FUNCTION, 1, 0, &e), 0)) {
		check_order(&f, FLAT_BY_SELF,
			    "a 10 15 1;b 10 10 1;main 5 25 1;[unknown] 2 2 1;[lost] 0 0 7;");
		check_order(&f, FLAT_BY_TOTAL,
			    "main 5 25 1;a 10 15 1;b 10 10 1;[unknown] 2 2 1;[lost] 0 0 7;");
		check_order(&f, FLAT_BY_NAME,
			    "[lost] 0 0 7;[unknown] 2 2 1;a 10 15 1;b 10 10 1;main 5 25 1;");
		flat_fini(&f);
	}
	profile_free(p);
}

/* One function that is inlined here and called there is one row. */
static void test_inlined(void)
{
	struct profile *p = profile_new();
	uint32_t mul = profile_add_function(p, &(struct function){ .name = profile_str(p, "mul") });
	uint32_t sum = profile_add_function(p, &(struct function){ .name = profile_str(p, "sum") });
	const struct line inlined[] = { { mul, 0 }, { sum, 0 } };
	struct location both = { .lines = inlined, .line_count = 2 };
	struct location called = { .lines = inlined, .line_count = 1 };
	int64_t value = 1;
	struct flat f;
	struct err e;

	profile_add_type(p, "samples", "count");
	profile_add(p, profile_push(p, 0, profile_add_location(p, &both)), 0, &value);
	value = 2;
	profile_add(p, profile_push(p, 0, profile_add_location(p, &called)), 0, &value);
	if (CHECK_INT(flat_init(&f, p, FRAME_BY_FUNCTION, 0, 0, &e), 0)) {
		check_order(&f, FLAT_BY_SELF, "mul 3 3 3;sum 0 1 0;");
		for (uint32_t i = FLAT_ROOT + 1; i < f.row_count; i++) {
			bool is_mul = strcmp(flat_name(&f, i), "mul") == 0;

			CHECK_INT(f.rows[i].is_inlined, is_mul);
			CHECK(f.rows[i].is_called);
		}
		flat_fini(&f);
	}
	profile_free(p);
}

/* Without a mapping, functions of one name are told apart by their source files. */
static void test_files(void)
{
	static const char *const files[] = { "/a/x/", "/b/x/", "/a/x/" };
	static const struct {
		const char *module;
		int64_t value;
	} want[] = { { "/a/x/", 4 }, { "/b/x/", 3 } };
	struct profile *p = profile_new();
	uint32_t name = profile_str(p, "__init__.py"), *rows;
	size_t count;
	struct flat f;
	struct err e;

	profile_add_type(p, "calls", "count");
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct function fn = { .name = name, .file = profile_str(p, files[i]) };
		struct line line = { .function = profile_add_function(p, &fn) };
		struct location l = { .lines = &line, .line_count = 1 };
		int64_t value = i == 0 ? 1 : 3;

		profile_add(p, profile_push(p, 0, profile_add_location(p, &l)), 0, &value);
	}
	if (CHECK_INT(flat_init(&f, p, FRAME_BY_FUNCTION, 0, -1, &e), 0)) {
		if (CHECK_INT(flat_sorted(&f, FLAT_BY_SELF, &rows, &count, &e), 0)) {
			for (size_t i = 0; CHECK_INT(count, 2) && i < count; i++) {
				CHECK_STR(flat_module(&f, rows[i]), want[i].module);
				CHECK_INT(f.rows[rows[i]].self, want[i].value);
			}
			free(rows);
		}
		flat_fini(&f);
	}
	profile_free(p);
}

/* As deep as memory allows: nothing here calls itself. */
static void test_deep(void)
{
	struct profile *p = profile_new();
	uint32_t location = profile_name_location(p, "f", 1), node = 0;
	int64_t one = 1;
	struct flat f;
	struct err e;

	profile_add_type(p, "samples", "count");
	for (int i = 0; i < 1000000; i++)
		node = profile_push(p, node, location);
	profile_add(p, node, 0, &one);
	if (CHECK_INT(flat_init(&f, p, FRAME_BY_FUNCTION, 0, 0, &e), 0)) {
		check_order(&f, FLAT_BY_SELF, "f 1 1 1;");
		flat_fini(&f);
	}
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_random);
	TAP_CASE(test_orders);
	TAP_CASE(test_inlined);
	TAP_CASE(test_files);
	TAP_CASE(test_deep);
	return tap_done();
}
