/* SPDX-License-Identifier: MIT */
/*
 * cpython: declares the functions of CPython that we need and that the limited API lacks.
 *
 * All are exported, documented, and the same in every CPython from 3.7.1 to 3.13, so one extension
 * serves them all.
 *
 * Sources: Include/cpython/pymem.h, Include/cpython/context.h (Include/context.h in 3.9),
 * Include/methodobject.h; the C API reference, "Memory Management" and "Context Variables".
 */
#ifndef NATIVE_CPYTHON_H
#define NATIVE_CPYTHON_H

#include <Python.h>
#include <stddef.h>

/* PyMemAllocatorDomain */
enum cpython_domain { CPYTHON_RAW, CPYTHON_MEM, CPYTHON_OBJ, CPYTHON_DOMAINS };

/* PyMemAllocatorEx */
struct cpython_allocator {
	void *ctx;
	void *(*malloc)(void *ctx, size_t size);
	void *(*calloc)(void *ctx, size_t count, size_t size);
	void *(*realloc)(void *ctx, void *block, size_t size);
	void (*free)(void *ctx, void *block);
};

extern void PyMem_GetAllocator(enum cpython_domain domain, struct cpython_allocator *allocator);
extern void PyMem_SetAllocator(enum cpython_domain domain, struct cpython_allocator *allocator);

extern PyObject *PyContext_New(void);
extern int PyContext_Enter(PyObject *context);
extern int PyContext_Exit(PyObject *context);
extern PyObject *PyContextVar_New(const char *name, PyObject *value);
extern int PyContextVar_Get(PyObject *var, PyObject *otherwise, PyObject **value);
extern PyObject *PyContextVar_Set(PyObject *var, PyObject *value);

/* In the limited API since 3.10, with the same value and meaning before. */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
extern const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *ret_len);

#endif
