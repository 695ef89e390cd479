slurmstepd-n1: error: *** STEP 791.0 ON n1 CANCELLED AT 2026-11-21T18:54:03 DUE TO TIME LIMIT ***
slurmstepd-n1: error: *** JOB 791 ON n1 CANCELLED AT 2026-11-21T18:54:03 DUE TO TIME LIMIT ***
srun: Job step aborted: Waiting up to 5 seconds for job step to finish.
