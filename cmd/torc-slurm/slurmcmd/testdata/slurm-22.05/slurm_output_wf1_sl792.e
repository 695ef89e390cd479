Killed
slurmstepd-n2: error: Detected 1 oom-kill event(s) in StepId=792.batch. Some of your processes may have been killed by the cgroup out-of-memory handler.
