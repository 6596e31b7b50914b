/* SPDX-License-Identifier: MIT */
/* Checks of the rest of the kernel, and of debug files. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/elf_image.h"
#include "base/privilege.h"
#include "doctor/checks.h"
#include "sample/bpf.h"
#include "sample/python/walker.h"
#include "symbol/elf/debuginfod.h"
#include "symbol/elf/disasm.h"
#include "target/cgroup.h"
#include "target/exit_events.h"
#include "target/preload.h"

#define MANY_FILES 4096 /* a thread recorded on many CPUs needs two a CPU */

static int find_libc(struct dl_phdr_info *info, size_t size, void *ret_path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	snprintf((char *)ret_path, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

/* The path of its debug file by build id. false: no build id. */
static bool debug_path(const struct elf_image *image, char ret[256])
{
	char hex[ELF_BUILD_ID_HEX];

	if (!elf_build_id(image, hex))
		return false;
	snprintf(ret, 256, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	return true;
}

void doctor_debug_symbols(struct doctor_finding *f)
{
	char path[PATH_MAX] = "", debug[256] = "";
	struct elf_image image;
	struct elf_section section;
	struct err e;

	dl_iterate_phdr(find_libc, path);
	if (!path[0] || elf_image_open(&image, path, &e) < 0) {
		doctor_report(f, DOCTOR_PARTLY, "", "no libc.so: linked statically");
		return;
	}
	if (elf_find_section(&image, ".symtab", &section))
		doctor_report(f, DOCTOR_WORKS, "", "%s has its own symbols", path);
	else if (debug_path(&image, debug) && access(debug, R_OK) == 0)
		doctor_report(f, DOCTOR_WORKS, "", "those of %s are in %s", path, debug);
	else
		doctor_report(
			f, DOCTOR_PARTLY,
			"'apt-get install libc6-dbg' on Debian; -dbgsym or -debuginfo packages "
			"for others",
			"%s is stripped, and %s does not exist", path,
			debug[0] ? debug : "a debug file");
	elf_image_close(&image);
}

void doctor_debuginfod(struct doctor_finding *f)
{
	const char *urls = debuginfod_urls();
	struct err e;
	int rc = debuginfod_load(&e);

	if (rc == -ENOMEM)
		f->bad = true;
	else if (rc < 0)
		doctor_report(f, DOCTOR_FAILS,
			      "'apt-get install libdebuginfod1', or elfutils-debuginfod-client",
			      "%s", e.msg);
	else if (!urls)
		doctor_report(f, DOCTOR_PARTLY,
			      "DEBUGINFOD_URLS=https://debuginfod.debian.net, or the server of "
			      "your distribution",
			      "DEBUGINFOD_URLS names no server: nothing is fetched");
	else
		doctor_report(f, DOCTOR_WORKS, "", "libdebuginfod asks %s", urls);
}

void doctor_disassembler(struct doctor_finding *f)
{
	static const unsigned char nop[] = { 0x90 };
	CLEANUP(insns_fini) struct insns insns = { 0 };
	struct err e;
	int rc = disassemble(&insns, EM_X86_64, nop, sizeof nop, 0, &e);

	if (rc == -ENOMEM)
		f->bad = true;
	else if (rc < 0)
		doctor_report(f, DOCTOR_FAILS,
			      "'apt-get install libcapstone4'; to build, also libcapstone-dev",
			      "%s", e.msg);
	else
		doctor_report(f, DOCTOR_WORKS, "", "capstone decodes x86-64 and aarch64");
}

void doctor_accounting(struct doctor_finding *f)
{
	char io[512], schedstat[64];
	bool has_io = doctor_read("/proc/self/io", io, sizeof io) && strstr(io, "read_bytes:");
	bool has_waits = doctor_read("/proc/self/schedstat", schedstat, sizeof schedstat) &&
			 strncmp(schedstat, "0 0 0", 5) != 0;

	if (has_io && has_waits)
		doctor_report(f, DOCTOR_WORKS, "", "bytes read and written, waits for a CPU");
	else if (has_io)
		doctor_report(f, DOCTOR_PARTLY,
			      "a kernel with CONFIG_SCHED_INFO (by CONFIG_TASK_DELAY_ACCT)",
			      "bytes read and written, but no waits for a CPU");
	else
		doctor_report(f, has_waits ? DOCTOR_PARTLY : DOCTOR_FAILS,
			      "a kernel with CONFIG_TASK_IO_ACCOUNTING and CONFIG_TASK_DELAY_ACCT",
			      "no bytes read and written%s",
			      has_waits ? "" : ", and no waits for a CPU");
}

/* Does the kernel report the exit of a child, with its pid? */
static bool receives_child_exit(struct exit_events *x)
{
	struct exit_record r;
	pid_t child = fork();
	bool is_told = false;

	if (child == 0)
		_exit(0);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	while (exit_events_next(x, &r))
		is_told |= r.pid == child;
	return is_told;
}

void doctor_process_exits(struct doctor_finding *f)
{
	struct exit_events x;
	struct err e;
	int rc = exit_events_open(&x, &e);

	if (rc == 0 && receives_child_exit(&x))
		doctor_report(f, DOCTOR_WORKS, "",
			      "the kernel reports the usage of each process at its end");
	else if (rc == 0)
		doctor_report(f, DOCTOR_PARTLY, "a kernel of 5.19 or later",
			      "processes are scanned: those of some milliseconds are missed");
	else
		doctor_report(
			f, DOCTOR_PARTLY,
			"root, outside of containers; a kernel with CONFIG_TASKSTATS and CONFIG_TASK_XACCT",
			"processes are scanned: those of some milliseconds are missed");
	exit_events_close(&x);
}

void doctor_pressure(struct doctor_finding *f)
{
	char text[256];

	if (doctor_read("/proc/pressure/cpu", text, sizeof text) && strstr(text, "some "))
		doctor_report(f, DOCTOR_WORKS, "", "/proc/pressure has CPU, memory and I/O");
	else
		doctor_report(f, DOCTOR_FAILS,
			      "boot with psi=1; a kernel with CONFIG_PSI (4.20 and later)",
			      "/proc/pressure/cpu: %s", strerror(errno));
}

void doctor_cgroups(struct doctor_finding *f)
{
	struct cgroup_usage usage;
	struct cgroup c;
	struct err e;

	if (cgroup_find("self", &c, &e) < 0) {
		f->bad = true;
		return;
	}
	cgroup_read(&c, &usage);
	if (usage.memory_peak.has_value && usage.throttled_count.has_value)
		doctor_report(f, DOCTOR_WORKS, "",
			      "peak memory by version %d, throttling by version %d",
			      c.memory[0] ? 1 : 2, c.cpu[0] ? 1 : 2);
	else if (!c.unified[0] && !c.memory[0] && !c.cpu[0])
		doctor_report(f, DOCTOR_FAILS, "'mount -t cgroup2 none /sys/fs/cgroup'",
			      "no control groups are mounted");
	else
		doctor_report(f, DOCTOR_PARTLY,
			      "run in a group with the cpu and memory controllers, as "
			      "'systemd-run --scope' makes; memory.peak needs kernel 5.19",
			      "of our group %s not known",
			      usage.memory_peak.has_value       ? "throttling is"
			      : usage.throttled_count.has_value ? "peak memory is"
								: "peak memory and throttling are");
}

void doctor_open_files(struct doctor_finding *f)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		doctor_report(f, DOCTOR_FAILS, "", "the limit is not known: %s", strerror(errno));
	else if (limit.rlim_max < MANY_FILES)
		doctor_report(f, DOCTOR_PARTLY, "raise 'ulimit -Hn', or LimitNOFILE of the service",
			      "at most %llu may be open", (unsigned long long)limit.rlim_max);
	else
		doctor_report(f, DOCTOR_WORKS, "", "%llu may be open",
			      (unsigned long long)limit.rlim_max);
}

static int attach(pid_t target)
{
	return ptrace(PTRACE_SEIZE, target, NULL, NULL) < 0 ? errno : 0;
}

int doctor_try_sibling(int (*call)(pid_t target))
{
	pid_t target = fork(), tracer;
	int status = 0;

	if (target == 0) {
		pause();
		_exit(0);
	}
	tracer = target < 0 ? -1 : fork();
	if (tracer == 0)
		_exit(call(target));
	if (tracer > 0)
		waitpid(tracer, &status, 0);
	if (target > 0) {
		kill(target, SIGKILL);
		waitpid(target, NULL, 0);
	}
	return tracer < 0 ? ENOMEM : WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int attach_to_sibling(void)
{
	return doctor_try_sibling(attach);
}

void doctor_ptrace(struct doctor_finding *f)
{
	int rc = doctor_run_child(attach_to_sibling);
	char scope[16] = "";

	if (rc == 0) {
		doctor_report(f, DOCTOR_WORKS, "",
			      "attaching to processes that are not our children");
		return;
	}
	if (doctor_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) &&
	    scope[0] != '0') {
		scope[strcspn(scope, "\n")] = '\0';
		doctor_report(f, scope[0] == '1' ? DOCTOR_PARTLY : DOCTOR_FAILS,
			      "root, CAP_SYS_PTRACE, or 'sysctl kernel.yama.ptrace_scope=0'",
			      "kernel.yama.ptrace_scope is %s: only %s can be traced", scope,
			      scope[0] == '1' ? "our own children" : "what root chooses");
		return;
	}
	doctor_report(
		f, DOCTOR_FAILS, "CAP_SYS_PTRACE, e.g. 'docker run --cap-add SYS_PTRACE'", "%s: %s",
		privilege_is_filtered(SYS_ptrace) ? "a seccomp filter refuses ptrace(2)" : "ptrace",
		rc == 255 ? "no answer" : strerror(rc));
}

void doctor_heap(struct doctor_finding *f)
{
	char path[PATH_MAX];

	if (preload_find("libauger-heap.so", path))
		doctor_report(f, DOCTOR_WORKS, "", "%s", path);
	else
		doctor_report(f, DOCTOR_FAILS,
			      "'meson install', or a prefix without blanks and colons",
			      "libauger-heap.so is not where it can be preloaded from");
}

void doctor_bpf(struct doctor_finding *f)
{
	struct err e;
	int rc = bpf_probe(&e);

	if (rc == -ENOMEM)
		f->bad = true;
	else if (rc < 0)
		doctor_report_failure(f, &e);
	else
		doctor_report(f, DOCTOR_WORKS, "", "programs load and attach to the scheduler");
}

void doctor_python(struct doctor_finding *f)
{
	struct walker *w = NULL;
	struct err e;
	int rc = walker_new(NULL, &w, &e);

	if (rc == 0)
		rc = walker_start(w, NULL, &e);
	walker_free(w);
	if (rc == -ENOMEM) {
		f->bad = true;
	} else if (rc < 0) {
		doctor_report_failure(f, &e);
		f->state = DOCTOR_PARTLY; /* its frames are read from memory */
	} else {
		doctor_report(f, DOCTOR_WORKS, "", "frames are read at each sample, by BPF");
	}
}

/* Mounts in a mount namespace of its own. 0 or errno. */
static int mount_fuse(void)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];

	if (fd < 0)
		return errno;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0)
		return errno;
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd,
		 (unsigned)getuid(), (unsigned)getgid());
	return mount("auger", "/proc", "fuse", MS_NOSUID | MS_NODEV, options) < 0 ? errno : 0;
}

void doctor_fuse(struct doctor_finding *f)
{
	int rc = doctor_run_child(mount_fuse);
	bool has_helper = doctor_has_program("fusermount3");

	if (rc == 0)
		doctor_report(f, DOCTOR_WORKS, "", "mounting by ourselves%s",
			      has_helper ? "" : "; other users lack fusermount3");
	else if (access("/dev/fuse", R_OK | W_OK) < 0 && errno == EACCES)
		doctor_report(f, DOCTOR_FAILS, "root, or 'chmod 666 /dev/fuse'",
			      "/dev/fuse cannot be opened");
	else if (access("/dev/fuse", F_OK) < 0)
		doctor_report(f, DOCTOR_FAILS,
			      "'modprobe fuse'; in a container 'docker run --device /dev/fuse "
			      "--cap-add SYS_ADMIN'",
			      "/dev/fuse: %s", strerror(errno));
	else if (has_helper)
		doctor_report(f, DOCTOR_WORKS, "", "mounting by fusermount3");
	else
		doctor_report(f, DOCTOR_FAILS, "'apt-get install fuse3', or root",
			      "mounting is not permitted (%s), and fusermount3 is not installed",
			      strerror(rc));
}
