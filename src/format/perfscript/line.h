/* SPDX-License-Identifier: MIT */
/*
 * perfscript_line: parses one line of perf script's text.
 *
 * Nothing is copied: all texts are borrowed from the line, [0..len) without its line end.
 *
 * Source: perf-script(1); the output of perf 3.2 to 6.1 for its -F fields.
 */
#ifndef FORMAT_PERFSCRIPT_LINE_H
#define FORMAT_PERFSCRIPT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define SCRIPT_NONE INT64_MIN /* an absent number */

/* A frame: "  7fb8a2cd6b70 _start+0x0 (/usr/lib/ld.so)". */
struct script_frame {
	uint64_t address;
	struct str symbol; /* without its offset; empty: unknown */
	struct str dso;    /* without " (deleted)"; empty: unknown */
	bool is_inlined;   /* into the next frame of the same address */
};

/* The head of a sample: "comm 12/13 [001] 1950.096826:  1001001 cpu-clock:ppp: ..." */
struct script_header {
	struct str thread; /* what comm, pid, tid and cpu were taken from */
	struct str comm;
	int64_t pid, tid, cpu;
	int64_t time_ns; /* of the recording's clock */
	int64_t period;
	struct str event; /* with its modifiers, without the ':' at the end */
	bool is_sure;     /* no other line has this form; else a frame must follow */
	bool is_record;   /* a line of --show-*-events, not a sample */
	int64_t lost;     /* when is_record: samples that were lost */
	struct str frame; /* behind the event: what may be the only frame */
};

/* Cheap tests of a line within a stack: */
bool script_is_frame(const char *line, size_t len);   /* indented, and starts with hex digits */
bool script_is_source(const char *line, size_t len);  /* the position of the frame above it */
bool script_is_inlined(const char *line, size_t len); /* ends with " (inlined)" */
/* The hex digits a frame starts with. */
struct str script_address(const char *line, size_t len);

bool script_parse_frame(const char *line, size_t len, struct script_frame *ret);
/* "  file.c:12"; file empty and line 0 when perf did not know. */
void script_parse_source(const char *line, size_t len, struct str *ret_file, int64_t *ret_line);
bool script_parse_header(const char *line, size_t len, struct script_header *ret);

#endif
