/* SPDX-License-Identifier: MIT */
#include "view/activity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/number.h"
#include "base/path.h"
#include "base/str.h"
#include "model/merge.h"

#define NO_RULE UINT32_MAX
#define NO_TEXT UINT32_MAX
#define NAME_MAX_BYTES 256 /* of a function; longer ones are cut */
#define FIELDS 4
#define LABELS_MAX 32

extern const char activity_rules[]; /* of data/classes */
extern const size_t activity_rules_len;

struct activity_rule {
	char class[ACTIVITY_CLASS_MAX];
	bool is_leaf;
	uint32_t names, modules; /* where they are in texts; modules: NO_TEXT: any */
};

/* The rules that frames match, by the first of each kind; NO_RULE: none. */
struct match {
	uint32_t stack, leaf;
};

struct matcher {
	const struct activity *rules;
	const struct profile *p;
	struct map known;       /* function and mapping: index of matches */
	struct rows matches;    /* struct match */
	struct match *of_nodes; /* [node count] */
};

static const struct activity_rule *rule_at(const struct activity *a, size_t i)
{
	return (const struct activity_rule *)a->rules.data + i;
}

void activity_fini(struct activity *a)
{
	rows_fini(&a->rules);
	buf_fini(&a->texts);
}

/* Where it is in texts. */
static uint32_t keep(struct activity *a, const char *text)
{
	uint32_t at = (uint32_t)a->texts.len;

	buf_put(&a->texts, text, strlen(text) + 1);
	return at;
}

/* Parts a line at its blanks, which become NULs. Returns how many fields there are. */
static size_t split(char *line, char *fields[FIELDS + 1])
{
	size_t count = 0;
	char *rest = line;

	for (char *word; count <= FIELDS && (word = strsep(&rest, " \t\r"));)
		if (*word)
			fields[count++] = word;
	return count;
}

static int add_rule(struct activity *a, char *line, struct err *e)
{
	char *fields[FIELDS + 1];
	size_t count = split(line, fields);
	struct activity_rule *rule;

	if (count == 0 || fields[0][0] == '#')
		return 0;
	if (count < 3 || count > FIELDS)
		return err_set(e, -EINVAL, "not CLASS, WHERE, NAMES and, if wanted, MODULES");
	if (strlen(fields[0]) >= ACTIVITY_CLASS_MAX)
		return err_set(e, -EINVAL, "the class has a longer name than %d bytes",
			       ACTIVITY_CLASS_MAX - 1);
	if (strcmp(fields[1], "leaf") != 0 && strcmp(fields[1], "stack") != 0)
		return err_set(e, -EINVAL, "'%s' is neither stack nor leaf", fields[1]);
	if (a->rules.count == ACTIVITY_RULES_MAX)
		return err_set(e, -E2BIG, "more than %d rules", ACTIVITY_RULES_MAX);
	rule = rows_add(&a->rules, sizeof *rule);
	if (!rule)
		return err_nomem(e);
	strcpy(rule->class, fields[0]);
	rule->is_leaf = strcmp(fields[1], "leaf") == 0;
	rule->names = keep(a, fields[2]);
	rule->modules = count == FIELDS ? keep(a, fields[3]) : NO_TEXT;
	return buf_error(&a->texts) < 0 ? err_nomem(e) : 0;
}

int activity_add(struct activity *a, const char *text, size_t len, const char *from, struct err *e)
{
	char *copy = strndup(len ? text : "", len), *rest = copy;
	unsigned number = 0;
	int rc = copy ? 0 : err_nomem(e);

	for (char *line; rc == 0 && (line = strsep(&rest, "\n"));) {
		number++;
		rc = add_rule(a, line, e);
	}
	free(copy);
	return rc < 0 && rc != -ENOMEM ? err_wrap(e, "%s: line %u", from, number) : rc;
}

int activity_add_ours(struct activity *a, struct err *e)
{
	return activity_add(a, activity_rules, activity_rules_len, "data/classes", e);
}

/* Without arguments, which follow in parentheses, and what libraries put around their names. */
static void put_name(char ret[NAME_MAX_BYTES], const char *name)
{
	static const char *const marks[] = { "_", "GI_", "libc_", NULL };
	size_t len;

	for (size_t i = 0; marks[i];) {
		if (text_starts_with(name, marks[i])) {
			name += strlen(marks[i]);
			i = 0;
		} else {
			i++;
		}
	}
	if (strncasecmp(name, "pmpi_", 5) == 0)
		name++;
	len = *name == '(' ? strlen(name) : strcspn(name, "(");
	while (len && name[len - 1] == '_')
		len--;
	len = len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES - 1;
	memcpy(ret, name, len);
	ret[len] = '\0';
}

/* Is text, as a whole, the pattern [0..len)? The last "*" takes one byte more when the rest does
 * not fit, so the time is at most the product of both lengths. */
static bool is_like(const char *text, const char *pattern, size_t len)
{
	const char *again = NULL;
	size_t at = 0, star = 0;

	while (*text) {
		if (at < len && pattern[at] == '*') {
			star = ++at;
			again = text;
		} else if (at < len &&
			   (pattern[at] == '?' ||
			    tolower((unsigned char)pattern[at]) == tolower((unsigned char)*text))) {
			at++;
			text++;
		} else if (again) {
			at = star;
			text = ++again;
		} else {
			return false;
		}
	}
	while (at < len && pattern[at] == '*')
		at++;
	return at == len;
}

static bool is_one_of(const char *text, const char *patterns)
{
	for (;;) {
		size_t len = strcspn(patterns, "|");

		if (is_like(text, patterns, len))
			return true;
		if (!patterns[len])
			return false;
		patterns += len + 1;
	}
}

static bool matches(const struct activity *a, const struct activity_rule *rule, const char *name,
		    const char *module)
{
	return (rule->modules == NO_TEXT || is_one_of(module, a->texts.data + rule->modules)) &&
	       is_one_of(name, a->texts.data + rule->names);
}

static struct match match_function(const struct matcher *m, uint32_t function, uint32_t mapping)
{
	const char *path = profile_text(m->p, profile_get_mapping(m->p, mapping)->path);
	struct match ret = { NO_RULE, NO_RULE };
	char name[NAME_MAX_BYTES];

	put_name(name, profile_text(m->p, profile_get_function(m->p, function)->name));
	for (uint32_t i = 0; i < m->rules->rules.count; i++) {
		const struct activity_rule *rule = rule_at(m->rules, i);
		uint32_t *first = rule->is_leaf ? &ret.leaf : &ret.stack;

		if (*first == NO_RULE && matches(m->rules, rule, name, path_base(path)))
			*first = i;
	}
	return ret;
}

/* What a function of a file matches, found once. -ENOMEM. */
static int find_match(struct matcher *m, uint32_t function, uint32_t mapping, struct match *ret)
{
	uint32_t *known = map_at(&m->known, map_pair(function, mapping));
	struct match *new;

	if (!known)
		return -ENOMEM;
	if (*known == MAP_NONE) {
		new = rows_add(&m->matches, sizeof *new);
		if (!new)
			return -ENOMEM;
		*new = match_function(m, function, mapping);
		*known = (uint32_t)(m->matches.count - 1);
	}
	*ret = ((const struct match *)m->matches.data)[*known];
	return 0;
}

/* "[kernel.kallsyms]", "[ext4]"; not what belongs to a process. */
static bool is_kernel(const char *path)
{
	return *path == '[' && !text_starts_with(path, "[vdso") &&
	       !text_starts_with(path, "[anon") && !text_starts_with(path, "[heap") &&
	       !text_starts_with(path, "[stack") && !text_starts_with(path, "[jit");
}

/* Of a node, when its parent's is known. */
static int match_node(struct matcher *m, uint32_t node)
{
	struct stack_node n = profile_get_node(m->p, node);
	struct location l = profile_get_location(m->p, n.location);
	const char *path = profile_text(m->p, profile_get_mapping(m->p, l.mapping)->path);
	struct match *ret = &m->of_nodes[node], found = { NO_RULE, NO_RULE };
	const struct line unknown = { 0 };
	uint32_t count = l.line_count ? l.line_count : 1;
	int rc = 0;

	*ret = m->of_nodes[n.parent];
	for (uint32_t i = count; rc == 0 && i-- > 0;) { /* the innermost comes last */
		const struct line *line = l.line_count ? &l.lines[i] : &unknown;

		rc = find_match(m, line->function, l.mapping, &found);
		if (rc == 0 && found.stack < ret->stack)
			ret->stack = found.stack;
	}
	if (rc == 0 && !is_kernel(path))
		ret->leaf = found.leaf;
	return rc;
}

static int match_nodes(struct matcher *m)
{
	size_t count = profile_node_count(m->p);
	int rc = 0;

	m->of_nodes = calloc(count + 1, sizeof *m->of_nodes);
	if (!m->of_nodes)
		return -ENOMEM;
	m->of_nodes[0] = (struct match){ NO_RULE, NO_RULE };
	for (uint32_t node = 1; rc == 0 && node < count; node++)
		rc = match_node(m, node);
	return rc;
}

static void matcher_fini(struct matcher *m)
{
	map_fini(&m->known);
	rows_fini(&m->matches);
	free(m->of_nodes);
}

static const char *class_of(const struct matcher *m, uint32_t node)
{
	struct match match = m->of_nodes[node];
	uint32_t rule = match.stack < match.leaf ? match.stack : match.leaf;

	return rule == NO_RULE ? ACTIVITY_OTHER : rule_at(m->rules, rule)->class;
}

/* labels and the class; a label of that name that was there goes. */
static uint32_t add_class(struct profile *p, uint32_t labels, const char *class)
{
	uint32_t key = profile_str(p, ACTIVITY_LABEL);
	struct label all[LABELS_MAX];
	size_t count, kept = 0;
	const struct label *own = profile_get_labels(p, labels, &count);

	for (size_t i = 0; i < count && kept < LABELS_MAX - 1; i++)
		if (own[i].key != key)
			all[kept++] = own[i];
	all[kept++] = (struct label){ .key = key, .str = profile_str(p, class) };
	return profile_add_labels(p, all, kept);
}

static int copy(struct profile *dst, const struct matcher *m, struct err *e)
{
	const struct profile *src = m->p;
	size_t count = profile_sample_count(src);
	struct profile_copier *c = profile_copier_new(dst, src, NULL, 0);
	uint32_t *labels = calloc(count + 1, sizeof *labels);

	if (c && labels) {
		profile_copy_head(dst, src);
		for (size_t i = 0; i < count; i++) {
			struct sample s = profile_get_sample(src, i);

			labels[i] = add_class(dst, profile_copy_labels(c, s.labels),
					      class_of(m, s.node));
			profile_add(dst, profile_copy_node(c, s.node), labels[i], s.values);
		}
		profile_copy_relabeled_times(c, labels);
	} else {
		profile_fail_nomem(dst);
	}
	profile_copier_free(c);
	free(labels);
	return profile_check(dst, e);
}

bool activity_is_waiting(const char *class)
{
	return strcmp(class, "openmp.wait") == 0 ||
	       (text_starts_with(class, "mpi.") && strcmp(class, "mpi.io") != 0);
}

void activity_put_name(struct buf *out, const char *name)
{
	char text[NAME_MAX_BYTES];

	put_name(text, name);
	buf_put_str(out, text);
}

static void put_family(char ret[ACTIVITY_CLASS_MAX], const char *class)
{
	size_t len = strcspn(class, ".");

	memcpy(ret, class, len);
	ret[len] = '\0';
}

static int add_value(struct rows *sums, const char *family, int64_t value)
{
	struct activity_sum *sum = sums->data;
	size_t i = 0;

	while (i < sums->count && strcmp(sum[i].family, family) != 0)
		i++;
	if (i == sums->count) {
		sum = rows_add(sums, sizeof *sum);
		if (!sum)
			return -ENOMEM;
		strcpy(sum->family, family);
	} else {
		sum += i;
	}
	number_add(&sum->value, value);
	return 0;
}

/* A function of MPI that is called from outside of it. */
struct call {
	uint32_t operation, caller; /* functions */
	int64_t value;
};

struct calls {
	struct map known; /* operation and caller: index of rows */
	struct rows rows; /* struct call */
};

/* The function that makes calls at this node, 0: unknown. */
static uint32_t function_of(const struct profile *p, uint32_t node)
{
	struct location l = profile_get_location(p, profile_get_node(p, node).location);

	return l.line_count ? l.lines[0].function : 0;
}

/* The outermost function whose rule decides on the stack. 0: that rule is for leaves. */
static uint32_t find_operation(const struct matcher *m, uint32_t node)
{
	uint32_t rule = m->of_nodes[node].stack, parent;

	if (rule >= m->of_nodes[node].leaf || rule == NO_RULE)
		return 0;
	while ((parent = profile_get_node(m->p, node).parent) && m->of_nodes[parent].stack == rule)
		node = parent;
	return node;
}

/* MPI, its bindings, and interpreters, of which scripts have frames of their own. */
static bool is_in_library(const struct profile *p, uint32_t node)
{
	struct location l = profile_get_location(p, profile_get_node(p, node).location);
	const char *path = profile_text(p, profile_get_mapping(p, l.mapping)->path);

	return is_one_of(path_base(path),
			 "libmpi*|libpmpi*|mpi.*.so|python|python2*|python3*|libpython*") &&
	       !is_like(path, "*.py", 4);
}

static struct call find_call(const struct matcher *m, uint32_t operation)
{
	uint32_t parent = profile_get_node(m->p, operation).parent, caller = parent;

	while (caller && is_in_library(m->p, caller))
		caller = profile_get_node(m->p, caller).parent;
	caller = caller ? caller : parent;
	return (struct call){ .operation = function_of(m->p, operation),
			      .caller = caller ? function_of(m->p, caller) : 0 };
}

static int add_call(struct calls *c, const struct matcher *m, uint32_t node, int64_t value)
{
	uint32_t operation = find_operation(m, node), *known;
	struct call call, *row;

	if (!operation)
		return 0;
	call = find_call(m, operation);
	known = map_at(&c->known, map_pair(call.operation, call.caller));
	if (!known)
		return -ENOMEM;
	if (*known == MAP_NONE) {
		row = rows_add(&c->rows, sizeof *row);
		if (!row)
			return -ENOMEM;
		*row = call;
		*known = (uint32_t)(c->rows.count - 1);
	}
	number_add(&((struct call *)c->rows.data)[*known].value, value);
	return 0;
}

static void set_call(struct rows *sums, const struct calls *c)
{
	struct activity_sum *sum = sums->data;
	const struct call *calls = c->rows.data;

	for (size_t i = 0; i < sums->count; i++)
		for (size_t k = 0; strcmp(sum[i].family, ACTIVITY_MPI) == 0 && k < c->rows.count;
		     k++)
			if (calls[k].value > sum[i].call_value) {
				sum[i].operation = calls[k].operation;
				sum[i].caller = calls[k].caller;
				sum[i].call_value = calls[k].value;
			}
}

static int compare_sums(const void *left, const void *right)
{
	const struct activity_sum *a = left, *b = right;
	int order = (a->value < b->value) - (a->value > b->value);

	return order ? order : strcmp(a->family, b->family);
}

static int add_samples(const struct matcher *m, size_t type, struct rows *sums, struct calls *calls)
{
	char family[ACTIVITY_CLASS_MAX];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < profile_sample_count(m->p); i++) {
		struct sample s = profile_get_sample(m->p, i);

		if (!s.values[type])
			continue;
		put_family(family, class_of(m, s.node));
		rc = add_value(sums, family, s.values[type]);
		if (rc == 0 && strcmp(family, ACTIVITY_MPI) == 0)
			rc = add_call(calls, m, s.node, s.values[type]);
	}
	return rc;
}

int activity_sum(const struct profile *p, const struct activity *a, size_t type, struct rows *ret,
		 struct err *e)
{
	struct matcher m = { .rules = a, .p = p };
	struct calls calls = { 0 };
	int rc = match_nodes(&m);

	*ret = (struct rows){ 0 };
	if (rc == 0)
		rc = add_samples(&m, type, ret, &calls);
	if (rc == 0 && ret->count) {
		set_call(ret, &calls);
		qsort(ret->data, ret->count, sizeof(struct activity_sum), compare_sums);
	}
	map_fini(&calls.known);
	rows_fini(&calls.rows);
	matcher_fini(&m);
	if (rc == 0)
		return 0;
	rows_fini(ret);
	return err_nomem(e);
}

int profile_label_activities(struct profile **p, const struct activity *a, struct err *e)
{
	struct matcher m = { .rules = a, .p = *p };
	struct profile *dst = profile_new();
	int rc = dst ? match_nodes(&m) : -ENOMEM;

	rc = rc < 0 ? err_nomem(e) : copy(dst, &m, e);
	matcher_fini(&m);
	profile_free(rc < 0 ? dst : *p);
	if (rc == 0)
		*p = dst;
	return rc;
}
