/* SPDX-License-Identifier: MIT */
/* What a hostile program can make the recorder remember has an end. */
#include <stdio.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "syscalls/sink.h"
#include "tap.h"

static void open_tally(struct syscalls *tally, enum syscalls_by by, struct syscall_opts *o,
		       struct syscall_sink *f)
{
	CHECK_INT(syscalls_init(tally, by), 0);
	*o = (struct syscall_opts){ .tally = tally };
	syscall_sink_init(f, o, clock_mono_ns());
	syscall_sink_skip_files(f);
}

/* Calls of this many subjects of their own. */
static uint64_t sum_of(struct syscalls *s, uint32_t subject)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->cells.count; i++) {
		const struct syscalls_cell *c = syscalls_cell_at(s, (uint32_t)i);

		if (c->subject == subject)
			sum += c->count;
	}
	return sum;
}

static void test_descriptors(void)
{
	enum { MORE = 1000 };
	struct syscalls tally;
	struct syscall_opts o;
	struct syscall_sink f;

	open_tally(&tally, SYSCALLS_BY_FD, &o, &f);
	for (uint64_t fd = 0; fd < SYSCALL_SUBJECTS_MAX + MORE; fd++)
		syscall_sink_call(&f, &(struct syscall){ .pid = 7,
							 .tid = 7,
							 .nr = SYS_close,
							 .has_start = true,
							 .has_end = true,
							 .args = { fd } });
	CHECK_INT(tally.subjects.count, SYSCALL_SUBJECTS_MAX + 1);
	CHECK(f.others != 0);
	CHECK_STR(syscalls_text(&tally, syscalls_subject(&tally, f.others)->name), "[others]");
	CHECK_INT(sum_of(&tally, f.others), MORE + 1); /* the first subject is all */
	syscall_sink_fini(&f);
	syscalls_fini(&tally);
}

static void test_paths(void)
{
	enum { LONG = 4000 };
	static char path[LONG + 1];
	struct syscalls tally;
	struct syscall_opts o;
	struct syscall_sink f;
	uint32_t last = 0;

	open_tally(&tally, SYSCALLS_BY_PATH, &o, &f);
	memset(path, 'x', LONG);
	for (unsigned i = 0; i < SYSCALL_FILE_BYTES_MAX / LONG + 100; i++) {
		path[0] = '/';
		snprintf(path + 1, 16, "%015u", i);
		path[16] = '/';
		last = syscall_files_path(&f.files, 7, 3, path, LONG);
	}
	CHECK(f.files.is_full && f.files.name_bytes <= SYSCALL_FILE_BYTES_MAX + 100);
	CHECK_STR(syscalls_text(&tally, last), "[others]");
	snprintf(path + 1, 16, "%015u", 5);
	path[16] = '/';
	last = syscall_files_path(&f.files, 7, 3, path, LONG);
	CHECK(strncmp(syscalls_text(&tally, last), path, 20) == 0);
	syscall_sink_fini(&f);
	syscalls_fini(&tally);
}

int main(void)
{
	TAP_CASE(test_descriptors);
	TAP_CASE(test_paths);
	return tap_done();
}
