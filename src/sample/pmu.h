/* SPDX-License-Identifier: MIT */
/*
 * pmu: parses events of a performance monitoring unit: PMU/TERM=VALUE,TERM/.
 *
 * A term is a file of the unit's format/ folder, which lists the bits to set; or config, config1,
 * config2 as a whole; or an event in its events/ folder. A value is decimal or 0x; the default
 * is 1. Source: kernel Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}.
 */
#ifndef SAMPLE_PMU_H
#define SAMPLE_PMU_H

#include "base/err.h"
#include "base/macros.h"
#include "sample/event.h"

/* text has a '/'. devices: NULL: "/sys/bus/event_source/devices". -EINVAL: no such unit or term.
 * Sets type and config of *ret. */
int pmu_parse(const char *text, const char *devices, struct event *ret, struct err *e) MUST_CHECK;

#endif
