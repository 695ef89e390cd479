// Package cluster simulates a Slurm cluster under a virtual clock: what its main scheduler
// and its backfill scheduler start, when, and on which nodes.
//
// Like Slurm: jobs are pending in order of their priority (age, size and fair share). After
// each event the main scheduler starts what fits, and stops in each partition at the first
// job that does not fit. Every 30 s the backfill scheduler tests the first 500 jobs of a
// partition, reserves resources for each in the order of priority, and starts those whose
// reservation begins now. It knows time limits, not runtimes. Jobs end at their real
// runtime, or at their time limit.
//
// Left out: nodes that fail, boot or drain, preemption, licences, topology, reservations,
// limits of users and accounts, the time that slurmctld itself needs (a pass takes no time;
// in reality the backfill scheduler of a busy cluster does not always test all jobs),
// PriorityMaxAge (age counts without limit), and partitions that share nodes. In a
// partition whose nodes are not shared, jobs get whole nodes, and all nodes are alike.
package cluster
