/* SPDX-License-Identifier: MIT */
#include "syscalls/flags.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compat/compat.h"

struct flag {
	uint64_t value;
	const char *name;
};

/* A set of bits, and a choice of one value in the bits of mask. */
struct flags {
	enum syscall_arg kind;
	uint64_t mask;                     /* of the choice; 0: none */
	const struct flag *choices, *bits; /* end with a NULL name; NULL: none */
	const char *zero;                  /* the empty set */
};

#define F(name)                         \
	{                               \
		(uint64_t)(name), #name \
	}
#define END             \
	{               \
		0, NULL \
	}

/* clang-format off */
static const struct flag open_modes[] = { F(O_RDONLY), F(O_WRONLY), F(O_RDWR), END };
/* Names of several bits come before names of one of them. */
static const struct flag open_bits[] = {
	F(O_TMPFILE), F(O_SYNC), F(O_CREAT), F(O_EXCL), F(O_NOCTTY), F(O_TRUNC), F(O_APPEND), F(O_NONBLOCK),
	F(O_DSYNC), F(O_ASYNC), F(O_DIRECT), F(O_DIRECTORY), F(O_NOFOLLOW), F(O_NOATIME), F(O_CLOEXEC),
	F(O_PATH), { 0100000, "O_LARGEFILE" }, END };
static const struct flag at_bits[] = {
	F(AT_SYMLINK_NOFOLLOW), F(AT_REMOVEDIR), F(AT_SYMLINK_FOLLOW), F(AT_NO_AUTOMOUNT), F(AT_EMPTY_PATH),
	{ 0x2000, "AT_STATX_FORCE_SYNC" }, { 0x4000, "AT_STATX_DONT_SYNC" }, END };
static const struct flag prot_bits[] = {
	F(PROT_READ), F(PROT_WRITE), F(PROT_EXEC), F(PROT_GROWSDOWN), F(PROT_GROWSUP), END };
static const struct flag map_kinds[] = { F(MAP_SHARED), F(MAP_PRIVATE), F(MAP_SHARED_VALIDATE), END };
static const struct flag map_bits[] = {
	F(MAP_FIXED), F(MAP_ANONYMOUS), F(MAP_FIXED_NOREPLACE), F(MAP_GROWSDOWN), F(MAP_DENYWRITE),
	F(MAP_LOCKED), F(MAP_NORESERVE), F(MAP_POPULATE), F(MAP_NONBLOCK), F(MAP_STACK), F(MAP_HUGETLB),
	F(MAP_SYNC), END };
static const struct flag whences[] = {
	F(SEEK_SET), F(SEEK_CUR), F(SEEK_END), F(SEEK_DATA), F(SEEK_HOLE), END };
static const struct flag access_bits[] = { F(R_OK), F(W_OK), F(X_OK), END };
static const struct flag sigmask_hows[] = { F(SIG_BLOCK), F(SIG_UNBLOCK), F(SIG_SETMASK), END };
static const struct flag fcntls[] = {
	F(F_DUPFD), F(F_GETFD), F(F_SETFD), F(F_GETFL), F(F_SETFL), F(F_GETLK), F(F_SETLK), F(F_SETLKW),
	F(F_SETOWN), F(F_GETOWN), F(F_SETSIG), F(F_GETSIG), F(F_SETLEASE), F(F_GETLEASE), F(F_NOTIFY),
	F(F_DUPFD_CLOEXEC), F(F_SETPIPE_SZ), F(F_GETPIPE_SZ), F(F_ADD_SEALS), F(F_GET_SEALS),
	F(F_OFD_GETLK), F(F_OFD_SETLK), F(F_OFD_SETLKW), END };
static const struct flag ioctls[] = {
	F(TCGETS), F(TCSETS), F(TCSETSW), F(TCSETSF), F(TIOCGWINSZ), F(TIOCSWINSZ), F(TIOCGPGRP),
	F(TIOCSPGRP), F(TIOCSCTTY), F(TIOCNOTTY), F(TIOCGPTN), F(TIOCSPTLCK), F(FIONREAD), F(FIONBIO),
	F(FIOCLEX), F(FIONCLEX), F(FICLONE), F(FS_IOC_GETFLAGS), F(FS_IOC_FIEMAP), F(BLKGETSIZE64), END };
static const struct flag futex_ops[] = {
	F(FUTEX_WAIT), F(FUTEX_WAKE), F(FUTEX_FD), F(FUTEX_REQUEUE), F(FUTEX_CMP_REQUEUE), F(FUTEX_WAKE_OP),
	F(FUTEX_LOCK_PI), F(FUTEX_UNLOCK_PI), F(FUTEX_TRYLOCK_PI), F(FUTEX_WAIT_BITSET),
	F(FUTEX_WAKE_BITSET), F(FUTEX_WAIT_REQUEUE_PI), F(FUTEX_CMP_REQUEUE_PI), F(FUTEX_LOCK_PI2), END };
static const struct flag futex_bits[] = { F(FUTEX_PRIVATE_FLAG), F(FUTEX_CLOCK_REALTIME), END };
static const struct flag clone_bits[] = {
	F(CLONE_VM), F(CLONE_FS), F(CLONE_FILES), F(CLONE_SIGHAND), F(CLONE_PIDFD), F(CLONE_PTRACE),
	F(CLONE_VFORK), F(CLONE_PARENT), F(CLONE_THREAD), F(CLONE_NEWNS), F(CLONE_SYSVSEM), F(CLONE_SETTLS),
	F(CLONE_PARENT_SETTID), F(CLONE_CHILD_CLEARTID), F(CLONE_DETACHED), F(CLONE_UNTRACED),
	F(CLONE_CHILD_SETTID), F(CLONE_NEWCGROUP), F(CLONE_NEWUTS), F(CLONE_NEWIPC), F(CLONE_NEWUSER),
	F(CLONE_NEWPID), F(CLONE_NEWNET), F(CLONE_IO), END };
static const struct flag clone_signals[] = { { SIGCHLD, "SIGCHLD" }, { 0, "" }, END };
static const struct flag clocks[] = {
	F(CLOCK_REALTIME), F(CLOCK_MONOTONIC), F(CLOCK_PROCESS_CPUTIME_ID), F(CLOCK_THREAD_CPUTIME_ID),
	F(CLOCK_MONOTONIC_RAW), F(CLOCK_REALTIME_COARSE), F(CLOCK_MONOTONIC_COARSE), F(CLOCK_BOOTTIME),
	F(CLOCK_REALTIME_ALARM), F(CLOCK_BOOTTIME_ALARM), F(CLOCK_TAI), END };
static const struct flag families[] = {
	F(AF_UNSPEC), F(AF_UNIX), F(AF_INET), F(AF_INET6), F(AF_NETLINK), F(AF_PACKET), F(AF_VSOCK),
	F(AF_ALG), F(AF_BLUETOOTH), END };
static const struct flag sockets[] = {
	F(SOCK_STREAM), F(SOCK_DGRAM), F(SOCK_RAW), F(SOCK_RDM), F(SOCK_SEQPACKET), END };
static const struct flag socket_bits[] = { F(SOCK_CLOEXEC), F(SOCK_NONBLOCK), END };
static const struct flag msg_bits[] = {
	F(MSG_OOB), F(MSG_PEEK), F(MSG_DONTROUTE), F(MSG_CTRUNC), F(MSG_TRUNC), F(MSG_DONTWAIT), F(MSG_EOR),
	F(MSG_WAITALL), F(MSG_CONFIRM), F(MSG_ERRQUEUE), F(MSG_NOSIGNAL), F(MSG_MORE), F(MSG_WAITFORONE),
	F(MSG_FASTOPEN), F(MSG_CMSG_CLOEXEC), END };
static const struct flag shutdowns[] = { F(SHUT_RD), F(SHUT_WR), F(SHUT_RDWR), END };
static const struct flag wait_bits[] = {
	F(WNOHANG), F(WUNTRACED), F(WEXITED), F(WCONTINUED), F(WNOWAIT),
	{ 0x20000000, "__WNOTHREAD" }, { 0x40000000, "__WALL" }, { 0x80000000, "__WCLONE" }, END };
static const struct flag epoll_ops[] = { F(EPOLL_CTL_ADD), F(EPOLL_CTL_DEL), F(EPOLL_CTL_MOD), END };
static const struct flag prctls[] = {
	F(PR_SET_PDEATHSIG), F(PR_GET_PDEATHSIG), F(PR_GET_DUMPABLE), F(PR_SET_DUMPABLE), F(PR_SET_NAME),
	F(PR_GET_NAME), F(PR_GET_SECCOMP), F(PR_SET_SECCOMP), F(PR_CAPBSET_READ), F(PR_CAPBSET_DROP),
	F(PR_SET_TIMERSLACK), F(PR_SET_CHILD_SUBREAPER), F(PR_SET_NO_NEW_PRIVS), F(PR_GET_NO_NEW_PRIVS),
	F(PR_SET_THP_DISABLE), F(PR_CAP_AMBIENT), { 0x53564d41, "PR_SET_VMA" }, END };
static const struct flag resources[] = {
	F(RLIMIT_CPU), F(RLIMIT_FSIZE), F(RLIMIT_DATA), F(RLIMIT_STACK), F(RLIMIT_CORE), F(RLIMIT_RSS),
	F(RLIMIT_NPROC), F(RLIMIT_NOFILE), F(RLIMIT_MEMLOCK), F(RLIMIT_AS), F(RLIMIT_LOCKS),
	F(RLIMIT_SIGPENDING), F(RLIMIT_MSGQUEUE), F(RLIMIT_NICE), F(RLIMIT_RTPRIO), F(RLIMIT_RTTIME), END };
static const struct flag advices[] = {
	F(MADV_NORMAL), F(MADV_RANDOM), F(MADV_SEQUENTIAL), F(MADV_WILLNEED), F(MADV_DONTNEED), F(MADV_FREE),
	F(MADV_REMOVE), F(MADV_DONTFORK), F(MADV_DOFORK), F(MADV_MERGEABLE), F(MADV_UNMERGEABLE),
	F(MADV_HUGEPAGE), F(MADV_NOHUGEPAGE), F(MADV_DONTDUMP), F(MADV_DODUMP), F(MADV_WIPEONFORK),
	F(MADV_COLD), F(MADV_PAGEOUT), F(MADV_POPULATE_READ), F(MADV_POPULATE_WRITE), END };
static const struct flag random_bits[] = { F(GRND_NONBLOCK), F(GRND_RANDOM), END };

static const struct flag arch_ops[] = {
	{ 0x1001, "ARCH_SET_GS" }, { 0x1002, "ARCH_SET_FS" }, { 0x1003, "ARCH_GET_FS" },
	{ 0x1004, "ARCH_GET_GS" }, { 0x1011, "ARCH_GET_CPUID" }, { 0x1012, "ARCH_SET_CPUID" },
	{ 0x3001, "ARCH_CET_STATUS" }, { 0x5001, "ARCH_SHSTK_ENABLE" }, { 0x5002, "ARCH_SHSTK_DISABLE" },
	{ 0x5005, "ARCH_SHSTK_STATUS" }, END };
static const struct flag levels[] = {
	{ SOL_SOCKET, "SOL_SOCKET" }, { 0, "SOL_IP" }, { 6, "SOL_TCP" }, { 17, "SOL_UDP" }, { 41, "SOL_IPV6" },
	{ 263, "SOL_PACKET" }, { 270, "SOL_NETLINK" }, END };
static const struct flag socket_options[] = {
	F(SO_DEBUG), F(SO_REUSEADDR), F(SO_TYPE), F(SO_ERROR), F(SO_DONTROUTE), F(SO_BROADCAST), F(SO_SNDBUF),
	F(SO_RCVBUF), F(SO_KEEPALIVE), F(SO_OOBINLINE), F(SO_PRIORITY), F(SO_LINGER), F(SO_REUSEPORT),
	F(SO_PASSCRED), F(SO_PEERCRED), F(SO_RCVLOWAT), F(SO_SNDLOWAT), F(SO_RCVTIMEO), F(SO_SNDTIMEO),
	F(SO_BINDTODEVICE), F(SO_ATTACH_FILTER), F(SO_TIMESTAMP), F(SO_ACCEPTCONN), F(SO_PEERSEC),
	F(SO_SNDBUFFORCE), F(SO_RCVBUFFORCE), F(SO_MARK), F(SO_PROTOCOL), F(SO_DOMAIN), F(SO_PEERGROUPS),
	F(SO_ZEROCOPY), END };
static const struct flag tcp_options[] = {
	F(TCP_NODELAY), F(TCP_MAXSEG), F(TCP_CORK), F(TCP_KEEPIDLE), F(TCP_KEEPINTVL), F(TCP_KEEPCNT),
	F(TCP_SYNCNT), F(TCP_LINGER2), F(TCP_DEFER_ACCEPT), F(TCP_WINDOW_CLAMP), F(TCP_INFO), F(TCP_QUICKACK),
	F(TCP_CONGESTION), F(TCP_USER_TIMEOUT), F(TCP_FASTOPEN), F(TCP_ULP), END };
static const struct flag usage_of[] = { F(RUSAGE_SELF), { UINT32_MAX, "RUSAGE_CHILDREN" }, F(RUSAGE_THREAD), END };
static const struct flag lock_ops[] = { F(LOCK_SH), F(LOCK_EX), F(LOCK_UN), END };
static const struct flag lock_bits[] = { F(LOCK_NB), END };
static const struct flag locks[] = { F(F_RDLCK), F(F_WRLCK), F(F_UNLCK), END };
static const struct flag memfd_bits[] = { F(MFD_CLOEXEC), F(MFD_ALLOW_SEALING), F(MFD_HUGETLB), END };
static const struct flag remap_bits[] = {
	F(MREMAP_MAYMOVE), F(MREMAP_FIXED), { 4, "MREMAP_DONTUNMAP" }, END };
static const struct flag action_bits[] = {
	F(SA_NOCLDSTOP), F(SA_NOCLDWAIT), F(SA_SIGINFO), { 0x04000000, "SA_RESTORER" }, F(SA_ONSTACK),
	F(SA_RESTART), F(SA_NODEFER), { 0x80000000, "SA_RESETHAND" }, END };

static const struct flags kinds[] = {
	{ ARG_OPEN, O_ACCMODE, open_modes, open_bits, NULL },
	{ ARG_NEW_FD, 0, NULL, open_bits, "0" },
	{ ARG_AT, 0, NULL, at_bits, "0" },
	{ ARG_PROT, 0, NULL, prot_bits, "PROT_NONE" },
	{ ARG_MAP, MAP_TYPE, map_kinds, map_bits, NULL },
	{ ARG_WHENCE, UINT64_MAX, whences, NULL, NULL },
	{ ARG_ACCESS, 0, NULL, access_bits, "F_OK" },
	{ ARG_SIGMASK_HOW, UINT64_MAX, sigmask_hows, NULL, NULL },
	{ ARG_FCNTL, UINT64_MAX, fcntls, NULL, NULL },
	{ ARG_IOCTL, UINT64_MAX, ioctls, NULL, NULL },
	{ ARG_FUTEX, (uint64_t)FUTEX_CMD_MASK, futex_ops, futex_bits, NULL },
	{ ARG_CLONE, 0xff, clone_signals, clone_bits, "0" },
	{ ARG_CLOCK, UINT64_MAX, clocks, NULL, NULL },
	{ ARG_FAMILY, UINT64_MAX, families, NULL, NULL },
	{ ARG_SOCKET, 0xf, sockets, socket_bits, NULL },
	{ ARG_MSG, 0, NULL, msg_bits, "0" },
	{ ARG_SHUTDOWN, UINT64_MAX, shutdowns, NULL, NULL },
	{ ARG_WAIT, 0, NULL, wait_bits, "0" },
	{ ARG_EPOLL_OP, UINT64_MAX, epoll_ops, NULL, NULL },
	{ ARG_PRCTL, UINT64_MAX, prctls, NULL, NULL },
	{ ARG_RESOURCE, UINT64_MAX, resources, NULL, NULL },
	{ ARG_ADVICE, UINT64_MAX, advices, NULL, NULL },
	{ ARG_RANDOM, 0, NULL, random_bits, "0" },
	{ ARG_ARCH, UINT64_MAX, arch_ops, NULL, NULL },
	{ ARG_LEVEL, UINT64_MAX, levels, NULL, NULL },
	{ ARG_SOCKOPT_SOCKET, UINT64_MAX, socket_options, NULL, NULL },
	{ ARG_SOCKOPT_TCP, UINT64_MAX, tcp_options, NULL, NULL },
	{ ARG_WHO, UINT64_MAX, usage_of, NULL, NULL },
	{ ARG_FLOCK, LOCK_SH | LOCK_EX | LOCK_UN, lock_ops, lock_bits, NULL },
	{ ARG_LOCK, UINT64_MAX, locks, NULL, NULL },
	{ ARG_MEMFD, 0, NULL, memfd_bits, "0" },
	{ ARG_REMAP, 0, NULL, remap_bits, "0" },
	{ ARG_ACTION_IN, 0, NULL, action_bits, "0" },
};
/* clang-format on */

static void part(struct buf *out, size_t start)
{
	if (out->len > start)
		buf_put_byte(out, '|');
}

static uint64_t put_choice(const struct flags *f, uint64_t value, struct buf *out)
{
	for (const struct flag *c = f->choices; c && c->name; c++)
		if (c->value == (value & f->mask)) {
			buf_put_str(out, c->name);
			return value & ~f->mask;
		}
	return value;
}

static void put_set(const struct flags *f, uint64_t value, struct buf *out)
{
	size_t start = out->len;
	uint64_t rest = put_choice(f, value, out);

	for (const struct flag *b = f->bits; b && b->name; b++)
		if (b->value && (rest & b->value) == b->value) {
			part(out, start);
			buf_put_str(out, b->name);
			rest &= ~b->value;
		}
	if (rest || out->len == start) {
		part(out, start);
		if (!rest && f->zero)
			buf_put_str(out, f->zero);
		else
			buf_printf(out, "0x%llx", (unsigned long long)rest);
	}
}

bool syscall_put_flags(enum syscall_arg kind, uint64_t value, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].kind == kind) {
			put_set(&kinds[i], (uint32_t)value, out);
			return true;
		}
	return false;
}

void syscall_put_open_flags(uint64_t value, struct buf *out)
{
	put_set(&kinds[0], value, out);
}

void syscall_put_signal(int signal, struct buf *out)
{
	const char *name = compat_signal_name(signal);

	if (name)
		buf_printf(out, "SIG%s", name);
	else if (signal >= 32 && signal <= 64)
		buf_printf(out, "SIGRT_%d", signal - 32);
	else
		buf_put_int(out, signal);
}
