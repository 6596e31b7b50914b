/* SPDX-License-Identifier: MIT */
#include "job/place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The variables of one launcher; NULL: it has none. */
struct launcher {
	const char *rank, *size, *local_rank, *local_size, *name_space;
	bool is_everywhere; /* also where no ranks are launched, but then without a size */
};

/* In the order of asking: mpirun in a job of Slurm beats Slurm, whose variables are inherited. */
static const struct launcher launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	  "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", false },
	{ "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
	  "JSM_NAMESPACE_LOCAL_SIZE", "PMIX_NAMESPACE", false },
	{ "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL, "FLUX_JOB_ID", false },
	{ "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "PMIX_NAMESPACE", false },
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
	  "MV2_COMM_WORLD_LOCAL_SIZE", NULL, false },
	{ "MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE", "MVP_COMM_WORLD_LOCAL_RANK",
	  "MVP_COMM_WORLD_LOCAL_SIZE", NULL, false },
	{ "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", NULL, "PALS_APID", false },
	{ "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_JOBID", false },
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, NULL, true },
};

/* The variables of one resource manager; NULL: it has none. */
struct manager {
	const char *name;
	const char *job, *array_job, *array_task, *step, *restart;
	const char *array_task_before; /* in older versions */
};

/* Flux first: it may run in a job of another one. */
static const struct manager managers[] = {
	{ "flux", "FLUX_JOB_ID", NULL, NULL, NULL, NULL, NULL },
	{ "slurm", "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_STEP_ID",
	  "SLURM_RESTART_COUNT", NULL },
	{ "lsf", "LSB_JOBID", NULL, "LSB_JOBINDEX", NULL, NULL, NULL },
	{ "pbs", "PBS_JOBID", "PBS_ARRAY_ID", "PBS_ARRAY_INDEX", NULL, NULL, "PBS_ARRAYID" },
};

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

static void copy(char to[JOB_PLACE_LEN], const char *from)
{
	size_t len = from ? strnlen(from, JOB_PLACE_LEN - 1) : 0;

	if (len)
		memcpy(to, from, len);
	to[len] = '\0';
}

/* The value of a variable that may have no name; NULL: it is not set, or empty. */
static const char *value_of(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	return value && *value ? value : NULL;
}

/* Decimals of no more than nine digits, or -1. */
static long number_of(const char *text)
{
	size_t len = strspn(text, "0123456789");

	return len && !text[len] && len < 10 ? strtol(text, NULL, 10) : -1;
}

static void read_launcher(struct job_place *place)
{
	const struct launcher *l = launchers;

	while (l < launchers + LEN(launchers) && !value_of(l->rank))
		l++;
	if (l == launchers + LEN(launchers))
		return;
	copy(place->rank, value_of(l->rank));
	copy(place->size, value_of(l->size));
	if (number_of(place->size) <= number_of(place->rank))
		copy(place->size, NULL); /* of another launch, which we are in */
	copy(place->local_rank, value_of(l->local_rank));
	copy(place->local_size, value_of(l->local_size));
	copy(place->name_space, value_of(l->name_space));
	place->is_parallel = *place->size ? number_of(place->size) > 1 : !l->is_everywhere;
}

static void read_manager(struct job_place *place)
{
	const struct manager *m = managers;

	while (m < managers + LEN(managers) && !value_of(m->job) && !value_of(m->array_task))
		m++;
	if (m == managers + LEN(managers))
		return;
	copy(place->manager, m->name);
	copy(place->job, value_of(m->job));
	copy(place->array_job, value_of(m->array_job));
	copy(place->array_task, value_of(m->array_task));
	if (!*place->array_task)
		copy(place->array_task, value_of(m->array_task_before));
	copy(place->step, value_of(m->step));
	copy(place->restart, value_of(m->restart));
	if (strcmp(m->name, "lsf") == 0 && strcmp(place->array_task, "0") == 0)
		copy(place->array_task, NULL); /* no array: tasks of one count from 1 */
}

void job_place_read(struct job_place *place)
{
	char host[256] = "";

	*place = (struct job_place){ .is_parallel = false };
	if (gethostname(host, sizeof host - 1) < 0)
		host[0] = '\0';
	copy(place->host, host);
	read_launcher(place);
	read_manager(place);
}

static size_t put_known(char piece[JOB_PLACE_LEN], const char *value)
{
	copy(piece, *value ? value : "none");
	for (char *at = piece; *at; at++)
		if (*at == '/')
			*at = '_';
	return strlen(piece);
}

/* Also for handlers of signals, where printf(3) may not be called. */
static size_t put_pid(char piece[JOB_PLACE_LEN])
{
	char digits[JOB_PLACE_LEN], *at = digits + sizeof digits - 1;

	*at = '\0';
	for (unsigned long pid = (unsigned long)getpid(); pid; pid /= 10)
		*--at = (char)('0' + pid % 10);
	return put_known(piece, at);
}

static size_t put_bytes(char piece[JOB_PLACE_LEN], const char *bytes, size_t len)
{
	memcpy(piece, bytes, len);
	return len;
}

size_t job_place_expand(const struct job_place *place, const char **at, char piece[JOB_PLACE_LEN])
{
	const char *text = *at;
	size_t len = strcspn(text, "%");

	if (len || !*text || !text[1]) {
		len = len ? len : strlen(text);
		len = len < JOB_PLACE_LEN ? len : JOB_PLACE_LEN;
		*at += len;
		return put_bytes(piece, text, len);
	}
	*at += 2;
	switch (text[1]) {
	case 'h':
		return put_known(piece, place->host);
	case 'p':
		return put_pid(piece);
	case 'r':
		return put_known(piece, place->rank);
	case 'j':
		return put_known(piece, place->job);
	case 'a':
		return put_known(piece, place->array_task);
	case '%':
		return put_bytes(piece, "%", 1);
	default:
		return put_bytes(piece, text, 2);
	}
}
