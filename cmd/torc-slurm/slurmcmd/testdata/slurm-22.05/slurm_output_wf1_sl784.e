slurmstepd-n4: error: *** STEP 784.0 ON n4 CANCELLED AT 2026-11-21T18:52:21 ***
srun: forcing job termination
srun: got SIGCONT
srun: Job step aborted: Waiting up to 5 seconds for job step to finish.
srun: error: n4: task 0: Killed
slurmstepd-n4: error: *** STEP 784.1 ON n4 CANCELLED AT 2026-11-21T18:52:21 ***
srun: error: n4: task 0: Terminated
srun: Force Terminated StepId=784.1
