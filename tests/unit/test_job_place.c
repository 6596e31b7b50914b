/* SPDX-License-Identifier: MIT */
#include "job/place.h"

#include <unistd.h>

#include "tap.h"

/* What a launcher sets, and what is to be made of it. */
struct launch {
	const char *variables; /* "NAME=VALUE NAME=VALUE" */
	const char *rank, *size, *local_rank, *name_space;
	const char *manager, *job, *array_task, *step;
	bool is_parallel;
};

/* Variables as these launchers set them here, or as their manuals say. */
static const struct launch launches[] = {
	{ "", "", "", "", "", "", "", "", "", false },
	{ "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 "
	  "PMIX_NAMESPACE=1238302721 PMIX_RANK=1",
	  "1", "2", "1", "1238302721", "", "", "", "", true },
	{ "PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 PMI_FD=8", "3", "4", "1", "",
	  "", "", "", "", true },
	/* hydra in a batch script of Slurm, whose own rank is 0 */
	{ "PMI_RANK=3 PMI_SIZE=4 SLURM_PROCID=0 SLURM_JOB_ID=7", "3", "4", "", "", "slurm", "7", "",
	  "", true },
	{ "SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_JOB_ID=7 SLURM_STEP_ID=2 "
	  "PMIX_RANK=5 PMIX_NAMESPACE=slurm.pmix.7.2",
	  "5", "8", "1", "slurm.pmix.7.2", "slurm", "7", "", "2", true },
	{ "SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_JOB_ID=7 SLURM_STEP_ID=2",
	  "5", "8", "1", "", "slurm", "7", "", "2", true },
	/* a task of an array; an interactive step of one task */
	{ "SLURM_PROCID=0 SLURM_JOB_ID=8 SLURM_ARRAY_JOB_ID=6 SLURM_ARRAY_TASK_ID=2", "0", "", "",
	  "", "slurm", "8", "2", "", false },
	{ "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_JOB_ID=8 SLURM_STEP_ID=0", "0", "1", "", "",
	  "slurm", "8", "", "0", false },
	{ "FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_ID=f2 SLURM_JOB_ID=9 "
	  "PMI_RANK=1 PMI_SIZE=2",
	  "1", "2", "1", "f2", "flux", "f2", "", "", true },
	{ "JSM_NAMESPACE_RANK=4 JSM_NAMESPACE_SIZE=6 JSM_NAMESPACE_LOCAL_RANK=0 LSB_JOBID=11 "
	  "LSB_JOBINDEX=0",
	  "4", "6", "0", "", "lsf", "11", "", "", true },
	{ "LSB_JOBID=11 LSB_JOBINDEX=3", "", "", "", "", "lsf", "11", "3", "", false },
	{ "PALS_RANKID=2 PALS_LOCAL_RANKID=0 PALS_APID=abc PBS_JOBID=12.host", "2", "", "0", "abc",
	  "pbs", "12.host", "", "", true },
	{ "PBS_JOBID=12[3].host PBS_ARRAY_INDEX=3", "", "", "", "", "pbs", "12[3].host", "3", "",
	  false },
	{ "PBS_JOBID=12-3.host PBS_ARRAYID=3", "", "", "", "", "pbs", "12-3.host", "3", "", false },
	{ "MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_LOCAL_RANK=1", "1", "2", "1",
	  "", "", "", "", "", true },
	/* prun in an interactive step: the size is that of the step */
	{ "PMIX_RANK=3 PMIX_NAMESPACE=prte-x@1 SLURM_STEP_NUM_TASKS=1", "3", "", "", "prte-x@1", "",
	  "", "", "", true },
	{ "OMPI_COMM_WORLD_RANK= PMI_RANK=1 PMI_SIZE=x", "1", "", "", "", "", "", "", "", true },
};

static void set_variables(const char *text)
{
	char copy[400], *rest = copy;

	clearenv();
	snprintf(copy, sizeof copy, "%s", text);
	for (char *word; (word = strsep(&rest, " "));) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		setenv(word, value, 1);
	}
}

static void test_launchers(void)
{
	for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++) {
		const struct launch *l = &launches[i];
		struct job_place place;
		bool is_right = true;

		set_variables(l->variables);
		job_place_read(&place);
		is_right &= CHECK_STR(place.rank, l->rank);
		is_right &= CHECK_STR(place.size, l->size);
		is_right &= CHECK_STR(place.local_rank, l->local_rank);
		is_right &= CHECK_STR(place.name_space, l->name_space);
		is_right &= CHECK_STR(place.manager, l->manager);
		is_right &= CHECK_STR(place.job, l->job);
		is_right &= CHECK_STR(place.array_task, l->array_task);
		is_right &= CHECK_STR(place.step, l->step);
		is_right &= CHECK_INT(place.is_parallel, l->is_parallel);
		if (!is_right)
			fprintf(stderr, "row %zu\n", i);
	}
}

static void expand(const struct job_place *place, const char *pattern, char *ret, size_t size)
{
	char piece[JOB_PLACE_LEN];
	size_t len, at = 0;

	while ((len = job_place_expand(place, &pattern, piece)) && at + len < size) {
		memcpy(ret + at, piece, len);
		at += len;
	}
	ret[at] = '\0';
}

static void test_expand(void)
{
	struct job_place place = { .host = "n1", .rank = "3", .job = "../7" };
	char text[400], want[400], pid[32];

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	snprintf(want, sizeof want, "a/n1.3.%s-.._7-none-%%-%%q%%", pid);
	expand(&place, "a/%h.%r.%p-%j-%a-%%-%q%", text, sizeof text);
	CHECK_STR(text, want);
	expand(&place, "", text, sizeof text);
	CHECK_STR(text, "");
	memset(want, 'x', 200);
	want[200] = '\0';
	expand(&place, want, text, sizeof text);
	CHECK_STR(text, want);
}

static void test_long_values(void)
{
	struct job_place place;
	char value[200];

	memset(value, '9', sizeof value - 1);
	value[sizeof value - 1] = '\0';
	clearenv();
	setenv("PMI_RANK", value, 1);
	setenv("SLURM_JOB_ID", value, 1);
	job_place_read(&place);
	CHECK_INT(strlen(place.rank), JOB_PLACE_LEN - 1);
	CHECK_INT(strlen(place.job), JOB_PLACE_LEN - 1);
}

int main(void)
{
	TAP_CASE(test_launchers);
	TAP_CASE(test_expand);
	TAP_CASE(test_long_values);
	return tap_done();
}
