// Package simulation contains only tests. They run the daemon's core on a database
// file, runners and a fake Slurm in one process under a virtual clock, with the
// faults of one seed, and check what the engine promises.
//
//	go test ./internal/simulation -seeds 500          more seeds
//	go test ./internal/simulation -seeds 1 -seed 42 -keep DIR
//
// The faults are:
//   - messages that are lost, duplicated (up to 40 minutes later), delayed, and
//     overtake each other; nodes that are cut off
//   - daemons that die at a failpoint of the store; the next one starts from their files
//   - runners that are killed, and jumps of the clock on the daemon's host
//   - programs of Slurm that fail, hang before or after their effect, have it twice,
//     and print only parts of the answer, or nothing
//   - allocations that are preempted, requeued, canceled, and run out of memory; nodes
//     that go down, or whose slurmd alone dies
//   - people who take jobs away from their runners and start new runs
//
// docs/simulation.md says what is checked, and how good the checks are: each file in
// testdata/mutations breaks one rule of the engine, and .ci/mutate says whether the
// simulation finds it.
//
// A seed determines a run: everything left to chance depends on the seed and on what is
// decided, not on the order of decisions; one thread runs all goroutines
// (testing/synctest), and no two events have the same time. TestReplay checks this.
package simulation
