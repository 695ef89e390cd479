package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// checkCall checks what a daemon is about to have Slurm do.
func (g *gate) checkCall(cmd slurm.Command) {
	switch {
	case isSubmission(&cmd):
		g.checkSubmission()
	case cmd.Program == slurm.Scancel:
		g.checkCancel(cmd.Args)
	}
}

// isSubmission reports whether a call requests an allocation. sbatch --test-only only asks
// when one would start.
func isSubmission(cmd *slurm.Command) bool {
	return cmd.Program == slurm.Sbatch && !slices.Contains(cmd.Args, "--test-only")
}

// checkSubmission checks the requests for allocations against the limits of the
// submission (P10).
func (g *gate) checkSubmission() {
	limits := g.submission().AutoSchedule
	live := int64(0)
	g.queryFile(g.daemon.path, `SELECT COUNT(*) FROM allocation a JOIN workflow w ON w.id = a.workflow_id AND w.run_id = a.run_id
			WHERE a.state != 'ended' AND a.is_duplicate = 0 AND a.superseded_ms = 0 AND a.cancel_ms = 0`,
		func(scan func(...any)) { scan(&live) })
	if live > limits.MaxAllocations {
		g.violated("P10: there are %d allocations, at most %d are allowed", live, limits.MaxAllocations)
	}
	now := time.Now()
	const window = time.Minute - time.Millisecond // the database stores no more digits
	g.cluster.mu.Lock()
	for len(g.asked) > 0 && now.Sub(g.asked[0]) >= window {
		g.asked = g.asked[1:]
	}
	g.asked = append(g.asked, now)
	lately := int64(len(g.asked))
	g.cluster.mu.Unlock()
	if lately > limits.MaxSubmitPerMinute && !g.jumps {
		g.violated("P10: %d allocations are requested within a minute, at most %d are allowed", lately, limits.MaxSubmitPerMinute)
	}
}

// forgetAsked resets the counts: the limits apply to each run.
func (s *cluster) forgetAsked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = nil
}

// checkCancel checks that a cancellation is recorded before it is sent.
func (g *gate) checkCancel(numbers []string) {
	sent := map[string]bool{}
	g.queryFile(g.daemon.path, `SELECT slurm_job_id FROM allocation WHERE cancel_sent_ms != 0 AND slurm_job_id IS NOT NULL`, func(scan func(...any)) {
		var number int64
		scan(&number)
		sent[fmt.Sprint(number)] = true
	})
	for _, number := range numbers {
		if !sent[number] {
			g.violated("P8: job %s is canceled, but this is not recorded", number)
		}
	}
}

// checkCluster checks that nothing is left in Slurm.
func (s *cluster) checkCluster() {
	_ = sleep(s.world.life, 2*time.Minute) // until nodes are free
	queue, err := slurm.New(slurm.Options{Executor: s.Cluster}).Queue(context.Background(), slurm.QueueQuery{User: slurmtest.TestUser})
	if err != nil {
		s.violated("squeue: %v", err)
	}
	for i := range queue.Jobs {
		if j := &queue.Jobs[i]; !j.State.Over() {
			s.violated("P13: job %s (%s) is left in Slurm: %s", j.ID, j.Name, j.State)
		}
	}
}

// checkAllocations compares the recorded allocations with what Slurm did.
func (s *cluster) checkAllocations() {
	worked := map[string]int64{} // per Slurm job, by name
	for _, all := range s.ps.of {
		for _, p := range all {
			a := p.machine.allocation
			if first, known := worked[a.Name]; known && first != a.ID.Number {
				s.violated("P9: jobs %d and %d of one intent, %s, took work", first, a.ID.Number, a.Name)
			}
			worked[a.Name] = a.ID.Number
		}
	}
	s.query(`SELECT id, job_name, COALESCE(slurm_job_id, 0), restart_count, cause, cause_text, asked_ms, end_ms FROM allocation ORDER BY id`, func(scan func(...any)) {
		var a compute.Allocation
		scan(&a.ID, &a.JobName, &a.SlurmJobID, &a.RestartCount, &a.Cause, &a.CauseText, &a.AskedMS, &a.EndMS)
		s.note("allocation %d: job %d start %d, %s: %s", a.ID, a.SlurmJobID, a.RestartCount, a.Cause, a.CauseText)
		s.checkAllocation(&a)
	})
	s.query(`SELECT n.runner_key, a.slurm_job_id || '.' || a.restart_count FROM compute_node n JOIN allocation a ON a.id = n.allocation_id`, func(scan func(...any)) {
		var runner, life string
		scan(&runner, &life)
		if _, of, _ := strings.Cut(runner, "."); of != life {
			s.violated("P9: runner %s was considered one of job and start %s", runner, life)
		}
	})
}

// checkAllocation checks how one allocation ended.
func (s *cluster) checkAllocation(a *compute.Allocation) {
	const lookedFor = 2 * time.Minute
	if given := time.Duration(a.EndMS-a.AskedMS) * time.Millisecond; a.Cause == compute.AllocationNever && given < lookedFor && !s.jumps {
		s.violated("P9: intent %s was abandoned after %s", a.JobName, given)
	}
	switch a.Cause {
	case compute.AllocationNever, compute.AllocationRefused:
		unseen := time.Duration(0)
		if a.Cause == compute.AllocationNever {
			unseen = time.Minute // squeue may have answered before
		}
		for _, made := range s.made[a.JobName] {
			if !s.jumps && made.Add(unseen).Before(time.UnixMilli(a.EndMS)) {
				s.violated("P9: intent %s was abandoned, but Slurm had created a job for it", a.JobName)
			}
		}
	case compute.AllocationLost:
		if !strings.HasPrefix(a.CauseText, "its nodes have not confirmed") {
			s.violated("P5: job %d was considered lost, but Slurm's accounting has it: %s", a.SlurmJobID, a.CauseText)
		}
	case compute.AllocationCanceledUser, compute.AllocationCanceledAdmin:
		if !s.canceled[a.SlurmJobID] {
			s.violated("P8: nobody but the daemon has canceled job %d: %s", a.SlurmJobID, a.CauseText)
		}
	}
}
