// Package simulation has tests alone. They run the daemon's core on a database
// file, runners and a fake Slurm in one process under a virtual clock, with the
// faults of one seed, and check what the engine promises.
package simulation
