/* SPDX-License-Identifier: MIT */
/*
 * pmu: events of a performance monitoring unit by its own terms: PMU/TERM=VALUE,TERM/.
 *
 * A term is one of the unit's format/ files, which tell the bits that it sets; config,
 * config1 or config2 as a whole; or the name of an event in events/. A value is decimal or
 * 0x, and 1 when it is not given.
 * Source: kernel Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}.
 */
#ifndef SAMPLE_PMU_H
#define SAMPLE_PMU_H

#include "base/err.h"
#include "base/macros.h"
#include "sample/event.h"

/* text has a '/'. devices: NULL: "/sys/bus/event_source/devices". -EINVAL for what is not
 * there. Sets type and config of *ret. */
int pmu_parse(const char *text, const char *devices, struct event *ret, struct err *e) MUST_CHECK;

#endif
