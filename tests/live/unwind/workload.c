/* SPDX-License-Identifier: MIT */
/*
 * workload: the code of shapes.c, sampled while it runs. Every stack must be complete, and each
 * pair of frames a call that the program makes.
 *
 * Built in several ways (see meson.build). argv[1]: the library that is opened on the way.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/macros.h"
#include "graph.h"
#include "shapes.h"
#include "tap.h"
#include "unwind/stitch.h"

#define SCENE_NS 200000000 /* each scene runs so long */
#define COPIED ((size_t)32 * 1024)
#define COPIED_DEEP ((size_t)8 * 1024)

GRAPH_DECLARE(run);
GRAPH_DECLARE(leaf);
GRAPH_DECLARE(leaf_loop);
GRAPH_DECLARE(ring_a);
GRAPH_DECLARE(ring_b);
GRAPH_DECLARE(ring_c);
GRAPH_DECLARE(compare);
GRAPH_DECLARE(sorter);
GRAPH_DECLARE(libc_user);
GRAPH_DECLARE(large_frame);
GRAPH_DECLARE(dynamic_frame);
GRAPH_DECLARE(aligned_frame);
GRAPH_DECLARE(leaver);
GRAPH_DECLARE(never_back);
GRAPH_DECLARE(jumper);
GRAPH_DECLARE(on_signal);
GRAPH_DECLARE(raiser);
GRAPH_DECLARE(asm_callee);
GRAPH_DECLARE(asm_described);
GRAPH_DECLARE(asm_framed);
GRAPH_DECLARE(asm_leaf);
GRAPH_DECLARE(asm_user);
GRAPH_DECLARE(library_user);
GRAPH_DECLARE(recursion);
#ifdef HAS_EXCEPTIONS
GRAPH_DECLARE(thrower);
GRAPH_DECLARE(thrower_caller);
GRAPH_DECLARE(catcher);
#endif

#define RINGS "ring_a ring_b ring_c"

static const struct graph_function functions[] = {
	GRAPH_FUNCTION(run, "main", true),
	GRAPH_FUNCTION(leaf, "ring_a ring_b compare", false),
	GRAPH_FUNCTION(leaf_loop,
		       "ring_a large_frame dynamic_frame aligned_frame leaver on_signal raiser "
		       "asm_callee ~library_user recursion thrower thrower_caller ~thrower_caller "
		       "catcher",
		       false),
	GRAPH_FUNCTION(ring_a, "run ring_c", false),
	GRAPH_FUNCTION(ring_b, "ring_a", false),
	GRAPH_FUNCTION(ring_c, "ring_b", false),
	GRAPH_FUNCTION(compare, "~sorter", false),
	GRAPH_FUNCTION(sorter, "run", true),
	GRAPH_FUNCTION(libc_user, "run", true),
	GRAPH_FUNCTION(large_frame, "dynamic_frame", false),
	GRAPH_FUNCTION(dynamic_frame, "aligned_frame", false),
	GRAPH_FUNCTION(aligned_frame, "run", false),
	GRAPH_FUNCTION(leaver, "never_back", true),
	GRAPH_FUNCTION(never_back, "jumper", false),
	GRAPH_FUNCTION(jumper, "run", true),
	GRAPH_FUNCTION(on_signal, "~run ~raiser ~leaf ~leaf_loop ~ring_a ~ring_b ~ring_c", true),
	GRAPH_FUNCTION(raiser, "run", true),
	GRAPH_FUNCTION(asm_callee, "asm_described asm_framed", false),
	GRAPH_FUNCTION(asm_described, "asm_user", false),
	GRAPH_FUNCTION(asm_framed, "asm_user", false),
	GRAPH_FUNCTION(asm_leaf, "asm_user", false),
	GRAPH_FUNCTION(asm_user, "run", true),
	GRAPH_FUNCTION(library_user, "run", true),
	GRAPH_FUNCTION(recursion, "run recursion", false),
#ifdef HAS_EXCEPTIONS
	GRAPH_FUNCTION(thrower, "thrower_caller", true),
	GRAPH_FUNCTION(thrower_caller, "catcher", true),
	GRAPH_FUNCTION(catcher, "run", true),
#endif
};

/* What became of the stacks of a scene. */
struct tally {
	size_t stacks, complete, stitched, wrong, guessed, outside;
	size_t installing; /* and wrong: see test_exceptions */
};

static bool is_throwing;

static void judge(struct tally *t, const struct sampler_stack *stack)
{
	const char *fault;

	t->stacks++;
	t->guessed += stack->guessed > 0;
	if (stack->end == UNWIND_TRUNCATED)
		return;
	fault = graph_judge(functions, ARRAY_LEN(functions), stack);
	if (stack->end == UNWIND_COMPLETE && (!fault || strcmp(fault, "none") == 0)) {
		t->complete++;
		t->outside += fault != NULL;
		return;
	}
	if (is_throwing && graph_is_outside(functions, ARRAY_LEN(functions), stack)) {
		t->stacks--;
		t->installing++;
		return;
	}
	if (t->wrong++ < 3) {
		fprintf(stderr, "  wrong: %s\n", fault ? fault : "ends too early");
		graph_print(functions, ARRAY_LEN(functions), stack);
	}
}

/* Splices what was cut, one thread after the other. */
static void judge_all(struct tally *t)
{
	static struct unwind_frame frames[SAMPLER_DEPTH];

	for (uint32_t thread = 0; thread < 8; thread++) {
		CLEANUP(stitch_fini) struct stitch stitch = { 0 };

		for (size_t i = 0; i < sampler_count(); i++) {
			struct sampler_stack stack = *sampler_get(i);
			struct unwind_stack whole = { .frames = frames,
						      .cap = SAMPLER_DEPTH,
						      .count = stack.count,
						      .end = stack.end };

			if (stack.thread != thread)
				continue;
			memcpy(frames, stack.frames, stack.count * sizeof *frames);
			t->stitched += stitch_stack(&stitch, &whole);
			stack.frames = whole.frames;
			stack.count = whole.count;
			stack.end = whole.end;
			judge(t, &stack);
		}
	}
}

/* share: of the stacks that must be complete and right, in percent. None may be wrong. */
static void run_scene(const char *name, void (*run)(void), size_t copied, double share)
{
	struct tally t = { 0 };

	sampler_clear(copied);
	shapes_run_for(SCENE_NS);
	if (run != run_threads)
		sampler_start();
	run();
	if (run != run_threads)
		sampler_stop();
	judge_all(&t);
	fprintf(stderr,
		"%-16s %5zu stacks, %6.2f %% complete (%zu stitched), %zu wrong, %zu guessed, %zu installing\n",
		name, t.stacks, 100.0 * (double)t.complete / (double)(t.stacks ? t.stacks : 1),
		t.stitched, t.wrong, t.guessed, t.installing);
	CHECK(t.stacks >= 50);
	CHECK(t.outside <= 4); /* before and behind the work */
	CHECK(t.installing <= t.stacks / 4);
	CHECK(100.0 * (double)t.complete >= share * (double)t.stacks);
	CHECK(100.0 * (double)t.wrong <= (100.0 - share) * (double)t.stacks);
}

static void test_ring(void)
{
	run_scene("ring", run_ring, COPIED, 99.9);
}

static void test_sorter(void)
{
	run_scene("qsort", run_sorter, COPIED, 99.9);
}

static void test_libc(void)
{
	run_scene("libc", run_libc, COPIED, 99.9);
}

static void test_frames(void)
{
	run_scene("frames", run_frames, COPIED, 99.9);
}

static void test_jumps(void)
{
	run_scene("longjmp", run_jumps, COPIED, 99.9);
}

static void test_signals(void)
{
	run_scene("signals", run_signals, COPIED, 99.9);
}

/* What nothing describes is guessed at. */
static void test_assembly(void)
{
	run_scene("assembly", run_assembly, COPIED, 95);
}

/*
 * Before the unwinder of the language jumps to a handler, it writes the handler's registers over
 * those that it had saved: until it has jumped, its frame leads past the one that threw.
 */
static void test_exceptions(void)
{
#ifdef HAS_EXCEPTIONS
	is_throwing = true;
	run_scene("exceptions", run_exceptions, COPIED, 99.9);
	is_throwing = false;
#else
	SKIP("no C++ compiler");
#endif
}

static void test_threads(void)
{
	run_scene("threads", run_threads, COPIED, 99.9);
}

static void test_recursion_200(void)
{
	run_scene("recursion 200", run_recursion_200, COPIED, 99);
}

/* All or two of three stacks are complete, by where the kernel has put the stack. */
static void test_recursion_10000(void)
{
	run_scene("recursion 10000", run_recursion_10000, COPIED_DEEP, 60);
}

static const char *library_path;

#ifdef IS_STATIC
void library_call(void (*call)(int), int n); /* linked */
#endif

static void test_library(void)
{
#ifdef IS_STATIC
	library_entry = library_call;
	run_scene("library", run_library, COPIED, 99.9);
#else
	void *library = dlopen(library_path, RTLD_NOW);

	if (!CHECK(library))
		return;
	*(void **)&library_entry = dlsym(library, "library_call");
	CHECK_INT(sampler_renew(), 0);
	run_scene("dlopen", run_library, COPIED, 99.9);
	dlclose(library);
	CHECK_INT(sampler_renew(), 0);
#endif
}

int main(int argc, char **argv)
{
	library_path = argc > 1 ? argv[1] : NULL;
	if (sampler_open(COPIED) < 0)
		return 1;
	TAP_CASE(test_ring);
	TAP_CASE(test_sorter);
	TAP_CASE(test_libc);
	TAP_CASE(test_frames);
	TAP_CASE(test_jumps);
	TAP_CASE(test_signals);
	TAP_CASE(test_assembly);
	TAP_CASE(test_library);
	TAP_CASE(test_recursion_200);
	TAP_CASE(test_recursion_10000);
	TAP_CASE(test_exceptions);
	TAP_CASE(test_threads);
	return tap_done();
}
