/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/control.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FAST_REQUESTS 100 /* fewer show nothing */
#define FAST_NS 100000

static int send_ioctl(const char *view, unsigned long number, void *ret, struct err *e)
{
	int fd = open(view, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (fd < 0)
		return err_errno(e, "%s", view);
	rc = ioctl(fd, number, ret);
	if (rc < 0 && (errno == ENOTTY || errno == ENOSYS || errno == EINVAL))
		rc = err_set(e, -ENOTTY, "%s: no cache is mounted there", view);
	else if (rc < 0 && errno == EPERM)
		rc = err_set(e, -EPERM, "%s: another user's cache", view);
	else if (rc < 0)
		rc = err_errno(e, "%s", view);
	close(fd);
	return rc;
}

int control_stats(const char *view, struct control_stats *ret, struct err *e)
{
	return send_ioctl(view, CONTROL_STATS, ret, e);
}

int control_slowest(const char *view, struct control_slowest *ret, struct err *e)
{
	return send_ioctl(view, CONTROL_SLOWEST, ret, e);
}

bool control_is_storage_fast(const struct control_stats *s)
{
	return s->misses >= FAST_REQUESTS &&
	       s->wait_ns < s->misses * FAST_NS + s->used_bytes[USAGE_DATA];
}

int control_command(const char *view, int number, struct err *e)
{
	struct control_stats stats;
	int rc = send_ioctl(view, (unsigned long)number, NULL, e);

	if (rc <= 0)
		return rc;
	rc = control_stats(view, &stats, e);
	return rc < 0 ? rc : err_set(e, -EIO, "%s: %s", view, stats.reason);
}
