srun: error: n3: task 0: Out Of Memory
slurmstepd-n3: error: Detected 1 oom-kill event(s) in StepId=793.0. Some of your processes may have been killed by the cgroup out-of-memory handler.
1
