/* SPDX-License-Identifier: MIT */
/* stage_json: single values of a report of stages, by label and key. */
#ifndef STAGE_JSON_H
#define STAGE_JSON_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auger/stage.h"

/* The value of a key after this place of the report; NAN: null or not there. */
static inline double json_number(const char *at, const char *end, const char *key)
{
	char quoted[64];
	const char *found;
	char *after;
	double value;

	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	found = at ? strstr(at, quoted) : NULL;
	if (!found || (end && found > end))
		return NAN;
	value = strtod(found + strlen(quoted), &after);
	return after > found + strlen(quoted) ? value : NAN;
}

/* Of a row; stage is as JSON writes it. */
static inline double row_number(const char *report, const char *stage, const char *key)
{
	char quoted[512];
	const char *row;

	snprintf(quoted, sizeof quoted, "\"stage\":\"%s\",", stage);
	row = strstr(report, quoted);
	return json_number(row, row ? strchr(row, '}') : NULL, key);
}

/* Of the profiler as it is now; key of a row, or of the top when stage is NULL. */
static inline double stage_number(struct auger_profiler *p, const char *stage, const char *key)
{
	char *report = auger_profiler_report(p, NULL);
	double value = NAN;

	if (report)
		value = stage ? row_number(report, stage, key) : json_number(report, NULL, key);
	free(report);
	return value;
}

#endif
