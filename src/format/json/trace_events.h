/* SPDX-License-Identifier: MIT */
/*
 * trace_events: reads the trace events of Chrome, which torch.profiler, TensorFlow, Perfetto's
 * export, clang -ftime-trace, viztracer and others write, too.
 *
 * The text is an array of events, or an object with one; it may end early, as that of a program
 * that was killed. Events that begin and end (B, E, X) nest by thread (format/json/trace_nest.h):
 * the sample types are events/count and time/nanoseconds. Samples (P, and "samples") with
 * "stackFrames" are samples/count. Names of processes and threads (M) become labels. Counters,
 * instants, flows and events that are asynchronous are left out.
 *
 * A name "PATH.py(LINE): FUNCTION", as torch.profiler has it, becomes function, file and line.
 *
 * Source: Trace Event Format, version of 2016.
 */
#ifndef FORMAT_JSON_TRACE_EVENTS_H
#define FORMAT_JSON_TRACE_EVENTS_H

#include "format/format.h"

extern const struct format format_trace;

#endif
