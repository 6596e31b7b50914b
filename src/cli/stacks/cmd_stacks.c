/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
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

#define QUIET_MS 60000 /* without a word of the child while it reads threads */
#define END_MS 1000    /* that the end of a killed child may take */

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

/* What the child sends: the process that it reads, or how it ended. */
struct word {
	bool is_end;
	uint32_t pid;
	int rc;
	struct err e;
};

static void send_progress(void *fd, uint32_t pid)
{
	const struct word w = { .pid = pid };

	send(*(const int *)fd, &w, sizeof w, MSG_NOSIGNAL);
}

/* In the child. */
static void take_and_show(const struct args *args, int fd, const pid_t *pids, size_t count)
{
	const struct thread_stacks_opts o = { pids, count, send_progress, &fd };
	struct word w = { .is_end = true };
	struct thread_stacks s = { 0 };

	w.rc = thread_stacks_take(&o, &s, &w.e);
	send_progress(&fd, 0);
	if (w.rc == 0)
		w.rc = show(&s, args, &w.e);
	thread_stacks_fini(&s);
	if (w.rc == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		w.rc = err_set(&w.e, -EIO, "cannot write to standard output");
	send(fd, &w, sizeof w, MSG_NOSIGNAL);
	_exit(0);
}

/* The child's end; ends it when it does not go on with a process. */
static int wait_child(int fd, pid_t child, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct word w = { 0 };
	ssize_t got = 0;
	int ready, status = 0;

	do {
		/* Naming and showing have limits of their own, or wait for a reader. */
		ready = poll(&p, 1, w.pid || !got ? QUIET_MS : -1);
		if (ready > 0)
			got = recv(fd, &w, sizeof w, 0);
	} while ((ready < 0 && errno == EINTR) || (ready > 0 && got == sizeof w && !w.is_end));
	if (ready > 0 && got == sizeof w) {
		waitpid(child, NULL, 0);
		*e = w.e;
		return w.rc;
	}
	if (ready == 0)
		kill(child, SIGKILL);
	replies_wait_end(child, &status, END_MS);
	if (ready > 0 && WIFSIGNALED(status))
		raise(WTERMSIG(status)); /* as if there were no child: SIGPIPE */
	if (ready == 0)
		return err_set(e, -ETIMEDOUT,
			       "reading process %u has blocked for %d s: its memory is on storage "
			       "that does not reply",
			       w.pid, QUIET_MS / 1000);
	return err_set(e, -EIO, "the process that reads the threads has ended");
}

/* By a child: reading memory that is mapped from storage which does not reply blocks for good. */
static int run_apart(const struct args *args, const pid_t *pids, size_t count, struct err *e)
{
	pid_t parent = getpid(), child;
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	child = fork();
	if (child < 0) {
		err_errno(e, "fork");
		close(ends[0]);
		close(ends[1]);
		return e->code;
	}
	if (child == 0) {
		close(ends[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			take_and_show(args, ends[1], pids, count);
		_exit(0);
	}
	close(ends[1]);
	rc = wait_child(ends[0], child, e);
	close(ends[0]);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
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
	return rc < 0 ? rc : run_apart(&args, pids, count, e);
}

const struct cmd cmd_stacks = {
	.name = "stacks",
	.operands = "-p PID[,PID...]",
	.summary = "show where all threads of processes are now, and what they wait for",
	.verbose = "Print each thread instead, with its frames, its call and the kernel's stack",
	.opts = opts,
	.run = run,
};
