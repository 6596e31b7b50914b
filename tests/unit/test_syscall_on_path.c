/* SPDX-License-Identifier: MIT */
#include "syscalls/on_path.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "tap.h"

#define PID 7

static bool is_on_path(struct syscall_on_path *o, struct syscall_files *files, const char *path)
{
	struct syscall c = { .pid = PID, .nr = SYS_openat, .has_start = true, .memory_count = 1 };

	c.args[0] = (uint64_t)AT_FDCWD;
	c.memory[0] =
		(struct syscall_memory){ .arg = 1, .len = (uint16_t)strlen(path), .bytes = path };
	return syscall_is_on_path(o, files, &c);
}

static bool is_fd_on_path(struct syscall_on_path *o, struct syscall_files *files, int fd)
{
	struct syscall c = { .pid = PID, .nr = SYS_read, .has_start = true };

	c.args[0] = (uint64_t)fd;
	return syscall_is_on_path(o, files, &c);
}

static void test_paths_and_descriptors(void)
{
	static const struct {
		const char *path;
		bool is_wanted;
	} rows[] = {
		{ "/no/such/file", true },
		{ "/no/such/file/", true },
		{ "//no/./such/x/../file", true },
		{ "/../no/such/file", true },
		{ "/no/such/file/x", false },
		{ "/no/such", false },
		{ "/no/such/files", false },
		{ "no/such/file", false },
		{ "", false },
		{ "/", false },
	};
	struct syscall_files files = { .strings = strtab_new(), .skips_proc = true };
	struct syscall_on_path o = { 0 };

	if (!CHECK(files.strings) || !CHECK_INT(strtab_intern(files.strings, "", 0), 0))
		return;
	syscall_on_path_add(&o, &files, "/no//such/./file");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(is_on_path(&o, &files, rows[i].path), rows[i].is_wanted);
	syscall_files_set_fd(&files, PID, 3, "/no/such/file", strlen("/no/such/file"));
	CHECK(is_fd_on_path(&o, &files, 3));
	CHECK(!is_fd_on_path(&o, &files, 4));
	CHECK(!is_fd_on_path(&o, &files, -1));
	CHECK(!files.bad);
	syscall_on_path_fini(&o);
	syscall_files_fini(&files);
	strtab_free(files.strings);
}

int main(void)
{
	TAP_CASE(test_paths_and_descriptors);
	return tap_done();
}
