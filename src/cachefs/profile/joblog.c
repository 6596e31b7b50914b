/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/joblog.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

static struct {
	enum joblog_level level; /* all three: written by joblog_open */
	int fd;                  /* of the file, if has_file; borrowed */
	bool has_file, to_stdout;
} state;

void joblog_open(const struct job_files *files, enum joblog_level level, bool to_stdout)
{
	state.level = level;
	state.to_stdout = to_stdout;
	if (files) {
		state.fd = files->log;
		state.has_file = true;
	}
}

/* One write a line, so that lines of threads do not mix. A line that cannot be written is lost. */
void joblog_put(enum joblog_level level, const char *domain, const char *text)
{
	static const char *const names[] = { "", "Fatal", "Error", "Warn", "Info", "Debug" };
	int64_t now = clock_wall_ns();
	time_t seconds = (time_t)(now / NS_PER_S);
	char line[1400], when[32];
	struct tm tm;
	size_t len;

	if (level > state.level || (!state.has_file && !state.to_stdout))
		return;
	if (!localtime_r(&seconds, &tm) || !strftime(when, sizeof when, "%Y-%m-%d %H-%M-%S", &tm))
		return;
	len = (size_t)snprintf(line, sizeof line, "%s.%03d [%s] (%s) %s\n", when,
			       (int)(now % NS_PER_S / 1000000), names[level], domain, text);
	if (len >= sizeof line)
		len = sizeof line - 1;
	if (state.has_file && file_write_all(state.fd, line, len) < 0)
		return;
	if (state.to_stdout && file_write_all(STDOUT_FILENO, line, len) < 0)
		return;
}

void joblog_msg(enum log_level level, const char *domain, const char *text)
{
	static const enum joblog_level levels[] = {
		[LOG_WARN] = JOBLOG_WARNING,
		[LOG_INFO] = JOBLOG_INFO,
		[LOG_DEBUG] = JOBLOG_DEBUG,
	};

	joblog_put(levels[level], domain, text);
}
