/* SPDX-License-Identifier: MIT */
#include "sample/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_root.h"
#include "tap.h"

static void make_root(void)
{
	CHECK(mkdtemp(tap_pattern(root, sizeof root)) != NULL);
	write_file("devices/cpu/type", "4\n");
	write_file("devices/cpu/format/event", "config:0-7,32-35\n");
	write_file("devices/cpu/format/umask", "config:8-15\n");
	write_file("devices/cpu/format/any", "config:21\n");
	write_file("devices/cpu/format/ldlat", "config1:0-15\n");
	write_file("devices/cpu/format/odd", "attr:0-15\n");
	write_file("devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	write_file("devices/cpu/events/loop", "loop\n");
	write_file("tracing/events/sched/sched_switch/id", "316\n");
}

static int parse(const char *text, struct event *ret, struct err *e)
{
	char devices[300], tracing[300];
	struct event_roots roots = { .devices = devices, .tracing = tracing };

	snprintf(devices, sizeof devices, "%s/devices", root);
	snprintf(tracing, sizeof tracing, "%s/tracing", root);
	return event_parse(text, &roots, ret, e);
}

static void test_known(void)
{
	static const struct {
		const char *text, *name, *type, *unit;
		uint32_t pmu;
		uint64_t config;
	} rows[] = {
		{ "cycles", "cycles", "cycles", "count", PERF_TYPE_HARDWARE, 0 },
		{ "branch-misses", "branch-misses", "branch-misses", "count", PERF_TYPE_HARDWARE,
		  5 },
		{ "cpu-clock", "cpu-clock", "cpu", "nanoseconds", PERF_TYPE_SOFTWARE, 0 },
		{ "task-clock:u", "task-clock", "cpu", "nanoseconds", PERF_TYPE_SOFTWARE, 1 },
		{ "faults", "faults", "faults", "count", PERF_TYPE_SOFTWARE, 2 },
		{ "L1-dcache-load-misses", "L1-dcache-load-misses", "L1-dcache-load-misses",
		  "count", PERF_TYPE_HW_CACHE, 0x10000 },
		{ "LLC-loads", "LLC-loads", "LLC-loads", "count", PERF_TYPE_HW_CACHE, 0x2 },
		{ "dTLB-stores", "dTLB-stores", "dTLB-stores", "count", PERF_TYPE_HW_CACHE, 0x103 },
		{ "node-prefetches", "node-prefetches", "node-prefetches", "count",
		  PERF_TYPE_HW_CACHE, 0x206 },
		{ "r1a8", "r1a8", "r1a8", "count", PERF_TYPE_RAW, 0x1a8 },
		{ "rffffffffffffffff", "rffffffffffffffff", "rffffffffffffffff", "count",
		  PERF_TYPE_RAW, UINT64_MAX },
		{ "sched:sched_switch", "sched:sched_switch", "sched:sched_switch", "count",
		  PERF_TYPE_TRACEPOINT, 316 },
		{ "cpu/event=0x1ab,umask=3/", "cpu/event=0x1ab,umask=3/",
		  "cpu/event=0x1ab,umask=3/", "count", 4, UINT64_C(0x1000003ab) },
		{ "cpu/any,config=0x3c/", "cpu/any,config=0x3c/", "cpu/any,config=0x3c/", "count",
		  4, 0x20003c },
		{ "cpu/mem-loads,any/u", NULL, NULL, NULL, 0, 0 },
		{ "cpu/mem-loads,any/:u", "cpu/mem-loads,any/", "cpu/mem-loads,any/", "count", 4,
		  0x2001cd },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct event event;
		struct err e;
		int rc = parse(rows[i].text, &event, &e);

		if (!rows[i].name) {
			CHECK_INT(rc, -EINVAL);
			continue;
		}
		if (!CHECK_INT(rc, 0)) {
			fprintf(stderr, "%s: %s\n", rows[i].text, e.msg);
			continue;
		}
		CHECK_STR(event.name, rows[i].name);
		CHECK_STR(event_sample_type(&event), rows[i].type);
		CHECK_STR(event.unit, rows[i].unit);
		CHECK_INT(event.type, rows[i].pmu);
		CHECK_INT(event.config, rows[i].config);
	}
}

static void test_modifiers(void)
{
	static const struct {
		const char *text;
		bool is_user_only, is_kernel_only;
		unsigned precise;
	} rows[] = {
		{ "cycles", false, false, 0 },     { "cycles:u", true, false, 0 },
		{ "cycles:k", false, true, 0 },    { "cycles:uk", false, false, 0 },
		{ "cycles:ppp", false, false, 3 }, { "sched:sched_switch:k", false, true, 0 },
		{ "r1:up", true, false, 1 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct event event;
		struct err e;

		if (!CHECK_INT(parse(rows[i].text, &event, &e), 0))
			continue;
		CHECK_INT(event.is_user_only, rows[i].is_user_only);
		CHECK_INT(event.is_kernel_only, rows[i].is_kernel_only);
		CHECK_INT(event.precise, rows[i].precise);
	}
}

static void test_wrong(void)
{
	static const char *const rows[] = {
		"",
		":u",
		"nothing",
		"cycles:x",
		"cycles:pppp",
		"r",
		"rxyz",
		"r11111111111111111",
		"L1-dcache-loadss",
		"L1-dcache-",
		"sched:nothing",
		"../sched:sched_switch",
		"sched:../../x",
		"a:b:c",
		"/",
		"//",
		"cpu/event=1",
		"cpu/event=1/x",
		"gpu/event=1/",
		"../cpu/event=1/",
		"cpu/nothing/",
		"cpu/nothing=1/",
		"cpu/event=x/",
		"cpu/event=/",
		"cpu/umask=0x100/",
		"cpu/odd=1/",
		"cpu/loop/",
		"cpu/event=1,,umask=1/",
		"cpu/../type/",
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct event event;
		struct err e = { 0 };
		int rc = parse(rows[i], &event, &e);

		if (!CHECK(rc == -EINVAL || rc == -ENOTSUP))
			fprintf(stderr, "%s: %d %s\n", rows[i], rc, e.msg);
		CHECK(e.msg[0] != '\0');
	}
}

static void test_no_tracing(void)
{
	struct event_roots roots = { .tracing = "/nowhere" };
	struct event event;
	struct err e;

	CHECK_INT(event_parse("sched:sched_switch", &roots, &event, &e), -ENOENT);
	CHECK(strstr(e.msg, "mount -t tracefs") != NULL);
}

int main(void)
{
	make_root();
	TAP_CASE(test_known);
	TAP_CASE(test_modifiers);
	TAP_CASE(test_wrong);
	TAP_CASE(test_no_tracing);
	remove_root();
	return tap_done();
}
