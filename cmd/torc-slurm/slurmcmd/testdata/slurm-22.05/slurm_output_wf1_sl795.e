srun: Job step aborted: Waiting up to 5 seconds for job step to finish.
slurmstepd-n4: error: *** JOB 795 ON n4 CANCELLED AT 2026-11-21T18:52:46 ***
