/* SPDX-License-Identifier: MIT */
#include "base/pattern.h"

#include <errno.h>

#include "base/buf.h"

int pattern_init(struct pattern *p, const char *regex, struct err *e)
{
	char reason[128];
	int rc;

	*p = (struct pattern){ 0 };
	rc = regcomp(&p->regex, regex, REG_EXTENDED | REG_NOSUB);
	if (rc == REG_ESPACE)
		return err_nomem(e);
	if (rc) {
		regerror(rc, &p->regex, reason, sizeof reason);
		return err_set(e, -EINVAL, "regular expression '%s': %s", regex, reason);
	}
	p->is_set = true;
	return 0;
}

int pattern_init_whole(struct pattern *p, const char *regex, struct err *e)
{
	CLEANUP(buf_fini) struct buf whole = { 0 };

	buf_printf(&whole, "^(%s)$", regex);
	if (buf_error(&whole) < 0)
		return err_nomem(e);
	return pattern_init(p, whole.data, e);
}

void pattern_fini(struct pattern *p)
{
	if (p->is_set)
		regfree(&p->regex);
	*p = (struct pattern){ 0 };
}

bool pattern_matches(struct pattern *p, const char *text)
{
	if (!p->is_set)
		return false;
	errno = 0;
	if (regexec(&p->regex, text, 0, NULL, 0) == 0)
		return true;
	p->bad |= errno == ENOMEM; /* glibc returns REG_NOMATCH for it too */
	return false;
}

int pattern_error(const struct pattern *p)
{
	return p->bad ? -ENOMEM : 0;
}
