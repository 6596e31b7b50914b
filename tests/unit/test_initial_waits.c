/* SPDX-License-Identifier: MIT */
#include "sample/initial_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "tap.h"

static char root[256];

static void write_file(const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", root, name);
	f = fopen(path, "w");
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

static void make_folder(const char *name)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", root, name);
	CHECK_INT(mkdir(path, 0700), 0);
}

/* A thread of process 12. */
static void make_thread(unsigned tid, const char *stat, const char *syscall)
{
	char name[64];

	snprintf(name, sizeof name, "12/task/%u", tid);
	make_folder(name);
	snprintf(name, sizeof name, "12/task/%u/stat", tid);
	write_file(name, stat);
	snprintf(name, sizeof name, "12/task/%u/syscall", tid);
	write_file(name, syscall);
}

static int64_t waited(const struct profile *p, int64_t tid, const char *state)
{
	int64_t sum = 0;

	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		size_t count;
		const struct label *l = profile_get_labels(p, s.labels, &count);
		bool is_tid = false, is_state = false;

		for (size_t j = 0; j < count; j++) {
			is_tid |= l[j].num == tid && strcmp(profile_text(p, l[j].key), "tid") == 0;
			is_state |= l[j].str && strcmp(profile_text(p, l[j].str), state) == 0;
		}
		if (is_tid && is_state)
			sum += s.values[2];
	}
	return sum;
}

static void test_tell(void)
{
	static const struct ingest_event event = { "cpu", "nanoseconds", 1 };
	struct profile *p = profile_new();
	struct ingest_opts o = { .dsos = { .profile = p }, .waits = { .is_on = true } };
	struct ingest *in = ingest_new(&o, &event, 1);
	struct err e;

	CHECK_INT(initial_waits_read_all(in, root, 1000, 64, &e), 0);
	ingest_end_waits(in, 1500);
	CHECK_INT(ingest_finish(in), 0);
	CHECK_INT(ingest_counts(in)->waits.waits, 3);
	CHECK_INT(waited(p, 12, "sleeping"), 500);
	CHECK_INT(waited(p, 13, "blocked"), 500);
	CHECK_INT(waited(p, 18, "stopped"), 500);
	CHECK_INT(initial_waits_read(in, root, 99, 1000, 64), 0); /* gone */
	CHECK_INT(initial_waits_read_all(in, "/nowhere", 1000, 64, &e), -ENOENT);
	ingest_free(in);
	profile_free(p);
}

int main(void)
{
	char command[300];

	if (!mkdtemp(tap_pattern(root, sizeof root)))
		return 1;
	make_folder("12");
	make_folder("12/task");
	make_thread(12, "12 (a) R b) S 1 1", "230 0x0 0x0 0x7ffc0 0x0 0x0 0x0 0x10 0x20\n");
	make_thread(13, "13 (x) D 1", "-1 0x10 0x20\n");
	make_thread(14, "14 (x) R 1", "running\n");
	make_thread(15, "15 (kernel) S 1", "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n");
	make_thread(16, "nonsense", "1 2 3");
	make_thread(17, "17 (x) S 1", "\n");
	make_thread(18, "18 (x) t 1", "-1 0x10 0x20\n");
	TAP_CASE(test_tell);
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command) != 0 || tap_done();
}
