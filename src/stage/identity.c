/* SPDX-License-Identifier: MIT */
#include "stage/identity.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void copy(char *to, const char *from)
{
	size_t len = from ? strnlen(from, IDENTITY_LEN - 1) : 0;

	memcpy(to, from ? from : "", len);
	to[len] = '\0';
}

/* Sources: Open MPI's FAQ on run-time variables, PMIx 4 (PMIX_RANK), MPICH's hydra (PMI_RANK),
 * MVAPICH2's user guide, srun(1). */
static const char *find_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					     "MV2_COMM_WORLD_RANK", "SLURM_PROCID" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return NULL;
}

void identity_read(struct identity *identity)
{
	char host[256] = "";

	if (gethostname(host, sizeof host - 1) < 0)
		host[0] = '\0';
	copy(identity->host, host);
	copy(identity->rank, find_rank());
	copy(identity->job, getenv("SLURM_JOB_ID"));
	copy(identity->array_job, getenv("SLURM_ARRAY_JOB_ID"));
	copy(identity->array_task, getenv("SLURM_ARRAY_TASK_ID"));
	copy(identity->step, getenv("SLURM_STEP_ID"));
}

/* From the environment: it must not escape the folder. */
static void put_known(struct text *out, const char *value)
{
	if (!*value)
		value = "none";
	for (; *value; value++)
		text_put(out, *value == '/' ? "_" : value, 1);
}

void identity_expand(const struct identity *identity, const char *pattern, struct text *out)
{
	for (const char *at = pattern; *at; at++) {
		if (*at != '%' || !at[1]) {
			text_put(out, at, 1);
			continue;
		}
		switch (*++at) {
		case 'h':
			put_known(out, identity->host);
			break;
		case 'p':
			text_put_int(out, getpid());
			break;
		case 'r':
			put_known(out, identity->rank);
			break;
		case 'j':
			put_known(out, identity->job);
			break;
		case 'a':
			put_known(out, identity->array_task);
			break;
		case '%':
			text_put(out, "%", 1);
			break;
		default:
			text_put(out, at - 1, 2);
		}
	}
	text_put(out, "", 1);
}
