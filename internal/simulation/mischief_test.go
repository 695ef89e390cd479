package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// makeMischief harms allocations and nodes while there are faults, and repairs all nodes
// at the end.
func (s *cluster) makeMischief() {
	for n := 1; s.mischief > 0 && s.faulty(); n++ {
		c := s.seed.of("mischief", n)
		if sleep(s.world.life, c.spread(time.Second, s.mischief)) != nil || !s.faulty() {
			break
		}
		s.harm(c)
	}
	_ = sleep(s.world.life, time.Until(s.until))
	for _, node := range s.nodes {
		s.restore(node)
	}
}

// harm causes one fault.
func (s *cluster) harm(c chance) {
	victim, ok := s.victim(c)
	node := oneOf(c, s.nodes...)
	again := c.spread(10*time.Second, 10*time.Minute)
	switch kind := c.IntN(15); {
	case kind >= 12:
		s.note("somebody else wants %s", node)
		_, err := s.Root().Run(context.Background(), slurm.Command{
			Program: slurm.Sbatch, Args: []string{"--parsable", "--job-name=other", "--partition=debug", "--nodelist=" + node, "--cpus-per-task=4", "--time=10"},
			Stdin: []byte(fmt.Sprintf("#!/bin/bash\nsleep %d\n", int(again.Seconds()))),
		})
		if err != nil {
			s.violated("sbatch of somebody else: %v", err)
		}
	case kind == 0:
		s.note("node %s loses its power", node)
		s.KillNode(node, true)
		time.AfterFunc(again, func() { s.restore(node) })
	case kind == 1:
		s.note("node %s is cut off", node)
		s.isolate(node)
		s.KillNode(node, false)
		time.AfterFunc(again, func() { s.restore(node) })
	case kind == 10 || kind == 11:
		s.note("the slurmd of node %s dies, its jobs continue", node)
		s.KillNode(node, false)
		time.AfterFunc(again, func() { s.restore(node) })
	case kind == 2:
		s.note("node %s is set to down", node)
		s.DownNode(node, "simulated")
		time.AfterFunc(again, func() { s.restore(node) })
	case !ok:
	case kind <= 4:
		s.note("job %d is preempted", victim.Number)
		s.Preempt(victim)
	case kind == 5:
		s.note("job %d is canceled by its owner", victim.Number)
		s.cancelAs(999, victim)
	case kind == 6:
		s.note("job %d is canceled by root", victim.Number)
		s.cancelAs(0, victim)
	case kind == 7:
		s.note("job %d is requeued", victim.Number)
		s.Requeue(victim)
	case kind == 8:
		s.note("job %d is out of memory", victim.Number)
		s.OutOfMemory(victim)
	default:
		s.killRunner(victim)
	}
}

// cancelAs cancels an allocation as a user.
func (s *cluster) cancelAs(uid int, id slurm.JobID) {
	s.mu.Lock()
	s.canceled[id.Number] = true
	s.mu.Unlock()
	s.CancelAs(uid, id)
}

// victim draws a running allocation.
func (s *cluster) victim(c chance) (slurm.JobID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []int64
	for _, b := range s.batches {
		ids = append(ids, b.life.ID.Number)
	}
	if len(ids) == 0 {
		return slurm.JobID{}, false
	}
	slices.Sort(ids)
	return slurm.JobID{Number: oneOf(c, ids...)}, true
}

// killRunner kills the runner of an allocation.
func (s *cluster) killRunner(id slurm.JobID) {
	s.mu.Lock()
	var victim *batch
	for _, b := range s.batches {
		if b.life.ID == id {
			victim = b
		}
	}
	s.mu.Unlock()
	if victim != nil {
		s.note("the runner of job %d is killed", id.Number)
		victim.Signal("KILL", 0)
	}
}

// isolate cuts off a node with everything that runs there.
func (s *cluster) isolate(node string) {
	s.mu.Lock()
	s.isolated[node] = true
	s.mu.Unlock()
	s.ps.outOfReach(node)
}

func (s *cluster) restore(node string) {
	s.mu.Lock()
	delete(s.isolated, node)
	s.mu.Unlock()
	s.RestoreNode(node)
}

func (s *cluster) isIsolated(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isolated[node]
}
