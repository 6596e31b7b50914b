/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/storage/replies.h"
#include "cli/cmd.h"
#include "cli/pids.h"
#include "cli/screen.h"
#include "cli/stacks/stacks_list.h"
#include "cli/stacks/stacks_tree.h"
#include "format/formats.h"
#include "source/save.h"
#include "stacks/thread_stacks.h"

#define QUIET_MS 60000 /* that the reader may be blocked, before it is ended */
#define LOOK_MS 500    /* between looks at it */

struct args {
	struct opt_list pids;
	int format; /* enum emit_format: the tree in place of a table */
	bool is_folded;
};

static const char *const stacks_formats
	[] = { [EMIT_TABLE] = "tree", [EMIT_CSV] = "csv", [EMIT_JSON] = "json", NULL };

static const struct opt opts[] = {
	OPT_LIST('p', "pid", "PID,...", struct args, pids,
		 "Show the threads of these processes; again for more"),
	OPT_CHOICE(
		'f', "format", "tree|csv|json", struct args, format, stacks_formats,
		"Print a tree of what stacks have in common, or a row for each thread [default tree]"),
	OPT_FLAG(0, "folded", struct args, is_folded,
		 "Print folded stacks, for 'auger flame -' and other tools"),
	OPT_END,
};

static int show_rows(const struct thread_stacks *s, const struct args *args, struct err *e)
{
	CLEANUP(stacks_text_fini) struct stacks_text text = { 0 };
	CLEANUP(screen_rows_fini) struct screen_rows r;
	int rc;

	screen_rows_begin(&r, args->format, COLOR_NEVER);
	rc = stacks_text_init(&text, s, FRAME_BY_FUNCTION, e);
	if (rc == 0)
		rc = stacks_rows_put(&text, &r.out, e);
	return rc < 0 ? rc : screen_rows_end(&r, e);
}

static void put_counts(const struct thread_stacks *s, struct buf *out)
{
	buf_printf(out, "%zu thread%s of %zu process%s\n\n", s->threads.count,
		   s->threads.count == 1 ? "" : "s", s->process_count,
		   s->process_count == 1 ? "" : "es");
}

static int show_text(const struct thread_stacks *s, struct err *e)
{
	CLEANUP(stacks_text_fini) struct stacks_text text = { 0 };
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct screen screen = screen_get(COLOR_NEVER);
	bool is_each = cmd_is_verbose();
	int rc = stacks_text_init(&text, s, is_each ? FRAME_BY_LINE : FRAME_BY_FUNCTION, e);

	if (rc < 0)
		return rc;
	put_counts(s, &out);
	rc = is_each ? stacks_list_put(&text, &out, e)
		     : stacks_tree_put(&text, screen.width, &out, e);
	return rc < 0 ? rc : screen_show(&screen, &out, e);
}

static int show_folded(const struct thread_stacks *s, struct err *e)
{
	const struct output output = { .path = "-", .format = format_find("folded") };

	return save_profile(s->profile, &output, e);
}

static int show(const struct thread_stacks *s, const struct args *args, struct err *e)
{
	if (args->is_folded)
		return show_folded(s, e);
	return args->format == EMIT_TABLE ? show_text(s, e) : show_rows(s, args, e);
}

static void send_progress(void *fd, uint32_t pid)
{
	send(*(const int *)fd, &pid, sizeof pid, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Waits until the reader is blocked; its end, or that of its work, is false. */
static bool wait_blocked(int fd, pid_t reader, clockid_t clock, uint32_t *ret_pid)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct replies_progress progress = { 0 };

	for (;;) {
		int ready = poll(&p, 1, LOOK_MS);

		if (ready > 0 && recv(fd, ret_pid, sizeof *ret_pid, 0) != sizeof *ret_pid)
			return false;
		if (ready > 0)
			progress = (struct replies_progress){ 0 };
		if (ready == 0 && getppid() != reader)
			return false;
		if (ready == 0 && replies_is_blocked(&progress, reader, clock, QUIET_MS))
			return true;
	}
}

/* Ends the process that reads threads when it does not go on: memory that is mapped from storage
 * which does not reply blocks its reader for good. One that computes, or is stopped with its job,
 * is no such one. */
static void watch(int fd, pid_t reader)
{
	uint32_t pid = 0;
	clockid_t clock;

	if (clock_getcpuclockid(reader, &clock) != 0 || !wait_blocked(fd, reader, clock, &pid))
		return;
	fprintf(stderr,
		"auger stacks: reading process %u has blocked for %d s: its memory is on storage that "
		"does not reply\n",
		pid, QUIET_MS / 1000);
	kill(reader, SIGKILL);
}

static int take(const pid_t *pids, size_t count, struct thread_stacks *ret, struct err *e)
{
	struct thread_stacks_opts o = { .pids = pids, .count = count, .progress = send_progress };
	pid_t reader = getpid(), watchdog;
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	watchdog = fork();
	if (watchdog == 0) {
		close(ends[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		watch(ends[1], reader);
		_exit(0);
	}
	close(ends[1]);
	if (watchdog < 0) {
		err_errno(e, "fork");
		close(ends[0]);
		return e->code;
	}
	o.context = &ends[0];
	rc = thread_stacks_take(&o, ret, e);
	close(ends[0]);
	kill(watchdog, SIGKILL); /* children that are left behind may have the socket */
	waitpid(watchdog, NULL, 0);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	struct thread_stacks s = { 0 };
	pid_t pids[PIDS_MAX];
	size_t count;
	int first, rc = cmd_parse(&cmd_stacks, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first < argc)
		return err_usage(e, "'%s' is no option: -p PID names a process", argv[first]);
	rc = pids_parse(&args.pids, pids, &count, e);
	if (rc == 0 && !count)
		rc = err_usage(e, "-p PID is missing");
	if (rc == 0 && args.is_folded && args.format != EMIT_TABLE)
		rc = err_usage(e, "--folded and --format do not go together");
	if (rc == 0)
		rc = take(pids, count, &s, e);
	if (rc == 0)
		rc = show(&s, &args, e);
	thread_stacks_fini(&s);
	return rc;
}

const struct cmd cmd_stacks = {
	.name = "stacks",
	.operands = "-p PID[,PID...]",
	.summary = "show where all threads of processes are now, and what they wait for",
	.verbose = "Print each thread instead, with its frames, its call and the kernel's stack",
	.opts = opts,
	.run = run,
};
