/* SPDX-License-Identifier: MIT */
#include "native/task.h"

#include <stdint.h>
#include <stdlib.h>

#include "native/cpython.h"

/* The nesting of a task in one profiler. */
struct nesting {
	struct core *core; /* held */
	auger_path path;   /* parent of the task's first stage */
	struct auger_context
		*context; /* NULL: no stage has begun. Invalid when the core is closed. */
};

struct task {
	PyObject_HEAD PyObject *context; /* it runs in; not owned, only compared */
	PyObject *alive; /* weak reference to context, because its address may be reused */
	struct nesting *nestings;
	size_t nesting_count;
};

static PyTypeObject *task_type;
static PyObject
	*variable; /* its value: the task of the context, or of the one it was copied from */

/* Index, in words, of the running context in PyThreadState: see find_context(). */
static size_t context_word;

/* A cache of tasks by the address of their context. Not owned: a freed task removes itself. */
#define SEEN_BITS 8
static struct task *seen[1 << SEEN_BITS];

static inline struct task **seen_at(const PyObject *context)
{
	return &seen[((uintptr_t)context >> 4) * 0x9E3779B1u >> 8 & ((1 << SEEN_BITS) - 1)];
}

static inline PyObject *running_context(void)
{
	return ((PyObject **)(void *)PyThreadState_Get())[context_word];
}

static inline bool is_of(const struct task *task, PyObject *context)
{
	return task->context == context && PyWeakref_GetObject(task->alive) == context;
}

static void nesting_fini(struct nesting *nesting)
{
	if (nesting->core->profiler && nesting->context)
		auger_context_free(nesting->context);
	core_release(nesting->core);
}

static void task_dealloc(PyObject *self)
{
	struct task *task = (struct task *)self;
	struct task **at = seen_at(task->context);

	if (*at == task)
		*at = NULL;
	for (size_t i = 0; i < task->nesting_count; i++)
		nesting_fini(&task->nestings[i]);
	free(task->nestings);
	Py_XDECREF(task->alive);
	PyObject_Free(task);
	Py_DECREF(task_type);
}

static void drop_closed(struct task *task)
{
	size_t kept = 0;

	for (size_t i = 0; i < task->nesting_count; i++) {
		if (task->nestings[i].core->profiler)
			task->nestings[kept++] = task->nestings[i];
		else
			nesting_fini(&task->nestings[i]);
	}
	task->nesting_count = kept;
}

/* NULL: out of memory. */
static struct nesting *add_nesting(struct task *task, struct core *core, auger_path path)
{
	struct nesting *nestings;

	drop_closed(task);
	nestings = realloc(task->nestings, (task->nesting_count + 1) * sizeof *nestings);
	if (!nestings)
		return NULL;
	task->nestings = nestings;
	nestings += task->nesting_count++;
	*nestings = (struct nesting){ .core = core_hold(core), .path = path };
	return nestings;
}

/* When memory runs out, the task nests at the top. */
static void nest_in(struct task *task, const struct task *parent)
{
	for (size_t i = 0; i < parent->nesting_count; i++) {
		const struct nesting *nesting = &parent->nestings[i];

		if (nesting->core->profiler)
			(void)add_nesting(task, nesting->core,
					  nesting->context ? auger_context_current(nesting->context)
							   : nesting->path);
	}
}

/* NULL: an exception is set. */
static struct task *task_new(const struct task *parent)
{
	struct task *task = PyObject_New(struct task, task_type);
	PyObject *token;

	if (!task)
		return NULL;
	task->context = NULL;
	task->alive = NULL;
	task->nestings = NULL;
	task->nesting_count = 0;
	token = PyContextVar_Set(variable, (PyObject *)task); /* makes a thread's first context */
	if (!token)
		goto fail;
	Py_DECREF(token);
	task->context = running_context();
	task->alive = PyWeakref_NewRef(task->context, NULL);
	if (!task->alive)
		goto fail;
	if (parent)
		nest_in(task, parent);
	return task;

fail:
	Py_DECREF(task);
	return NULL;
}

/* The slow path: reads the context variable, and creates a task when the context has none of its
 * own. */
__attribute__((noinline)) static struct task *find_flow(void)
{
	PyObject *context = running_context();
	PyObject *value = NULL;
	struct task *task;

	if (PyContextVar_Get(variable, NULL, &value) < 0)
		return NULL;
	task = (struct task *)value;
	if (!task || !task->alive || !is_of(task, context))
		task = task_new((struct task *)value);
	else
		Py_INCREF(task);
	Py_XDECREF(value);
	if (!task)
		return NULL;
	*seen_at(task->context) = task;
	Py_DECREF(task); /* its context owns it */
	return task;
}

struct task *task_current(void)
{
	PyObject *context = running_context();
	struct task *task = *seen_at(context);

	if (__builtin_expect(task && is_of(task, context), 1))
		return task;
	return find_flow();
}

struct auger_context *task_context(struct task *task, struct core *core)
{
	struct nesting *nesting = task->nestings;
	struct nesting *end = nesting + task->nesting_count;

	while (nesting < end && nesting->core != core)
		nesting++;
	if (nesting == end)
		nesting = add_nesting(task, core, 0);
	if (nesting && !nesting->context)
		nesting->context = auger_context_new(core->profiler, nesting->path);
	return nesting ? nesting->context : NULL;
}

/*
 * CPython has no function that returns the running context without copying it, but PyThreadState
 * has a pointer to it (since 3.7; Include/cpython/pystate.h). Entering two contexts shows its
 * offset.
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

bool task_setup(void)
{
	static PyType_Slot slots[] = { { Py_tp_dealloc, (void *)task_dealloc }, { 0, NULL } };
	static PyType_Spec spec = { "auger._stages.Flow", sizeof(struct task), 0,
				    Py_TPFLAGS_DEFAULT, slots };
	PyObject *first = PyContext_New();
	PyObject *second = PyContext_New();
	bool ok = first && second && find_context(first, second);

	Py_XDECREF(first);
	Py_XDECREF(second);
	task_type = (PyTypeObject *)PyType_FromSpec(&spec);
	variable = PyContextVar_New("auger_flow", NULL);
	return ok && task_type && variable;
}
