slurmstepd-n3: error: couldn't chdir to `/nowhere': No such file or directory: going to /tmp instead
slurmstepd-n3: error: couldn't chdir to `/nowhere': No such file or directory: going to /tmp instead
srun: error: n3: task 0: Exited with exit code 2
slurmstepd-n3: error: execve(): /nowhere/x: No such file or directory
