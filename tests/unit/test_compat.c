/* SPDX-License-Identifier: MIT */
/* What the headers here have, before compat.h replaces it. */
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#define BOTH(x) header_##x = x

enum {
	header_none,
#ifdef SYS_pidfd_getfd
	BOTH(SYS_pidfd_send_signal),
	BOTH(SYS_open_tree),
	BOTH(SYS_move_mount),
	BOTH(SYS_fsopen),
	BOTH(SYS_fsconfig),
	BOTH(SYS_fsmount),
	BOTH(SYS_fspick),
	BOTH(SYS_pidfd_open),
	BOTH(SYS_openat2),
	BOTH(SYS_pidfd_getfd),
#define HAS_NUMBERS
#endif
#ifdef SYS_quotactl_fd
	BOTH(SYS_close_range),
	BOTH(SYS_faccessat2),
	BOTH(SYS_epoll_pwait2),
	BOTH(SYS_quotactl_fd),
	BOTH(MADV_POPULATE_READ),
	BOTH(MADV_POPULATE_WRITE),
	BOTH(FUTEX_LOCK_PI2),
	BOTH(PERF_RECORD_MISC_MMAP_BUILD_ID),
	BOTH(PERF_SAMPLE_DATA_PAGE_SIZE),
	BOTH(PERF_SAMPLE_CODE_PAGE_SIZE),
	BOTH(PERF_SAMPLE_WEIGHT_STRUCT),
	BOTH(PERF_COUNT_SW_CGROUP_SWITCHES),
#define HAS_NEWER
#endif
#ifdef FSOPEN_CLOEXEC
	BOTH(OPEN_TREE_CLONE),
	BOTH(MOVE_MOUNT_F_EMPTY_PATH),
	BOTH(FSOPEN_CLOEXEC),
	BOTH(FSPICK_CLOEXEC),
	BOTH(FSPICK_NO_AUTOMOUNT),
	BOTH(FSMOUNT_CLOEXEC),
	BOTH(FSCONFIG_CMD_CREATE),
	BOTH(FSCONFIG_CMD_RECONFIGURE),
	BOTH(MOUNT_ATTR_NOSUID),
	BOTH(MOUNT_ATTR_NODEV),
	BOTH(MOUNT_ATTR_NOEXEC),
#define HAS_MOUNT
#endif
};
#undef SYS_pidfd_send_signal
#undef SYS_open_tree
#undef SYS_move_mount
#undef SYS_fsopen
#undef SYS_fsconfig
#undef SYS_fsmount
#undef SYS_fspick
#undef SYS_pidfd_open
#undef SYS_close_range
#undef SYS_openat2
#undef SYS_faccessat2
#undef SYS_pidfd_getfd
#undef SYS_epoll_pwait2
#undef SYS_quotactl_fd
#undef OPEN_TREE_CLONE
#undef OPEN_TREE_CLOEXEC
#undef MOVE_MOUNT_F_EMPTY_PATH
#undef FSOPEN_CLOEXEC
#undef FSPICK_CLOEXEC
#undef FSPICK_NO_AUTOMOUNT
#undef FSMOUNT_CLOEXEC
#undef FSCONFIG_CMD_CREATE
#undef FSCONFIG_CMD_RECONFIGURE
#undef MOUNT_ATTR_NOSUID
#undef MOUNT_ATTR_NODEV
#undef MOUNT_ATTR_NOEXEC
#undef MADV_POPULATE_READ
#undef MADV_POPULATE_WRITE
#undef FUTEX_LOCK_PI2
#undef PERF_RECORD_MISC_MMAP_BUILD_ID
#define AUGER_FORCE_COMPAT
#include "base/compat/compat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "old_kernel.h"
#include "tap.h"

/* main() moves into a fresh folder. */

#define SAME(x) CHECK_INT(x, header_##x)

static void test_constants(void)
{
#ifdef HAS_NUMBERS
	SAME(SYS_pidfd_send_signal);
	SAME(SYS_open_tree);
	SAME(SYS_move_mount);
	SAME(SYS_fsopen);
	SAME(SYS_fsconfig);
	SAME(SYS_fsmount);
	SAME(SYS_fspick);
	SAME(SYS_pidfd_open);
	SAME(SYS_openat2);
	SAME(SYS_pidfd_getfd);
#endif
#ifdef HAS_NEWER
	SAME(SYS_close_range);
	SAME(SYS_faccessat2);
	SAME(SYS_epoll_pwait2);
	SAME(SYS_quotactl_fd);
	SAME(MADV_POPULATE_READ);
	SAME(MADV_POPULATE_WRITE);
	SAME(FUTEX_LOCK_PI2);
	SAME(PERF_RECORD_MISC_MMAP_BUILD_ID);
	SAME(PERF_SAMPLE_DATA_PAGE_SIZE);
	SAME(PERF_SAMPLE_CODE_PAGE_SIZE);
	SAME(PERF_SAMPLE_WEIGHT_STRUCT);
	SAME(PERF_COUNT_SW_CGROUP_SWITCHES);
#endif
#ifdef HAS_MOUNT
	SAME(OPEN_TREE_CLONE);
	SAME(MOVE_MOUNT_F_EMPTY_PATH);
	SAME(FSOPEN_CLOEXEC);
	SAME(FSPICK_CLOEXEC);
	SAME(FSPICK_NO_AUTOMOUNT);
	SAME(FSMOUNT_CLOEXEC);
	SAME(FSCONFIG_CMD_CREATE);
	SAME(FSCONFIG_CMD_RECONFIGURE);
	SAME(MOUNT_ATTR_NOSUID);
	SAME(MOUNT_ATTR_NODEV);
	SAME(MOUNT_ATTR_NOEXEC);
#endif
#if !defined HAS_NUMBERS && !defined HAS_MOUNT
	SKIP("the headers here have none of them");
#endif
}

static void test_names(void)
{
#if __GLIBC_PREREQ(2, 32)
	for (int i = 0; i < 256; i++) {
		CHECK_STR(compat_error_name(i), strerrorname_np(i));
		CHECK_STR(compat_signal_name(i), sigabbrev_np(i));
	}
#endif
	CHECK_STR(compat_error_name(ENOENT), "ENOENT");
	CHECK_STR(compat_signal_name(SIGSEGV), "SEGV");
	CHECK(!compat_error_name(-1) && !compat_error_name(INT_MAX));
	CHECK(!compat_signal_name(-1) && !compat_signal_name(INT_MAX));
}

static void test_deadlines(void)
{
	const int64_t wait_ns = NS_PER_S / 100;
	int64_t start_ns = clock_mono_ns(), until_ns = start_ns + wait_ns;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t wake;
	sem_t s;

	compat_cond_init(&wake);
	pthread_mutex_lock(&lock);
	while (pthread_cond_timedwait(&wake, &lock, &until) == 0)
		;
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&wake);
	CHECK(clock_mono_ns() - start_ns >= wait_ns);

	sem_init(&s, 0, 1);
	start_ns = clock_mono_ns();
	CHECK_INT(compat_sem_wait_until(&s, start_ns + wait_ns), 0);
	CHECK_INT(compat_sem_wait_until(&s, start_ns + wait_ns), -1);
	CHECK_INT(errno, ETIMEDOUT);
	CHECK(clock_mono_ns() - start_ns >= wait_ns - NS_PER_S / 1000); /* two clocks */
	sem_destroy(&s);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void check_close_range(void)
{
	int fds[3];

	for (int i = 0; i < 3; i++)
		fds[i] = fcntl(STDOUT_FILENO, F_DUPFD, 1000);
	for (int fd = 2000; fd < 2600; fd++)
		CHECK_INT(dup2(STDOUT_FILENO, fd), fd);
	compat_close_range(1001, 1001);
	CHECK(is_open(fds[0]) && !is_open(fds[1]) && is_open(fds[2]));
	compat_close_range(1001, 1000);
	CHECK(is_open(fds[0]) && is_open(fds[2]));
	compat_close_range(1000, UINT_MAX);
	CHECK(!is_open(fds[0]) && !is_open(fds[2]) && is_open(STDERR_FILENO));
	for (int fd = 2000; fd < 2600; fd++)
		CHECK(!is_open(fd));
}

/* 0, or the errno; path is below the folder. */
static int try_open(const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
				.mode = flags & O_CREAT ? 0600 : 0,
				.resolve = RESOLVE_NO_SYMLINKS | resolve };
	int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = compat_openat2(dir, path, &how), error = errno;

	close(dir);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : error;
}

static void check_openat2(void)
{
	static const struct {
		const char *path;
		int flags;
		uint64_t resolve;
		int error;
	} rows[] = {
		{ "sub/file", O_RDONLY, 0, 0 },
		{ ".", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH, 0 },
		{ "sub//file", O_RDONLY, RESOLVE_BENEATH, 0 },
		{ "sub/none", O_RDONLY, 0, ENOENT },
		{ "sub/new", O_RDWR | O_CREAT | O_EXCL, RESOLVE_BENEATH, 0 },
		{ "sub/file/x", O_RDONLY, 0, ENOTDIR },
		{ "link/file", O_RDONLY, 0, ELOOP },
		{ "sub/to_file", O_RDONLY, 0, ELOOP },
		{ "sub/to_file", O_PATH, 0, ELOOP },
		{ "sub/to_file", O_PATH | O_NOFOLLOW, 0, 0 },
		{ "../x", O_RDONLY, RESOLVE_BENEATH, EXDEV },
		{ "/", O_RDONLY, RESOLVE_BENEATH, EXDEV },
		{ "sub/file", O_RDONLY, RESOLVE_NO_XDEV, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK_INT(try_open(rows[i].path, rows[i].flags, rows[i].resolve),
			       rows[i].error))
			fprintf(stderr, "path %s\n", rows[i].path);
	unlink("sub/new");
}

static void check_long_path(void)
{
	char path[3 * PATH_MAX] = "";

	for (int i = 0; i < PATH_MAX; i++)
		memcpy(path + 2 * i, "./", 3);
	memcpy(path + 2 * PATH_MAX, "sub/file", 9);
	CHECK_INT(try_open(path, O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_XDEV), 0);
	memset(path, 'x', NAME_MAX + 1);
	path[NAME_MAX + 1] = '\0';
	CHECK_INT(try_open(path, O_RDONLY, 0), ENAMETOOLONG);
}

static void check_no_xdev(void)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	CHECK_INT(compat_openat2(root, "proc/self/stat", &how), -1);
	CHECK(errno == EXDEV || errno == ELOOP);
	CHECK_INT(compat_openat2(root, "proc/version", &how), -1);
	CHECK_INT(errno, EXDEV);
	close(root);
}

static int wait_end(int fd, int ms)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };

	return poll(&end, 1, ms);
}

static void check_pidfd(void)
{
	pid_t child = fork();
	int fd, status;

	if (child == 0)
		for (;;)
			pause();
	fd = compat_pidfd_open(child);
	if (!CHECK(fd >= 0)) {
		kill(child, SIGKILL);
	} else {
		CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		CHECK_INT(wait_end(fd, 50), 0);
		CHECK_INT(compat_pidfd_kill(fd, child, SIGTERM), 0);
		CHECK_INT(wait_end(fd, 10000), 1); /* before it is waited for */
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(compat_pidfd_kill(fd, child, SIGTERM), -1);
	CHECK_INT(errno, ESRCH);
	close(fd);
	CHECK_INT(compat_pidfd_open(child), -1);
	CHECK_INT(errno, ESRCH);
	fd = compat_pidfd_open(getpid());
	CHECK(fd >= 0);
	close(fd); /* nobody reads: the thread ends */
}

/* Of the file-system calls of that user: the path itself is looked up as root. */
static int access_code(uid_t user, const char *path, int wanted)
{
	int fd = open(path, O_PATH | O_CLOEXEC), error;
	struct stat st;

	if (!CHECK(fd >= 0) || !CHECK_INT(fstat(fd, &st), 0))
		return -1;
	setfsgid(user);
	setfsuid(user);
	error = compat_access(fd, &st, wanted) < 0 ? errno : 0;
	setfsuid(0);
	setfsgid(0);
	close(fd);
	return error;
}

static void check_access(void)
{
	if (geteuid() != 0)
		return;
	umask(022);
	CHECK_INT(mkdir("searched", 0711), 0);
	CHECK_INT(mkdir("read", 0744), 0);
	close(open("closed", O_CREAT | O_CLOEXEC, 0700));
	close(open("run", O_CREAT | O_CLOEXEC, 0755));
	close(open("plain", O_CREAT | O_CLOEXEC, 0644));
	CHECK_INT(access_code(1, "searched", X_OK), 0);
	CHECK_INT(access_code(1, "searched", R_OK), EACCES);
	CHECK_INT(access_code(1, "read", R_OK), 0);
	CHECK_INT(access_code(1, "read", R_OK | X_OK), EACCES);
	CHECK_INT(access_code(1, "closed", R_OK), EACCES);
	CHECK_INT(access_code(1, "closed", X_OK), EACCES);
	CHECK_INT(access_code(1, "run", R_OK | X_OK), 0);
	CHECK_INT(access_code(1, "plain", R_OK), 0);
	CHECK_INT(access_code(1, "plain", X_OK), EACCES);
	CHECK_INT(access_code(1, "plain", W_OK), EACCES);
	CHECK_INT(access_code(0, "closed", R_OK), 0);
	unlink("closed");
	unlink("run");
	unlink("plain");
	rmdir("searched");
	rmdir("read");
}

static void check_all(void)
{
	check_access();
	check_close_range();
	check_openat2();
	check_long_path();
	check_no_xdev();
	check_pidfd();
}

/* In a process of its own: a filter stays for good. */
static void check_without(unsigned error)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		tap.is_failed = false;
		if (CHECK_INT(old_kernel_enter(error), 0)) {
			CHECK_INT(syscall(SYS_openat2, -1, "", NULL, 0), -1);
			CHECK_INT(errno, error);
			check_all();
		}
		_exit(tap.is_failed);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

static void test_kernel_of_here(void)
{
	check_all();
}

static void test_old_kernel(void)
{
	check_without(ENOSYS);
}

static void test_old_container(void)
{
	check_without(EPERM);
}

int main(void)
{
	char folder[] = "/tmp/test_compat.XXXXXX", command[64];
	int rc;

	if (!mkdtemp(folder) || chdir(folder) < 0 || mkdir("sub", 0700) < 0 ||
	    symlink("sub", "link") < 0 || symlink("file", "sub/to_file") < 0)
		return 1;
	close(open("sub/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	TAP_CASE(test_constants);
	TAP_CASE(test_names);
	TAP_CASE(test_deadlines);
	TAP_CASE(test_kernel_of_here);
	TAP_CASE(test_old_kernel);
	TAP_CASE(test_old_container);
	rc = tap_done();
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command) == 0 ? rc : 1;
}
