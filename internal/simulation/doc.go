// Package simulation has tests alone. They run the daemon's core on a database
// file, runners and a fake Slurm in one process under a virtual clock, with the
// faults of one seed, and check what the engine promises.
//
//	go test ./internal/simulation -seeds 500          more seeds
//	go test ./internal/simulation -seeds 1 -seed 42 -trace DIR
//
// Faults are: messages that are lost, doubled (up to 40 minutes later), late,
// and overtake each other; nodes that are cut off; daemons that die at a
// failpoint of the store, whose files are then those of the next one; runners
// that are killed; clocks of the daemon's host that jump; programs of Slurm that
// fail, hang with, without and before an effect, have it twice, and print parts,
// nothing or less than there is; allocations that are preempted, requeued,
// canceled, and run out of memory; nodes that go down, and such whose slurmd
// dies alone; people who take jobs away from their runners and begin new runs.
//
// What is looked at is in docs/simulation.md, and how much it is worth: each file
// in testdata/mutations breaks one rule of the engine, and .ci/mutate says
// whether the simulation finds that.
//
// A seed is a run: everything left to chance is decided by the seed and by what
// is decided, not by the order in which it is asked for; one thread runs all
// goroutines (testing/synctest), and events have times of their own. TestReplay
// watches over it.
package simulation
