/* SPDX-License-Identifier: MIT */
/* The check of Slurm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/checks.h"

void doctor_slurm(struct doctor_finding *f)
{
	static const char *const ping[] = { "scontrol", "ping", NULL };
	static const char *const sacct[] = { "sacct", "-n", "-X", "-j", "1", "-o", "JobID", NULL };
	const char *job = getenv("SLURM_JOB_ID");
	char text[512];
	int rc;

	if (!doctor_has_program("scontrol")) {
		doctor_report(f, DOCTOR_FAILS,
			      "'apt-get install slurm-client' on a machine of a cluster",
			      "no scontrol on the PATH");
		return;
	}
	rc = doctor_run(ping, text, sizeof text);
	if (rc != 0 || !strstr(text, " UP")) {
		doctor_report(
			f, DOCTOR_FAILS, "start slurmctld, or let slurm.conf name where it runs",
			"scontrol ping: %s", rc < 0 ? "no answer in 5 s" : "no slurmctld answers");
		return;
	}
	rc = doctor_run(sacct, text, sizeof text);
	if (rc != 0)
		doctor_report(
			f, DOCTOR_PARTLY,
			"start slurmdbd, and set AccountingStorageType=accounting_storage/slurmdbd",
			"slurmctld answers, but sacct %s",
			rc < 0 ? "gives no answer in 5 s" : "has no accounting");
	else if (job)
		doctor_report(f, DOCTOR_WORKS, "", "slurmctld and sacct answer; this is job %s",
			      job);
	else
		doctor_report(f, DOCTOR_WORKS, "", "slurmctld and sacct answer; this is no job");
}
