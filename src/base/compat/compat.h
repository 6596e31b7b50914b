/* SPDX-License-Identifier: MIT */
/*
 * compat: what auger uses and glibc 2.28, the kernel headers of Linux 5.10 (Debian 11) or a running
 * Linux 4.18 lack. The version that has each is beside it.
 *
 * A library function is not chosen by version: one that works from glibc 2.28 on is called
 * everywhere. A system call that the kernel refuses with ENOSYS, or with EPERM as old seccomp
 * profiles of container runtimes do, is replaced at run time. Constants that headers lack are
 * defined here; each has the value of the kernel's binary interface.
 *
 * Include it after the system's headers, also those that headers of auger include: some of what it
 * defines is an enumerator in newer ones.
 */
#ifndef BASE_COMPAT_H
#define BASE_COMPAT_H

#include <linux/openat2.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "base/macros.h"
#ifndef AUGER_FORCE_COMPAT
#include "base/compat/compat_config.h"
#endif

/* Instead of pthread_cond_clockwait (glibc 2.30): pthread_cond_timedwait() on this condition
 * variable takes a time of CLOCK_MONOTONIC. */
void compat_cond_init(pthread_cond_t *c);

/* Instead of sem_clockwait with CLOCK_MONOTONIC (glibc 2.30). 0, or -1 and errno: ETIMEDOUT, EINTR.
 * It waits by CLOCK_REALTIME: a clock that is set meanwhile moves the deadline. */
int compat_sem_wait_until(sem_t *s, int64_t until_ns);

/* Instead of sigabbrev_np (glibc 2.32): "SEGV"; NULL: no standard signal. */
const char *compat_signal_name(int signal);

/* Instead of strerrorname_np (glibc 2.32): "ENOENT"; "0" for 0; NULL: no error of Linux. */
const char *compat_error_name(int error);

/* close_range (Linux 5.9, glibc 2.34): closes the descriptors first to last, both included; those
 * that are open in /proc/self/fd where the kernel has no such call. */
void compat_close_range(unsigned first, unsigned last);

/*
 * openat2 (Linux 5.6) with RESOLVE_NO_SYMLINKS, which how->resolve must have, and paths of any
 * length. A descriptor, or -1 and errno. Where the kernel has no such call, or the path is longer
 * than it takes, the path is opened component by component; then ".." and a leading '/' are
 * refused with EXDEV when RESOLVE_BENEATH is set, and RESOLVE_NO_XDEV means st_dev, so a bind mount
 * of the same file system passes.
 */
int compat_openat2(int dir, const char *path, const struct open_how *how) MUST_CHECK;

/*
 * faccessat2 (Linux 5.8) of an O_PATH descriptor with AT_EACCESS: may this thread's file-system
 * user read, write or run it, or search it (wanted: of access(2))? 0, or -1 and errno. Where the
 * kernel has no such call, it is opened for reading, or the folder is searched: then what cannot be
 * read cannot be run, and nothing may be written (EACCES).
 */
struct stat;
int compat_access(int fd, const struct stat *attr, int wanted) MUST_CHECK;

/*
 * pidfd_open (Linux 5.3): a descriptor that is readable, or at its end, when the process has ended;
 * -1 and errno. Where the kernel has no such call it is a pipe, whose other end a thread closes at
 * most 20 ms after the process became a zombie.
 */
int compat_pidfd_open(pid_t pid) MUST_CHECK;

/* pidfd_send_signal (Linux 5.1) by what compat_pidfd_open(pid) returned; else kill(2). 0, or -1 and
 * errno. */
int compat_pidfd_kill(int pidfd, pid_t pid, int signal);

/* PTRACE_GET_SYSCALL_INFO (Linux 5.3) of a thread that is stopped at the entry (or by seccomp
 * there) or the exit of a call; where the kernel has none, from its registers and is_inside: its
 * last stop was an entry. 0, or -1. */
struct __ptrace_syscall_info;
int compat_syscall_info(pid_t tid, bool is_inside, struct __ptrace_syscall_info *ret) MUST_CHECK;

/* The number of the call at whose exit a thread is stopped. */
uint32_t compat_syscall_number(pid_t tid);

/* System calls without functions in glibc 2.28. The numbers are the same on all architectures. */
#ifndef SYS_pidfd_send_signal /* Linux 5.1 */
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_open_tree /* this and the next five: Linux 5.2, glibc 2.36 */
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_fsopen
#define SYS_fsopen 430
#endif
#ifndef SYS_fsconfig
#define SYS_fsconfig 431
#endif
#ifndef SYS_fsmount
#define SYS_fsmount 432
#endif
#ifndef SYS_fspick
#define SYS_fspick 433
#endif
#ifndef SYS_pidfd_open /* Linux 5.3 */
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range /* Linux 5.9 */
#define SYS_close_range 436
#endif
#ifndef SYS_openat2 /* Linux 5.6 */
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2 /* Linux 5.8 */
#define SYS_faccessat2 439
#endif
#ifndef SYS_pidfd_getfd /* Linux 5.6 */
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_epoll_pwait2 /* Linux 5.11 */
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_quotactl_fd /* Linux 5.14 */
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_cachestat /* Linux 6.5 */
#define SYS_cachestat 451
#endif

/* <sys/mount.h> has them since glibc 2.36. Source: linux/mount.h, fcntl.h. */
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 0x00000004
#endif
#ifndef MOVE_MOUNT_BENEATH /* Linux 6.5 */
#define MOVE_MOUNT_BENEATH 0x00000200
#endif
#ifndef MOVE_MOUNT_T_EMPTY_PATH
#define MOVE_MOUNT_T_EMPTY_PATH 0x00000040
#endif
#ifndef FSOPEN_CLOEXEC
#define FSOPEN_CLOEXEC 0x00000001
#endif
#ifndef FSPICK_CLOEXEC
#define FSPICK_CLOEXEC 0x00000001
#define FSPICK_NO_AUTOMOUNT 0x00000004
#endif
#ifndef FSMOUNT_CLOEXEC
#define FSMOUNT_CLOEXEC 0x00000001
#endif
#ifndef FSCONFIG_CMD_CREATE
#define FSCONFIG_CMD_CREATE 6
#define FSCONFIG_CMD_RECONFIGURE 7
#endif
#ifndef MOUNT_ATTR_NOSUID
#define MOUNT_ATTR_NOSUID 0x00000002
#define MOUNT_ATTR_NODEV 0x00000004
#define MOUNT_ATTR_NOEXEC 0x00000008
#endif

#ifndef RESOLVE_CACHED /* Linux 5.12. Source: linux/openat2.h */
#define RESOLVE_CACHED 0x20
#endif

/* Source: asm-generic/mman-common.h */
#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE /* Linux 6.1 */
#define MADV_COLLAPSE 25
#endif
#ifndef FUTEX_LOCK_PI2 /* Linux 5.14. Source: linux/futex.h */
#define FUTEX_LOCK_PI2 13
#endif

/* Source: linux/perf_event.h */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID /* Linux 5.12 */
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif
#ifndef HAVE_PERF_SAMPLE_DATA_PAGE_SIZE /* Linux 5.11 */
#define PERF_SAMPLE_DATA_PAGE_SIZE (1U << 22)
#endif
#ifndef HAVE_PERF_SAMPLE_CODE_PAGE_SIZE /* Linux 5.11 */
#define PERF_SAMPLE_CODE_PAGE_SIZE (1U << 23)
#endif
#ifndef HAVE_PERF_SAMPLE_WEIGHT_STRUCT /* Linux 5.12 */
#define PERF_SAMPLE_WEIGHT_STRUCT (1U << 24)
#endif
#ifndef HAVE_PERF_COUNT_SW_CGROUP_SWITCHES /* Linux 5.13 */
#define PERF_COUNT_SW_CGROUP_SWITCHES 11
#endif

#endif
