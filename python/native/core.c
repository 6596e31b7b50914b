/* SPDX-License-Identifier: MIT */
#include "native/core.h"

#include <errno.h>
#include <stdlib.h>

/* auger_source.read */
static int read_allocators(void *self, int64_t *ret_live, int64_t *ret_peak)
{
	struct core *core = self;

	if (pymem_is_stale(&core->reader))
		return -ESTALE;
	*ret_live = pymem_live();
	*ret_peak = pymem_take_peak(&core->reader);
	return 0;
}

static int ask_tracemalloc(struct core *core, long long *ret_live, long long *ret_peak)
{
	PyObject *traced = PyObject_CallObject(core->get_traced, NULL);
	PyObject *done;
	int is_read = traced && PyArg_ParseTuple(traced, "LL", ret_live, ret_peak);

	Py_XDECREF(traced);
	if (!is_read)
		return -EIO;
	done = PyObject_CallObject(core->reset_peak, NULL);
	Py_XDECREF(done);
	return done ? 0 : -EIO;
}

/* auger_source.read; an exception that is on its way stays. */
static int read_tracemalloc(void *self, int64_t *ret_live, int64_t *ret_peak)
{
	PyObject *type, *value, *traceback;
	long long live, peak;
	int error;

	PyErr_Fetch(&type, &value, &traceback);
	error = ask_tracemalloc(self, &live, &peak);
	PyErr_Restore(type, value, traceback); /* instead of one of our own */
	if (error)
		return error;
	*ret_live = live;
	*ret_peak = peak;
	return 0;
}

static bool start_tracing(struct core *core, PyObject *tracemalloc)
{
	PyObject *is_tracing = PyObject_CallMethod(tracemalloc, "is_tracing", NULL);
	PyObject *started;

	if (!is_tracing)
		return false;
	Py_DECREF(is_tracing);
	if (is_tracing == Py_True)
		return true;
	started = PyObject_CallMethod(tracemalloc, "start", NULL);
	Py_XDECREF(started);
	core->stop_tracing = started ? PyObject_GetAttrString(tracemalloc, "stop") : NULL;
	return core->stop_tracing != NULL;
}

static bool use_tracemalloc(struct core *core)
{
	PyObject *tracemalloc = PyImport_ImportModule("tracemalloc");
	bool ok;

	if (!tracemalloc)
		return false;
	core->get_traced = PyObject_GetAttrString(tracemalloc, "get_traced_memory");
	core->reset_peak = PyObject_GetAttrString(tracemalloc, "reset_peak");
	ok = core->get_traced && core->reset_peak && start_tracing(core, tracemalloc);
	Py_DECREF(tracemalloc);
	return ok;
}

/* False: an exception is set. */
static bool use_memory(struct core *core, enum core_memory memory)
{
	struct auger_source source = { "py", NULL, NULL, core };

	if (memory == CORE_ALLOCATORS) {
		source.detail = "pymem";
		source.read = read_allocators;
		pymem_start(&core->reader);
		core->memory = memory;
	} else if (memory == CORE_TRACEMALLOC) {
		source.detail = "tracemalloc";
		source.read = read_tracemalloc;
		if (!use_tracemalloc(core))
			return false;
		core->memory = memory;
	} else {
		return true;
	}
	if (auger_profiler_source(core->profiler, &source) == 0)
		return true;
	PyErr_NoMemory();
	return false;
}

/* A profiler that cannot be is one that is off. False: an exception is set. */
static bool open_profiler(struct core *core, const struct auger_opts *opts)
{
	errno = 0;
	core->profiler = auger_profiler_new(opts);
	if (core->profiler || errno == 0)
		return true;
	if (errno == EMFILE)
		return PyErr_WarnEx(PyExc_RuntimeWarning,
				    "too many profilers are open: this one is off", 2) == 0;
	PyErr_SetFromErrno(PyExc_OSError);
	return false;
}

struct core *core_new(const struct auger_opts *opts, enum core_memory memory)
{
	struct core *core = calloc(1, sizeof *core);

	if (!core) {
		PyErr_NoMemory();
		return NULL;
	}
	core->users = 1;
	core->holders = 1;
	if (!open_profiler(core, opts) || (core->profiler && !use_memory(core, memory))) {
		core_unref(core);
		return NULL;
	}
	return core;
}

struct core *core_ref(struct core *core)
{
	core->users++;
	return core;
}

void core_unref(struct core *core)
{
	if (!core || --core->users)
		return;
	core_close(core);
	core_release(core);
}

struct core *core_hold(struct core *core)
{
	core->holders++;
	return core;
}

void core_release(struct core *core)
{
	if (--core->holders == 0)
		free(core);
}

/* No caller can handle an exception of tracemalloc here. */
static void stop_memory(struct core *core)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	if (core->stop_tracing)
		Py_XDECREF(PyObject_CallObject(core->stop_tracing, NULL));
	PyErr_Restore(type, value, traceback);
	Py_CLEAR(core->get_traced);
	Py_CLEAR(core->reset_peak);
	Py_CLEAR(core->stop_tracing);
	if (core->memory == CORE_ALLOCATORS)
		pymem_stop(&core->reader);
	core->memory = CORE_NO_MEMORY;
}

void core_close(struct core *core)
{
	struct auger_profiler *profiler = core->profiler;

	core->profiler = NULL;
	auger_profiler_close(profiler);
	stop_memory(core);
}
