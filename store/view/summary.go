package view

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Summary is an overview of a workflow.
type Summary struct {
	WorkflowID          int64
	Name                string
	User                string
	RunID               int64
	IsCanceled          bool
	Verdict             workflow.EventType // empty while the run goes on
	GivenUp             string             // why the run was aborted; empty: it was not
	Jobs                [11]int64          // by status, without those of compensations
	ExecMinutes         float64            // of the latest results
	WalltimeSeconds     *float64           // from their first start to their last end
	ActiveNodes         int64
	PendingAllocations  int64
	ActiveAllocations   int64
	MaxRemainingSeconds *int64 // of the active nodes' allocations; nil if none has an end
	RuntimeBlocked      int64  // ready jobs without labels whose runtime exceeds what the allocations have left
	LongestReadySeconds *int64
	UnservedLabels      map[string]int64 // ready jobs by label set, where no active node has the labels
	ClaimHolds          hold.ClaimHolds
	Compensation        *stage.Compensation // of the run; nil if there is none
	Attempts            stage.AttemptCounts
	CanceledBy          []stage.CanceledGroup
	AllocationReasons   []string            // why the latest allocation of each scheduler was requested
	EndJob              *stage.EndJobResult // nil before the verdict, or without an end job
	Stages              stage.StageSummaries
	UserHeld            int64                 // jobs that users hold and that are not complete
	Staged              workflow.StatusCounts // of Jobs, those in stages other than the main one
}

// Total returns the number of jobs.
func (s *Summary) Total() (n int64) {
	for _, k := range s.Jobs {
		n += k
	}
	return n
}

// Main counts the jobs of the main stage.
func (s *Summary) Main() (jobs workflow.StatusCounts) {
	for status, n := range s.Jobs {
		jobs[status] = n - s.Staged[status]
	}
	return jobs
}

// IsComplete reports whether every job is complete, including those of a compensation.
func (s *Summary) IsComplete() bool {
	return openJobs(s.Jobs) == 0 && (s.Compensation == nil || s.Compensation.State.IsOver())
}

// openJobs counts the jobs that are not complete.
func openJobs(jobs [11]int64) (n int64) {
	for status, k := range jobs {
		if !workflow.JobStatus(status).IsComplete() {
			n += k
		}
	}
	return n
}

// Summary returns an overview of a workflow.
func (s Workflows) Summary(ctx context.Context, id int64) (Summary, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return Summary{}, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	sum, err := l.summary(id)
	return sum, OrNotFound(err, "workflow", id)
}

func (l *factReader) summary(id int64) (sum Summary, err error) {
	sum.WorkflowID = id
	err = l.row(`SELECT w.name, w.user, w.run_id, w.is_canceled,
			COALESCE((SELECT v.type FROM verdict v WHERE v.workflow_id = w.id AND v.run_id = w.run_id AND v.generation = w.end_generation), ''),
			COALESCE(w.given_up, '')
		FROM workflow w WHERE w.id = ? AND w.is_hidden = 0`, []any{id}, &sum.Name, &sum.User, &sum.RunID, &sum.IsCanceled, &sum.Verdict, &sum.GivenUp)
	if err != nil {
		return sum, err
	}
	if sum.Jobs, err = l.jobCounts(id); err != nil {
		return sum, err
	}
	staged, err := l.stagedJobs(id)
	if err != nil {
		return sum, err
	}
	sum.Staged, sum.Stages = staged.counts, staged.summaries
	var first, last sql.NullFloat64
	err = l.row(`SELECT COALESCE(SUM(r.exec_time_minutes), 0), MIN(unixepoch(r.completion_time, 'subsec') - r.exec_time_minutes * 60), MAX(unixepoch(r.completion_time, 'subsec'))
		FROM job j JOIN result r ON r.id = j.result_id WHERE j.workflow_id = ?`, []any{id}, &sum.ExecMinutes, &first, &last)
	if err != nil {
		return sum, err
	}
	if first.Valid && last.Valid {
		sum.WalltimeSeconds = new(last.Float64 - first.Float64)
	}
	err = l.row(`SELECT COUNT(*) FILTER (WHERE status = 'pending'), COUNT(*) FILTER (WHERE status = 'active')
		FROM scheduled_compute_node WHERE workflow_id = ?`, []any{id}, &sum.PendingAllocations, &sum.ActiveAllocations)
	if err != nil {
		return sum, err
	}
	nodes, err := l.activeNodes(id)
	if err != nil {
		return sum, err
	}
	sum.ActiveNodes = int64(len(nodes))
	ready, err := l.readyGroups(id)
	if err != nil {
		return sum, err
	}
	sum.fit(nodes, ready)
	if sum.Compensation, err = l.compensationOf(id, sum.RunID); err != nil {
		return sum, err
	}
	if sum.CanceledBy, err = l.canceledBy(id, sum.Jobs[workflow.Canceled]); err != nil {
		return sum, err
	}
	failed := sum.Jobs[workflow.Failed] + sum.Jobs[workflow.Terminated] + sum.Jobs[workflow.PendingFailed]
	if sum.Attempts, err = l.attempts(id, sum.RunID, failed); err != nil {
		return sum, err
	}
	if sum.Verdict != "" {
		v, err := l.verdict(id)
		if err != nil {
			return sum, err
		}
		if v != nil {
			sum.EndJob = v.EndJob
		}
	}
	if sum.AllocationReasons, err = l.allocationReasons(id, sum.RunID); err != nil {
		return sum, err
	}
	if err := l.row(CountUserHeld, []any{id}, &sum.UserHeld); err != nil {
		return sum, err
	}
	sum.ClaimHolds, err = l.claimHolds(id)
	return sum, err
}

// jobCounts counts jobs by status, without those of compensations.
func (l *factReader) jobCounts(id int64) (jobs [11]int64, err error) {
	err = sqlite.EachContext(l.ctx, l.tx, func(r sqlite.Scanner) error {
		var status workflow.JobStatus
		var n int64
		err := r.Scan(&status, &n)
		jobs[status] = n
		return err
	}, `SELECT status, n FROM job_count WHERE workflow_id = ?`, id)
	if err != nil {
		return jobs, err
	}
	compensating, err := l.compensationCounts(id)
	for status, n := range compensating {
		jobs[status] -= n
	}
	return jobs, err
}

// activeNode has the remaining time and the labels of an active node.
type activeNode struct {
	labels    []string
	remaining *int64 // seconds; nil: no end
}

func (l *factReader) activeNodes(id int64) ([]activeNode, error) {
	return selectFacts(l, `SELECT labels, end_time FROM compute_node WHERE workflow_id = ? AND is_active = 1`, []any{id},
		func(r sqlite.Scanner) (n activeNode, err error) {
			var labels, end sql.NullString
			if err := r.Scan(&labels, &end); err != nil {
				return n, err
			}
			if t, err := time.Parse(time.RFC3339, end.String); err == nil {
				n.remaining = new(max(0, (t.UnixMilli()-l.nowMS)/1000))
			}
			n.labels, err = workflow.ParseLabels(labels.String)
			return n, err
		})
}

// readyGroup counts ready jobs with equal labels and runtime.
type readyGroup struct {
	labels  string
	runtime int64
	jobs    int64
}

func (l *factReader) readyGroups(id int64) ([]readyGroup, error) {
	return selectFacts(l, `SELECT c.labels, q.runtime_s, COUNT(*) FROM claim_class c
			JOIN resource_requirements q ON q.id = c.requirements_id JOIN job j ON j.class_id = c.id AND j.status = {ready}
		WHERE c.workflow_id = ? AND c.held = 0 GROUP BY c.labels, q.runtime_s`, []any{id},
		func(r sqlite.Scanner) (g readyGroup, err error) { return g, r.Scan(&g.labels, &g.runtime, &g.jobs) })
}

// fit compares the ready jobs with the active nodes.
func (s *Summary) fit(nodes []activeNode, ready []readyGroup) {
	var remaining *int64 // the longest of the nodes without labels
	endless := false
	for _, n := range nodes {
		s.MaxRemainingSeconds = later(s.MaxRemainingSeconds, n.remaining)
		if len(n.labels) == 0 {
			remaining = later(remaining, n.remaining)
			endless = endless || n.remaining == nil
		}
	}
	for _, g := range ready {
		if g.labels != "" {
			if labels, err := workflow.ParseLabels(g.labels); err == nil && !served(labels, nodes) {
				if s.UnservedLabels == nil {
					s.UnservedLabels = map[string]int64{}
				}
				s.UnservedLabels[g.labels] += g.jobs
			}
			continue
		}
		if endless || remaining == nil {
			continue
		}
		s.LongestReadySeconds = later(s.LongestReadySeconds, &g.runtime)
		if g.runtime > *remaining+placement.RuntimeSlack {
			s.RuntimeBlocked += g.jobs
		}
	}
}

func later(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func served(labels []string, nodes []activeNode) bool {
	for _, n := range nodes {
		if workflow.LabelsMatch(labels, n.labels) {
			return true
		}
	}
	return false
}

// IsComplete reports whether a workflow is canceled, and whether it is complete: canceled,
// or all jobs are complete.
func (s Workflows) IsComplete(ctx context.Context, id int64) (canceled, complete bool, err error) {
	jobs, canceled, err := s.jobCounts(ctx, id)
	return canceled, canceled || openJobs(jobs) == 0, err
}

// IsUninitialized reports whether every job of a workflow is uninitialized or disabled.
func (s Workflows) IsUninitialized(ctx context.Context, id int64) (bool, error) {
	jobs, _, err := s.jobCounts(ctx, id)
	jobs[workflow.Uninitialized], jobs[workflow.Disabled] = 0, 0
	return jobs == [11]int64{}, err
}

func (s Workflows) jobCounts(ctx context.Context, id int64) (jobs [11]int64, canceled bool, err error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return jobs, false, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx}
	err = l.row(`SELECT is_canceled FROM workflow WHERE id = ? AND is_hidden = 0`, []any{id}, &canceled)
	if err := OrNotFound(err, "workflow", id); err != nil {
		return jobs, false, err
	}
	if jobs, err = l.jobCounts(id); err != nil {
		return jobs, false, fmt.Errorf("count the jobs of workflow %d: %w", id, err)
	}
	return jobs, canceled, nil
}
