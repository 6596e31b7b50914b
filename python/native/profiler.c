/* SPDX-License-Identifier: MIT */
#include "native/profiler.h"

#include <auger/stage.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "native/core.h"
#include "native/cpython.h"
#include "native/stage.h"

/* Stages that are kept for their next use; of programs that make up names, the first ones. */
#define MAX_KEPT 4096

/* Names that are written in the program are found by their address. */
#define RECENT_BITS 6

struct recent {
	PyObject *name; /* a key of the dict, like the stage its value; not owned */
	PyObject *stage;
};

struct profiler {
	PyObject_HEAD struct core *core; /* NULL: not initialised */
	PyObject *stages; /* dict: name to stage; none is ever removed but by forget_stages() */
	struct recent recent[1 << RECENT_BITS];
};

static inline struct recent *recent_at(struct profiler *profiler, const PyObject *name)
{
	return &profiler->recent[(uintptr_t)name >> 4 & ((1 << RECENT_BITS) - 1)];
}

static void forget_stages(struct profiler *profiler)
{
	memset(profiler->recent, 0, sizeof profiler->recent);
	Py_CLEAR(profiler->stages);
}

static struct auger_profiler *open_profiler(PyObject *self)
{
	struct core *core = ((struct profiler *)self)->core;

	return core ? core->profiler : NULL;
}

static int profiler_init(PyObject *self, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "memory", "level", "out", "per_thread", "on_sigterm", NULL };
	struct profiler *profiler = (struct profiler *)self;
	struct auger_opts opts = { .size = sizeof opts };
	int memory = CORE_NO_MEMORY, level = AUGER_AUTO;
	struct core *core;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|iizpp", names, &memory, &level,
					 &opts.out, &opts.per_thread, &opts.on_sigterm))
		return -1;
	opts.level = (enum auger_level)level;
	core = core_new(&opts, (enum core_memory)memory);
	if (!core)
		return -1;
	forget_stages(profiler);
	core_unref(profiler->core);
	profiler->core = core;
	profiler->stages = PyDict_New();
	return profiler->stages ? 0 : -1;
}

static void profiler_dealloc(PyObject *self)
{
	struct profiler *profiler = (struct profiler *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	forget_stages(profiler);
	core_unref(profiler->core);
	release(self);
	Py_DECREF(type);
}

/* False: an exception is set. */
static bool keep_stage(struct profiler *profiler, PyObject *name, PyObject *stage)
{
	if (PyDict_Size(profiler->stages) >= MAX_KEPT)
		return true;
	if (PyDict_SetItem(profiler->stages, name, stage) < 0)
		return false;
	*recent_at(profiler, name) = (struct recent){ name, stage };
	return true;
}

/* The cached stage of this name if it is unused, else a new one. */
__attribute__((noinline)) static PyObject *find_stage(struct profiler *profiler, PyObject *name)
{
	PyObject *stage;

	if (!PyUnicode_Check(name))
		return PyErr_Format(PyExc_TypeError, "the name of a stage is a str, not %R",
				    (PyObject *)Py_TYPE(name));
	stage = PyDict_GetItemWithError(profiler->stages, name);
	if (stage && Py_REFCNT(stage) == 1) {
		Py_INCREF(stage);
		return stage;
	}
	if (stage)
		return stage_new(profiler->core, name);
	if (PyErr_Occurred())
		return NULL;
	stage = stage_new(profiler->core, name);
	if (stage && !keep_stage(profiler, name, stage))
		Py_CLEAR(stage);
	return stage;
}

static PyObject *profiler_stage(PyObject *self, PyObject *name)
{
	struct profiler *profiler = (struct profiler *)self;
	const struct recent *recent = recent_at(profiler, name);

	if (!open_profiler(self))
		return stage_none();
	if (recent->name == name && Py_REFCNT(recent->stage) == 1) {
		Py_INCREF(recent->stage);
		return recent->stage;
	}
	return find_stage(profiler, name);
}

/* The report as JSON; None: off, or closed. */
static PyObject *profiler_json(PyObject *self, PyObject *unused)
{
	size_t len = 0;
	char *json;
	PyObject *text;

	(void)unused;
	if (!open_profiler(self)) {
		Py_INCREF(Py_None);
		return Py_None;
	}
	json = auger_profiler_report(open_profiler(self), &len);
	if (!json)
		return PyErr_NoMemory();
	text = PyUnicode_DecodeUTF8(json, (Py_ssize_t)len, "replace");
	free(json);
	return text;
}

static PyObject *profiler_write(PyObject *self, PyObject *path)
{
	PyObject *bytes = NULL;
	int error;

	if (!PyUnicode_FSConverter(path, &bytes))
		return NULL;
	error = open_profiler(self)
			? auger_profiler_write(open_profiler(self), PyBytes_AsString(bytes))
			: 0;
	Py_DECREF(bytes);
	if (error < 0) {
		errno = -error;
		return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
	}
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *profiler_set(PyObject *self, PyObject *args)
{
	const char *key, *value;

	if (!PyArg_ParseTuple(args, "sz", &key, &value))
		return NULL;
	auger_profiler_set(open_profiler(self), key, value);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *profiler_reset(PyObject *self, PyObject *unused)
{
	(void)unused;
	auger_profiler_reset(open_profiler(self));
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *profiler_close(PyObject *self, PyObject *unused)
{
	struct profiler *profiler = (struct profiler *)self;

	(void)unused;
	if (profiler->core)
		core_close(profiler->core);
	forget_stages(profiler);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *profiler_is_on(PyObject *self, void *unused)
{
	PyObject *answer = open_profiler(self) ? Py_True : Py_False;

	(void)unused;
	Py_INCREF(answer);
	return answer;
}

static PyObject *null_stage(PyObject *self, PyObject *name)
{
	(void)self;
	(void)name;
	return stage_none();
}

static bool add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
	PyObject *type = PyType_FromSpec(spec);

	if (type && PyModule_AddObject(module, name, type) == 0)
		return true;
	Py_XDECREF(type);
	return false;
}

static bool add_profiler(PyObject *module)
{
	static PyMethodDef methods[] = {
		{ "stage", profiler_stage, METH_O,
		  "stage(name): a context manager; what runs in its `with` block is counted\n"
		  "in the row of this name, inside the row of the stage that is open." },
		{ "json", profiler_json, METH_NOARGS,
		  "json(): the report as one line of JSON; None if the profiler is off or closed." },
		{ "write", profiler_write, METH_O,
		  "write(path): appends the report to a file as one line of JSON, or replaces\n"
		  "a file NAME.pb.gz by a pprof profile. %h, %p, %r, %j and %a in path stand for\n"
		  "host, process, rank, Slurm job and array task." },
		{ "set", profiler_set, METH_VARARGS,
		  "set(key, value): a key of the report, such as \"input\"; None removes it." },
		{ "reset", profiler_reset, METH_NOARGS,
		  "reset(): empties the report, for the next record." },
		{ "close", profiler_close, METH_NOARGS,
		  "close(): ends the profiling; stages measure nothing from then on." },
		{ NULL, NULL, 0, NULL },
	};
	static PyGetSetDef values[] = {
		{ "is_on", profiler_is_on, NULL, "False: off, or closed.", NULL },
		{ NULL, NULL, NULL, NULL, NULL },
	};
	static PyType_Slot slots[] = { { Py_tp_methods, methods },
				       { Py_tp_getset, values },
				       { Py_tp_init, (void *)profiler_init },
				       { Py_tp_dealloc, (void *)profiler_dealloc },
				       { 0, NULL } };
	static PyType_Spec spec = { "auger._stages.Profiler", sizeof(struct profiler), 0,
				    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };

	return add_type(module, "Profiler", &spec);
}

static bool add_null(PyObject *module)
{
	static PyMethodDef methods[] = {
		{ "stage", null_stage, METH_O,
		  "stage(name): a context manager that does nothing." },
		{ NULL, NULL, 0, NULL },
	};
	static PyType_Slot slots[] = { { Py_tp_methods, methods }, { 0, NULL } };
	static PyType_Spec spec = { "auger._stages.Null", sizeof(PyObject), 0,
				    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };

	return add_type(module, "Null", &spec);
}

bool profiler_add(PyObject *module)
{
	return add_profiler(module) && add_null(module) &&
	       PyModule_AddIntConstant(module, "NO_MEMORY", CORE_NO_MEMORY) == 0 &&
	       PyModule_AddIntConstant(module, "ALLOCATORS", CORE_ALLOCATORS) == 0 &&
	       PyModule_AddIntConstant(module, "TRACEMALLOC", CORE_TRACEMALLOC) == 0 &&
	       PyModule_AddIntConstant(module, "AUTO", AUGER_AUTO) == 0 &&
	       PyModule_AddIntConstant(module, "OFF", AUGER_OFF) == 0 &&
	       PyModule_AddIntConstant(module, "TIME", AUGER_TIME) == 0 &&
	       PyModule_AddIntConstant(module, "FULL", AUGER_FULL) == 0;
}
