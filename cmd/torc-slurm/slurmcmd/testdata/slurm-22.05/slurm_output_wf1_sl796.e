srun: error: Node failure on n4
