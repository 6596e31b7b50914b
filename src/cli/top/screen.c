/* SPDX-License-Identifier: MIT */
#include "cli/top/screen.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_NCURSES

#include <curses.h>

#include "base/cursor.h"
#include "base/utf8.h"

static SCREEN *screen;
static FILE *terminal; /* its own descriptor: standard output is closed to the program */

int top_screen_open(struct err *e)
{
	int fd = isatty(STDOUT_FILENO) ? dup(STDOUT_FILENO) : -1;

	if (fd < 0)
		return err_set(e, -ENOTTY, "standard output is no terminal");
	setlocale(LC_CTYPE, "");
	terminal = fdopen(fd, "r+");
	screen = terminal ? newterm(NULL, terminal, stdin) : NULL;
	if (!screen) {
		if (terminal)
			fclose(terminal);
		terminal = NULL;
		return err_set(e, -ENOTTY, "the terminal cannot show a full screen");
	}
	set_term(screen);
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	nodelay(stdscr, TRUE);
	return 0;
}

void top_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	fclose(terminal);
	screen = NULL;
	terminal = NULL;
}

size_t top_screen_width(void)
{
	return (size_t)COLS;
}

size_t top_screen_height(void)
{
	return (size_t)LINES;
}

void top_screen_show(const struct buf *text, int chosen)
{
	struct cursor at = cursor_make(text->data, text->len);
	const char *line;
	size_t len;

	erase();
	for (int row = 0; row < LINES && cursor_line(&at, &line, &len); row++) {
		if (row == chosen)
			attron(A_REVERSE);
		mvaddnstr(row, 0, line, (int)utf8_fit(line, len, (size_t)COLS));
		if (row == chosen)
			attroff(A_REVERSE);
	}
	refresh();
}

int top_screen_key(void)
{
	int key = getch();

	switch (key) {
	case ERR:
		return TOP_KEY_NONE;
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_ENTER:
	case '\n':
	case '\r':
	case KEY_RIGHT:
		return TOP_KEY_ENTER;
	case KEY_BACKSPACE:
	case KEY_LEFT:
	case 27:
	case 127:
		return TOP_KEY_BACK;
	case KEY_RESIZE:
		return TOP_KEY_RESIZE;
	default:
		return key < 256 ? key : TOP_KEY_NONE;
	}
}

#else

int top_screen_open(struct err *e)
{
	return err_set(e, -ENOTSUP, "built without ncurses; 'auger top --batch' prints lines");
}

void top_screen_close(void)
{
}

size_t top_screen_width(void)
{
	return 0;
}

size_t top_screen_height(void)
{
	return 0;
}

void top_screen_show(const struct buf *text, int chosen)
{
	(void)text, (void)chosen;
}

int top_screen_key(void)
{
	return TOP_KEY_NONE;
}

#endif
