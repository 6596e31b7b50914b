/* SPDX-License-Identifier: MIT */
#include "cli/screen.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cmd.h"

const char *const color_whens[] = { "auto", "always", "never", NULL };

#define PIPED_WIDTH 120 /* of tables for a pipe or a file */

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool is_value(const char *name, const char *value)
{
	const char *own = getenv(name);

	return own && strcmp(own, value) == 0;
}

static bool wants_color(void)
{
	if (is_set("NO_COLOR"))
		return false;
	if (is_set("CLICOLOR_FORCE") && !is_value("CLICOLOR_FORCE", "0"))
		return true;
	return isatty(STDOUT_FILENO) && !is_value("CLICOLOR", "0") && !is_value("TERM", "dumb");
}

size_t screen_width(int fd)
{
	struct winsize size;

	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0)
		return size.ws_col;
	return cmd_is_verbose() ? 0 : PIPED_WIDTH;
}

struct screen screen_get(enum color_when when)
{
	struct screen s = { .has_color =
				    when == COLOR_ALWAYS || (when == COLOR_AUTO && wants_color()),
			    .width = screen_width(STDOUT_FILENO) };
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		s.height = size.ws_row;
	return s;
}

static size_t count_lines(const struct buf *text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text->len; i++)
		lines += text->data[i] == '\n';
	return lines;
}

static const char *find_pager(const struct screen *s, const struct buf *text)
{
	const char *pager = getenv("PAGER");

	if (!s->height || count_lines(text) < s->height)
		return NULL;
	if (!pager)
		return "less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static void become_pager(const char *pager, int from)
{
	dup2(from, STDIN_FILENO);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	/* F: none when it fits the screen, R: colors, X: leave the text on the screen */
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	_exit(127);
}

/* Feeds the pager and waits for its end. False: it could not be run. */
static bool run_pager(const char *pager, const struct buf *text)
{
	int ends[2], status = 0;
	pid_t pid;

	if (pipe(ends) < 0)
		return false;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		become_pager(pager, ends[0]);
	}
	close(ends[0]);
	if (pid > 0 && file_write_all(ends[1], text->data, text->len) < 0)
		status = 0; /* the reader has seen enough */
	close(ends[1]);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0)
		;
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

int screen_show(const struct screen *s, const struct buf *text, struct err *e)
{
	const char *pager;

	if (buf_error(text) < 0)
		return err_nomem(e);
	if (!text->len)
		return 0;
	pager = find_pager(s, text);
	if (pager) {
		/* Ctrl-C and the end of the pager are the pager's and the reader's business. */
		void (*on_int)(int) = signal(SIGINT, SIG_IGN);
		void (*on_pipe)(int) = signal(SIGPIPE, SIG_IGN);
		bool done = run_pager(pager, text);

		signal(SIGINT, on_int);
		signal(SIGPIPE, on_pipe);
		if (done)
			return 0;
	}
	fwrite(text->data, 1, text->len, stdout); /* main checks whether stdout failed */
	return 0;
}

void screen_rows_begin(struct screen_rows *r, int format, int color)
{
	struct emit_opts o = { .format = (enum emit_format)format, .is_verbose = cmd_is_verbose() };

	r->screen = screen_get((enum color_when)color);
	r->text = (struct buf){ 0 };
	o.width = r->screen.width;
	o.has_color = r->screen.has_color;
	emit_begin(&r->out, &o, &r->text);
	emit_fit_strictly(&r->out);
}

int screen_rows_end(struct screen_rows *r, struct err *e)
{
	return emit_end(&r->out) < 0 ? err_nomem(e) : screen_show(&r->screen, &r->text, e);
}

void screen_rows_fini(struct screen_rows *r)
{
	emit_fini(&r->out);
	buf_fini(&r->text);
}
