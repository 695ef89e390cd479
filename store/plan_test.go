package store

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// ofSize matches steps of plans that read all rows of a table that grows with the
// workflows, or all of one workflow in it.
var ofSize = regexp.MustCompile(`^SCAN (job|attempt|result|event|gate|gate_dependency|stage|alert|notification|file|user_data|[jadsn])\b` +
	`|(job_workflow|job_name|gate_1|event_1|file_workflow|user_data_workflow) \(workflow_id=\?\)|AUTOMATIC`)

// statements returns the statements that use cases have prepared.
func (r *rig) statements() (all []string) {
	r.do(func(*core.Tx) error {
		all = slices.Clone(r.prepared)
		return nil
	})
	slices.Sort(all)
	return all
}

// plan returns how SQLite carries out a statement.
func (r *rig) plan(query string) (steps []string) {
	r.tb.Helper()
	r.do(func(tx *core.Tx) error {
		steps = nil
		for n := range 64 { // the number of its parameters is unknown
			rows, err := tx.Query("EXPLAIN QUERY PLAN "+query, make([]any, n)...)
			if err != nil && strings.HasPrefix(err.Error(), "sql: expected") {
				continue
			}
			if err != nil {
				return err
			}
			steps, err = sqlite.Collect(rows, func(row sqlite.Scanner) (step string, err error) {
				var id, parent, unused int64
				return step, row.Scan(&id, &parent, &unused, &step)
			})
			return err
		}
		return nil
	})
	return steps
}

// Turns take no longer in a large workflow: none of their statements reads all of it,
// whatever happens to the jobs. The end of the run may.
func TestTurnsReadNoWholeTable(t *testing.T) {
	most, deadline := int64(1000), &workflow.Deadline{After: "1h", Policy: workflow.DeadlineStopNew}
	d := withChild(true)
	for _, name := range []string{"fails", "retried", "victim", "open"} {
		d.Jobs = append(d.Jobs, job(name, inMain))
	}
	skipped, spared := job("skipped", inMain, 6), job("spared", inMain, 0)
	spared.RunIf = workflow.RunIfFailure
	d.Jobs = append(d.Jobs, skipped, spared)
	s := newStaged(t, d)
	s.setTimeouts(workflow.Timeouts{Queue: limit("30m", ""), Total: limit("5h", "")})
	s.setPolicy(workflow.RunPolicy{
		MaxFailures: &most, Deadline: deadline, FailureCategories: gpuCategories,
		CircuitBreakers:  []workflow.CircuitBreaker{{Per: workflow.PerNode, Threshold: 1, Within: "1h", Action: workflow.BreakerExcludeNode}},
		CancelSiblingsOn: []workflow.SiblingRule{{Cause: workflow.CauseExit}},
		RetryPolicies: []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "p", Rules: []workflow.RetryRule{
			{When: workflow.RuleMatch{Stderr: "again"}, Action: workflow.ActionRetry, AvoidNodes: &workflow.AvoidNodes{Mode: workflow.AvoidLast}}}}}},
	})
	s.do(func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE workflow SET deadline_ms = ? WHERE id = ?`, s.now.Add(time.Hour).UnixMilli(), s.workflow)
		return err
	})
	before := s.statements()
	ref := func(name string) lease.LeaseRef {
		t.Helper()
		i := slices.IndexFunc(s.node.held, func(h lease.Held) bool { return h.JobID == s.id(name) })
		if i < 0 {
			t.Fatalf("%s is not held", name)
		}
		return s.node.held[i].LeaseRef
	}
	s.node.turn()
	s.node.free.Slots = 0 // the rest is for another one
	for i := range s.node.held {
		s.node.held[i].StartedMS = s.now.UnixMilli()
	}
	s.node.turn(s.node.failsSaying(ref("retried"), "again"))
	s.node.turn(exited(ref("before"), 0))
	s.node.turn(s.node.failsSaying(ref("fails"), "Xid"))
	other := s.hand("n2", 1)
	other.turn()
	other.turn(exited(other.held[0].LeaseRef, 0))
	other.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{other.held[0].LeaseRef}})
	s.now = s.now.Add(2 * time.Hour)
	s.passDeadlines(0)
	s.node.turn()
	other.turn()
	if s.number(`SELECT has_ended FROM workflow WHERE id = ?`, s.workflow) != 0 {
		t.Fatal("the run has ended")
	}
	var slow []string
	for _, query := range s.statements() {
		if slices.Contains(before, query) {
			continue
		}
		for _, step := range s.plan(query) {
			if ofSize.MatchString(step) {
				slow = append(slow, step+": "+strings.Join(strings.Fields(query), " "))
			}
		}
	}
	if len(slow) > 0 {
		t.Errorf("steps that read a whole table:\n%s", strings.Join(slow, "\n"))
	}
}

// The queries that the daemon makes every few seconds read what is due, however many jobs
// there are.
func TestTheClockReadsNoWholeTable(t *testing.T) {
	r := newRig(t, independent(1)...)
	queries := []string{dueHolds, view.WatchedPolicies}
	for _, condition := range view.OverdueJobs {
		queries = append(queries, `SELECT id FROM job WHERE `+condition+` LIMIT 1`)
	}
	for _, query := range queries {
		steps := r.plan(query)
		if len(steps) == 0 || slices.ContainsFunc(steps, func(step string) bool { return strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "INDEX") }) {
			t.Errorf("%q: %s", steps, query)
		}
	}
}
