/* SPDX-License-Identifier: MIT */
/*
 * place: which rank of which job this process is, from the variables that launchers and resource
 * managers set. One table for all of auger.
 *
 * Sources: Open MPI's FAQ on run-time variables; PMIx 4 (PMIX_RANK, PMIX_NAMESPACE); MPICH's hydra
 * (PMI_RANK, MPI_LOCALRANKID); MVAPICH2's user guide; HPE's PALS, aprun(1); srun(1), sbatch(1);
 * flux-environment(7); LSF's and jsrun's environment variables; qsub(1B) of PBS and TORQUE.
 *
 * The values are input: whoever starts the process chooses them. Links nothing but libc, for it is
 * a part of libauger, too.
 */
#ifndef JOB_PLACE_H
#define JOB_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#define JOB_PLACE_LEN 64 /* of a value with its NUL; a longer one is cut */

/* "": unknown. */
struct job_place {
	char host[JOB_PLACE_LEN];
	char rank[JOB_PLACE_LEN]; /* a decimal, as are size and those of the node */
	char size[JOB_PLACE_LEN]; /* ranks in all */
	char local_rank[JOB_PLACE_LEN], local_size[JOB_PLACE_LEN];
	char name_space[JOB_PLACE_LEN]; /* the launcher's name of this launch */
	char manager[JOB_PLACE_LEN];    /* "flux", "slurm", "lsf", "pbs" */
	char job[JOB_PLACE_LEN], array_job[JOB_PLACE_LEN], array_task[JOB_PLACE_LEN];
	char step[JOB_PLACE_LEN];
	char restart[JOB_PLACE_LEN]; /* how often the manager has started this job again */
	bool is_parallel;            /* a launcher has started other ranks, too */
};

void job_place_read(struct job_place *place);

/*
 * Expands a pattern piece by piece: %h host, %r rank, %j job, %a array task, %p this process, %%
 * a percent sign; any other % is itself. What is unknown is "none". A value has "_" for each "/",
 * so that it does not leave its folder. *at: what is left of the pattern. Returns the piece's
 * bytes, 0 at the end.
 */
size_t job_place_expand(const struct job_place *place, const char **at,
			char ret_piece[JOB_PLACE_LEN]);

#endif
