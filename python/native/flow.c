/* SPDX-License-Identifier: MIT */
#include "native/flow.h"

#include <stdint.h>
#include <stdlib.h>

#include "native/beyond.h"

/* What a flow knows of one profiler. */
struct place {
	struct core *core; /* held */
	auger_path path;   /* what the flow's first stage nests in */
	struct auger_context
		*context; /* NULL: no stage was begun yet. Gone when the core is closed. */
};

struct flow {
	PyObject_HEAD PyObject *context; /* that it runs in; not owned, to be compared only */
	PyObject *alive; /* weak reference to context: its address may be used again */
	struct place *places;
	size_t place_count;
};

static PyTypeObject *flow_type;
static PyObject
	*variable; /* its value: the flow of the context, or of the one it was copied from */

/* Index, in words, of the running context in PyThreadState: see find_context(). */
static size_t context_word;

/* The flows seen last, by address of their context. Not owned: a flow that goes leaves. */
#define SEEN_BITS 8
static struct flow *seen[1 << SEEN_BITS];

static inline struct flow **seen_at(const PyObject *context)
{
	return &seen[((uintptr_t)context >> 4) * 0x9E3779B1u >> 8 & ((1 << SEEN_BITS) - 1)];
}

static inline PyObject *running_context(void)
{
	return ((PyObject **)(void *)PyThreadState_Get())[context_word];
}

static inline bool is_of(const struct flow *flow, PyObject *context)
{
	return flow->context == context && PyWeakref_GetObject(flow->alive) == context;
}

static void place_fini(struct place *place)
{
	if (place->core->profiler && place->context)
		auger_context_free(place->context);
	core_release(place->core);
}

static void flow_dealloc(PyObject *self)
{
	struct flow *flow = (struct flow *)self;
	struct flow **at = seen_at(flow->context);

	if (*at == flow)
		*at = NULL;
	for (size_t i = 0; i < flow->place_count; i++)
		place_fini(&flow->places[i]);
	free(flow->places);
	Py_XDECREF(flow->alive);
	PyObject_Free(flow);
	Py_DECREF(flow_type);
}

static void drop_closed(struct flow *flow)
{
	size_t kept = 0;

	for (size_t i = 0; i < flow->place_count; i++) {
		if (flow->places[i].core->profiler)
			flow->places[kept++] = flow->places[i];
		else
			place_fini(&flow->places[i]);
	}
	flow->place_count = kept;
}

/* NULL: out of memory. */
static struct place *add_place(struct flow *flow, struct core *core, auger_path path)
{
	struct place *places;

	drop_closed(flow);
	places = realloc(flow->places, (flow->place_count + 1) * sizeof *places);
	if (!places)
		return NULL;
	flow->places = places;
	places += flow->place_count++;
	*places = (struct place){ .core = core_hold(core), .path = path };
	return places;
}

/* Out of memory, the flow nests at the top. */
static void nest_in(struct flow *flow, const struct flow *parent)
{
	for (size_t i = 0; i < parent->place_count; i++) {
		const struct place *place = &parent->places[i];

		if (place->core->profiler)
			(void)add_place(flow, place->core,
					place->context ? auger_context_current(place->context)
						       : place->path);
	}
}

/* NULL: an exception is set. */
static struct flow *flow_new(const struct flow *parent)
{
	struct flow *flow = PyObject_New(struct flow, flow_type);
	PyObject *token;

	if (!flow)
		return NULL;
	flow->context = NULL;
	flow->alive = NULL;
	flow->places = NULL;
	flow->place_count = 0;
	token = PyContextVar_Set(variable, (PyObject *)flow); /* makes a thread's first context */
	if (!token)
		goto fail;
	Py_DECREF(token);
	flow->context = running_context();
	flow->alive = PyWeakref_NewRef(flow->context, NULL);
	if (!flow->alive)
		goto fail;
	if (parent)
		nest_in(flow, parent);
	return flow;

fail:
	Py_DECREF(flow);
	return NULL;
}

/* Slow: looks in the context, where there may be none of its own yet. */
__attribute__((noinline)) static struct flow *find_flow(void)
{
	PyObject *context = running_context();
	PyObject *value = NULL;
	struct flow *flow;

	if (PyContextVar_Get(variable, NULL, &value) < 0)
		return NULL;
	flow = (struct flow *)value;
	if (!flow || !flow->alive || !is_of(flow, context))
		flow = flow_new((struct flow *)value);
	else
		Py_INCREF(flow);
	Py_XDECREF(value);
	if (!flow)
		return NULL;
	*seen_at(flow->context) = flow;
	Py_DECREF(flow); /* its context owns it */
	return flow;
}

struct flow *flow_current(void)
{
	PyObject *context = running_context();
	struct flow *flow = *seen_at(context);

	if (__builtin_expect(flow && is_of(flow, context), 1))
		return flow;
	return find_flow();
}

struct auger_context *flow_context(struct flow *flow, struct core *core)
{
	struct place *place = flow->places;
	struct place *end = place + flow->place_count;

	while (place < end && place->core != core)
		place++;
	if (place == end)
		place = add_place(flow, core, 0);
	if (place && !place->context)
		place->context = auger_context_new(core->profiler, place->path);
	return place ? place->context : NULL;
}

/*
 * No function tells which context runs without copying it, but PyThreadState has a pointer to it
 * (since 3.7; Include/cpython/pystate.h). Where that is, is seen from what entering two contexts
 * changes.
 */
static bool find_context(PyObject *first, PyObject *second)
{
	PyObject **words = (PyObject **)(void *)PyThreadState_Get();
	size_t count = 48; /* it is the 27th to 31st word; all of PyThreadState's are more */

	if (PyContext_Enter(first) < 0)
		return false;
	for (context_word = 0; context_word < count && words[context_word] != first;)
		context_word++;
	if (context_word < count && PyContext_Enter(second) == 0) {
		if (words[context_word] != second)
			context_word = count;
		if (PyContext_Exit(second) < 0)
			return false;
	}
	if (PyContext_Exit(first) < 0)
		return false;
	if (context_word == count)
		PyErr_SetString(PyExc_ImportError, "auger does not know this interpreter");
	return context_word < count;
}

bool flow_setup(void)
{
	static PyType_Slot slots[] = { { Py_tp_dealloc, (void *)flow_dealloc }, { 0, NULL } };
	static PyType_Spec spec = { "auger._stages.Flow", sizeof(struct flow), 0,
				    Py_TPFLAGS_DEFAULT, slots };
	PyObject *first = PyContext_New();
	PyObject *second = PyContext_New();
	bool ok = first && second && find_context(first, second);

	Py_XDECREF(first);
	Py_XDECREF(second);
	flow_type = (PyTypeObject *)PyType_FromSpec(&spec);
	variable = PyContextVar_New("auger_flow", NULL);
	return ok && flow_type && variable;
}
