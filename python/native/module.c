/* SPDX-License-Identifier: MIT */
/* module: auger._stages, of the limited API but for what native/cpython.h lists. */
#include <Python.h>

#include "native/profiler.h"
#include "native/pymem.h"
#include "native/stage.h"
#include "native/task.h"

/* For tests: the count of pymem.h, or None while nothing is counted. */
static PyObject *allocated(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyLong_FromLongLong(pymem_live());
}

PyMODINIT_FUNC PyInit__stages(void);

PyMODINIT_FUNC PyInit__stages(void)
{
	static PyMethodDef methods[] = {
		{ "allocated", allocated, METH_NOARGS,
		  "allocated(): bytes that Python's allocators gave out since counting began." },
		{ NULL, NULL, 0, NULL },
	};
	static struct PyModuleDef definition = {
		PyModuleDef_HEAD_INIT, "_stages", NULL, -1, methods, NULL, NULL, NULL, NULL,
	};
	PyObject *module = PyModule_Create(&definition);

	if (module && task_setup() && stage_setup() && profiler_add(module))
		return module;
	Py_XDECREF(module);
	return NULL;
}
