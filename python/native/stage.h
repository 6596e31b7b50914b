/* SPDX-License-Identifier: MIT */
/* stage: the context manager of a stage, and the one that measures nothing. */
#ifndef NATIVE_STAGE_H
#define NATIVE_STAGE_H

#include "native/core.h"

/* Once, when the module is loaded. False: an exception is set. */
bool stage_setup(void);

/* name: a str. NULL: an exception is set. */
PyObject *stage_new(struct core *core, PyObject *name);

/* A new reference to the one stage that measures nothing. */
PyObject *stage_none(void);

#endif
