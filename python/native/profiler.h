/* SPDX-License-Identifier: MIT */
/* profiler: the types Profiler, the base of auger.StageProfiler, and NullProfiler. */
#ifndef NATIVE_PROFILER_H
#define NATIVE_PROFILER_H

#include <Python.h>
#include <stdbool.h>

/* Adds the types to the module. False: an exception is set. */
bool profiler_add(PyObject *module);

#endif
