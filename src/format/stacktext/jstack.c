/* SPDX-License-Identifier: MIT */
#include "format/stacktext/jstack.h"

#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "format/stacktext/stacktext.h"

enum state { STATE_UNKNOWN, STATE_RUNNABLE, STATE_WAITING };

struct thread {
	bool is_there;
	struct str name;
	enum state state;
};

/* Threads of the JVM itself. */
static bool is_background(struct str name)
{
	static const char *const names[] = { "Signal Dispatcher", "Service Thread",
					     "Attach Listener" };
	size_t compiler = str_find(name, " CompilerThread");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_find(name, names[i]) < name.len)
			return true;
	return compiler < name.len && compiler >= 2 && name.ptr[compiler - 2] == 'C';
}

/* Does a thread in this method wait in the kernel? */
static bool is_waiting(struct str method)
{
	size_t socket = str_find(method, "Socket");

	return str_find(method, "epollWait") < method.len ||
	       str_ends_with(method, "socketAccept") || str_ends_with(method, "socketRead0") ||
	       (socket < method.len && str_ends_with(method, "accept0") &&
		socket + strlen("Socket") + strlen("accept0") <= method.len);
}

/* Without "-12" at the end. */
static struct str drop_number(struct str name)
{
	size_t end = name.len;

	while (end && number_is_digit(name.ptr[end - 1]))
		end--;
	if (end && end < name.len && name.ptr[end - 1] == '-')
		name.len = end - 1;
	return name;
}

static void begin_thread(struct thread *thread, struct str line)
{
	struct str name = str_part(line, 1, line.len);

	name.len = str_find(name, "\"");
	thread->is_there = true;
	thread->name = name;
	if (is_background(name))
		thread->state = STATE_WAITING;
}

static void end_thread(struct stacktext *t, struct thread *thread)
{
	bool is_runnable = thread->state == STATE_RUNNABLE;
	struct str name = thread->is_there ? drop_number(thread->name) : (struct str){ "", 0 };

	if (t->is_exact && thread->is_there)
		stacktext_push(t, name);
	if (stacktext_depth(t) && (is_runnable || !t->is_exact)) {
		if (!t->is_exact)
			stacktext_set_type(t, is_runnable ? "runnable" : "waiting", "count");
		t->labels = stacktext_thread(t, name, "", 0);
		stacktext_add(t, true, 1);
	}
	stacktext_cut(t, 0);
	*thread = (struct thread){ 0 };
}

/* "	at java.lang.Thread.run(Thread.java:744)"; false: no frame. */
static bool parse_method(struct str line, bool is_exact, struct str *ret)
{
	struct str s = str_skip_blanks(line);
	size_t slash;

	if (!str_starts_with(s, "at "))
		return false;
	s = str_part(s, strlen("at "), s.len);
	s.len = str_find(s, "(");
	slash = str_find(s, "/"); /* of "java.base@17/": module and version */
	if (!is_exact && slash < s.len && str_find(str_part(s, 0, slash), "@") < slash)
		s = str_part(s, slash + 1, s.len);
	*ret = s;
	return true;
}

static void parse_state(struct thread *thread, struct str line)
{
	static const char key[] = "java.lang.Thread.State: ";
	size_t at = str_find(line, key);
	struct str rest, word;

	if (at == line.len || thread->state != STATE_UNKNOWN)
		return;
	rest = str_part(line, at + sizeof key - 1, line.len);
	word = str_take_word(&rest);
	thread->state = str_equals(word, "RUNNABLE") ? STATE_RUNNABLE : STATE_WAITING;
}

static void parse(struct stacktext *t)
{
	struct thread thread = { 0 };
	struct str line, method;

	stacktext_set_type(t, "runnable", "count");
	while (stacktext_line(t, &line)) {
		if (!line.len) {
			end_thread(t, &thread);
		} else if (*line.ptr == '"') {
			begin_thread(&thread, line);
		} else if (parse_method(line, t->is_exact, &method)) {
			stacktext_push(t, method);
			if (is_waiting(method))
				thread.state = STATE_WAITING;
		} else {
			parse_state(&thread, line);
		}
	}
	if (!t->is_exact)
		end_thread(t, &thread);
}

/* A thread's head: "name" with its numbers behind. */
static bool is_head(struct str line)
{
	size_t quote;

	if (!str_starts_with(line, "\""))
		return false;
	line = str_part(line, 1, line.len);
	quote = str_find(line, "\"");
	line = str_part(line, quote, line.len);
	return str_find(line, " tid=") < line.len && str_find(line, " nid=") < line.len;
}

static bool detect(const unsigned char *data, size_t len)
{
	struct cursor c = stacktext_start(data, len);
	struct str line;

	for (size_t i = 0; i < 16 && cursor_line(&c, &line.ptr, &line.len); i++)
		if (is_head(line) || str_starts_with(line, "Full thread dump "))
			return true;
	return false;
}

static const struct stacktext_kind kind = { .name = "jstack", .parse = parse };

static const char *const suffixes[] = { NULL };

static int jstack_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return stacktext_read(&kind, p, data, len, e);
}

static int jstack_collapse(const unsigned char *data, size_t len, struct buf *out, struct err *e)
{
	return stacktext_collapse(&kind, data, len, out, e);
}

const struct format format_jstack = {
	.name = "jstack",
	.summary = "thread dumps of Java: jstack, kill -3",
	.mark = "Full thread dump, or the head of a thread",
	.lost = "locks, threads without frames",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = detect,
	.read = jstack_read,
	.collapse = jstack_collapse,
};
