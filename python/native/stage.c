/* SPDX-License-Identifier: MIT */
#include "native/stage.h"

#include <stdlib.h>

#include "native/cpython.h"
#include "native/task.h"

/* One time that the stage was entered and not left yet. */
struct entry {
	struct task *task; /* owned */
	struct auger_context *context;
	auger_token token;
};

/*
 * Usually entered once at a time; a stage that is kept may be entered inside itself, and by several
 * threads and tasks.
 */
struct stage {
	PyObject_HEAD struct core *core; /* owned */
	struct auger_name name;          /* its text is that of bytes */
	PyObject *bytes;                 /* owned */
	struct entry last;               /* task NULL: not entered */
	struct entry *older;             /* [0..older_count), oldest first */
	size_t older_count;
};

static PyTypeObject *stage_type;
static PyObject *none; /* the stage that measures nothing */

/* Makes room for a new last entry. False: out of memory, an exception is set. */
static bool keep_last(struct stage *stage)
{
	struct entry *older = realloc(stage->older, (stage->older_count + 1) * sizeof *older);

	if (!older) {
		PyErr_NoMemory();
		return false;
	}
	stage->older = older;
	older[stage->older_count++] = stage->last;
	stage->last.task = NULL;
	return true;
}

static PyObject *stage_enter(PyObject *self, PyObject *unused)
{
	struct stage *stage = (struct stage *)self;
	struct task *task;

	(void)unused;
	Py_INCREF(self);
	if (!stage->core->profiler)
		return self;
	task = task_current();
	if (!task || (stage->last.task && !keep_last(stage))) {
		Py_DECREF(self);
		return NULL;
	}
	Py_INCREF(task);
	stage->last.task = task;
	stage->last.context = task_context(task, stage->core);
	stage->last.token = auger_context_begin(stage->last.context, &stage->name);
	return self;
}

/* Moves the last entry of this task to the end; without one, that of another task. */
static void choose_last(struct stage *stage)
{
	struct task *task = task_current();
	size_t i = stage->older_count;
	struct entry chosen;

	if (!task)
		PyErr_Clear();
	if (stage->last.task == task)
		return;
	while (i > 0 && stage->older[i - 1].task != task)
		i--;
	if (i == 0)
		return;
	chosen = stage->older[i - 1];
	for (; i < stage->older_count; i++)
		stage->older[i - 1] = stage->older[i];
	stage->older[i - 1] = stage->last;
	stage->last = chosen;
}

static void leave_last(struct stage *stage)
{
	struct task *task = stage->last.task;

	if (stage->core->profiler)
		auger_context_end(stage->last.context, stage->last.token);
	if (stage->older_count)
		stage->last = stage->older[--stage->older_count];
	else
		stage->last.task = NULL;
	Py_DECREF(task);
}

static PyObject *stage_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	struct stage *stage = (struct stage *)self;

	(void)args;
	(void)count;
	if (stage->older_count)
		choose_last(stage);
	if (stage->last.task)
		leave_last(stage);
	Py_INCREF(Py_None);
	return Py_None;
}

/* Entries that no exit can reach any more: their tasks end them. */
static void stage_dealloc(PyObject *self)
{
	struct stage *stage = (struct stage *)self;

	for (size_t i = 0; i < stage->older_count; i++)
		Py_DECREF(stage->older[i].task);
	free(stage->older);
	Py_XDECREF(stage->last.task);
	Py_DECREF(stage->bytes);
	core_unref(stage->core);
	PyObject_Free(stage);
	Py_DECREF(stage_type);
}

PyObject *stage_new(struct core *core, PyObject *name)
{
	/* A name with surrogates is one of a file whose bytes are no UTF-8, or it is damaged. */
	PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
	struct stage *stage = bytes ? PyObject_New(struct stage, stage_type) : NULL;

	if (!stage) {
		Py_XDECREF(bytes);
		return NULL;
	}
	stage->core = core_ref(core);
	stage->bytes = bytes;
	stage->name = (struct auger_name){ PyBytes_AsString(bytes), 0, 0 };
	stage->name.len = (size_t)PyBytes_Size(bytes);
	stage->last.task = NULL;
	stage->older = NULL;
	stage->older_count = 0;
	return (PyObject *)stage;
}

static PyObject *none_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	Py_INCREF(self);
	return self;
}

static PyObject *none_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	(void)self;
	(void)args;
	(void)count;
	Py_INCREF(Py_None);
	return Py_None;
}

PyObject *stage_none(void)
{
	Py_INCREF(none);
	return none;
}

/* Stages are made by profilers only. */
static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	(void)type;
	(void)args;
	(void)keywords;
	PyErr_SetString(PyExc_TypeError, "stages are made by StageProfiler.stage()");
	return NULL;
}

bool stage_setup(void)
{
	static PyMethodDef methods[] = {
		{ "__enter__", stage_enter, METH_NOARGS, NULL },
		{ "__exit__", (PyCFunction)(void (*)(void))stage_exit, METH_FASTCALL, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static PyMethodDef none_methods[] = {
		{ "__enter__", none_enter, METH_NOARGS, NULL },
		{ "__exit__", (PyCFunction)(void (*)(void))none_exit, METH_FASTCALL, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static PyType_Slot slots[] = { { Py_tp_methods, methods },
				       { Py_tp_new, (void *)refuse_new },
				       { Py_tp_dealloc, (void *)stage_dealloc },
				       { 0, NULL } };
	static PyType_Slot none_slots[] = { { Py_tp_methods, none_methods }, { 0, NULL } };
	static PyType_Spec spec = { "auger._stages.Stage", sizeof(struct stage), 0,
				    Py_TPFLAGS_DEFAULT, slots };
	static PyType_Spec none_spec = { "auger._stages.NullStage", sizeof(PyObject), 0,
					 Py_TPFLAGS_DEFAULT, none_slots };
	PyObject *none_type = PyType_FromSpec(&none_spec);

	stage_type = (PyTypeObject *)PyType_FromSpec(&spec);
	none = none_type ? PyObject_CallObject(none_type, NULL) : NULL;
	Py_XDECREF(none_type);
	return stage_type && none;
}
