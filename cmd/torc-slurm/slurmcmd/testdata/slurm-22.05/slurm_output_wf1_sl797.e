slurmstepd-n3: error: *** STEP 797.0 ON n3 CANCELLED AT 2026-11-21T18:52:47 ***
srun: error: n3: task 0: Terminated
srun: Force Terminated StepId=797.0
