/* SPDX-License-Identifier: MIT */
/* Heap files with functions of a script. */
#include "heap/collect.h"
#include "heap_maker.h"
#include "tap.h"

static struct heap_maker maker;

/* A function of a script that begins at this line. */
static uint32_t add_script(const char *file, const char *name, uint64_t line)
{
	uint32_t id = heap_maker_mapping(&maker, file, 0);
	struct heap_mapping *m = heap_maker_item(&maker, HEAP_MAPPINGS, id, sizeof *m);

	*m = (struct heap_mapping){ .end = 1,
				    .offset = line,
				    .path = m->path,
				    .function = heap_maker_string(&maker, name),
				    .is_script = 1 };
	return id;
}

/* work() calls fill(), in a program that is not there. */
static void make(void)
{
	uint32_t native, work, fill;

	heap_maker_init(&maker);
	native = heap_maker_node(&maker, 0, heap_maker_mapping(&maker, "/nowhere/py", 0x7f0000000),
				 0x7f0000010);
	work = heap_maker_node(&maker, native, add_script("a.py", "work", 3), 5);
	fill = heap_maker_node(&maker, work, add_script("a.py", "fill", 10),
			       12 | HEAP_SCRIPT_ENTRY);
	*heap_maker_site(&maker, fill) =
		(struct heap_site){ .node = fill, .alloc_objects = 2, .alloc_bytes = 64 };
}

/* The profile of what was made. false: there is none. */
static bool collect(struct heap_collection *c)
{
	int fd = heap_maker_fd(&maker, MAKER_SIZE);
	struct heap_image h;
	struct err e;
	bool is_read = CHECK_INT(heap_collection_init(c, &e), 0) &&
		       CHECK_INT(heap_image_read(fd, "heap.7.0", &h, &e), 0);

	close(fd);
	if (is_read) {
		heap_collection_add(c, &h);
		heap_image_fini(&h);
	}
	return is_read && CHECK_INT(profile_check(c->profile, &e), 0);
}

/* Function and line of the n-th frame from the innermost one of the only sample; 0: it has none. */
static int64_t frame(const struct profile *p, size_t n, const char **ret_name)
{
	uint32_t node = profile_get_sample(p, 0).node;
	struct location l;

	while (n-- > 0)
		node = profile_get_node(p, node).parent;
	l = profile_get_location(p, profile_get_node(p, node).location);
	*ret_name = l.line_count
			    ? profile_text(p, profile_get_function(p, l.lines[0].function)->name)
			    : "";
	return l.line_count ? l.lines[0].line : 0;
}

static void functions_have_lines(void)
{
	struct heap_collection c;
	const char *name;

	make();
	if (collect(&c) && CHECK_INT(profile_sample_count(c.profile), 1)) {
		CHECK_INT(frame(c.profile, 0, &name), 0); /* without loops, native code is inner */
		CHECK_INT(frame(c.profile, 1, &name), 12);
		CHECK_STR(name, "fill");
		CHECK_INT(frame(c.profile, 2, &name), 5);
		CHECK_STR(name, "work");
		CHECK_INT(c.totals[HEAP_ALLOC_SPACE], 64);
	}
	heap_collection_fini(&c);
}

/* What a process writes of itself may be anything. */
static void nonsense_is_shown_as_such(void)
{
	struct heap_mapping *work = heap_maker_item(&maker, HEAP_MAPPINGS, 1, sizeof *work);
	struct heap_node *fill = heap_maker_item(&maker, HEAP_NODES, 3, sizeof *fill);
	struct heap_collection c;
	const char *name;

	make();
	work->function = HEAP_NO_STRING;
	work->path = UINT32_MAX - 1;
	work->offset = UINT64_MAX;
	fill->address = UINT64_MAX;
	if (collect(&c) && CHECK_INT(profile_sample_count(c.profile), 1)) {
		CHECK_INT(frame(c.profile, 1, &name), INT32_MAX);
		CHECK_INT(frame(c.profile, 2, &name), 5);
		CHECK_STR(name, "");
	}
	heap_collection_fini(&c);
}

int main(void)
{
	TAP_CASE(functions_have_lines);
	TAP_CASE(nonsense_is_shown_as_such);
	return tap_done();
}
