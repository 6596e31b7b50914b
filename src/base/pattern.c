/* SPDX-License-Identifier: MIT */
#include "base/pattern.h"

#include <errno.h>

static int compile(struct pattern *p, const char *regex, int flags, struct err *e)
{
	char reason[128];
	int rc;

	*p = (struct pattern){ 0 };
	rc = regcomp(&p->regex, regex, REG_EXTENDED | flags);
	if (rc == REG_ESPACE)
		return err_nomem(e);
	if (rc) {
		regerror(rc, &p->regex, reason, sizeof reason);
		return err_set(e, -EINVAL, "regular expression '%s': %s", regex, reason);
	}
	p->is_set = true;
	return 0;
}

int pattern_init(struct pattern *p, const char *regex, struct err *e)
{
	return compile(p, regex, REG_NOSUB, e);
}

/* Not as "^(...)$": when memory runs out, glibc 2.36 frees what it made of that twice. */
int pattern_init_whole(struct pattern *p, const char *regex, struct err *e)
{
	int rc = compile(p, regex, 0, e);

	p->is_whole = true;
	return rc;
}

void pattern_fini(struct pattern *p)
{
	if (p->is_set)
		regfree(&p->regex);
	*p = (struct pattern){ 0 };
}

/* Of the matches that begin first the longest is found: the whole text, if that is one. */
bool pattern_matches(struct pattern *p, const char *text)
{
	regmatch_t match;

	if (!p->is_set)
		return false;
	errno = 0;
	if (regexec(&p->regex, text, p->is_whole ? 1 : 0, &match, 0) == 0)
		return !p->is_whole || (match.rm_so == 0 && !text[match.rm_eo]);
	p->bad |= errno == ENOMEM; /* glibc returns REG_NOMATCH for it too */
	return false;
}

int pattern_error(const struct pattern *p)
{
	return p->bad ? -ENOMEM : 0;
}
