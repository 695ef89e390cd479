package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// modelState is the state in the database.
type modelState struct {
	status      workflow.JobStatus
	attempt     int64
	fence       int64
	notBeforeMS int64
	holder      int64 // runner that has the job; 0 if none
	recovering  bool
	canceled    bool
	ended       bool
	twice       bool // a report is recorded, and also as late
	ruleCounts  string
	rest        string // what else distinguishes states
	attempts    []modelAttempt
	verdicts    int64
	generation  int64
	active      map[int64]bool
	newest      map[int64]int64 // turns, by runner
}

// modelAttempt is a record that never changes.
type modelAttempt struct {
	attempt, fence int64
	cause          workflow.CauseKind
	action         workflow.Action
	rule           string
	counted        bool
}

// state reads the database. What the transaction has collected has been flushed.
func (m *model) state() (*modelState, error) {
	s := &modelState{active: map[int64]bool{}, newest: map[int64]int64{}}
	err := m.tx.Row(`SELECT j.status, j.attempt_id, j.fence, j.not_before_ms, COALESCE(iif(j.status IN (3, 4), j.compute_node_id, 0), 0), j.phase,
			w.is_canceled, w.has_ended, w.end_generation,
			COALESCE(j.rule_counts, ''), j.counted_failures || COALESCE(j.recovery, '') || COALESCE(j.avoid_nodes, '') || w.is_halted || (j.cancel_fence = j.fence),
			(SELECT COUNT(*) FROM event e WHERE e.workflow_id = w.id AND e.type IN ('workflow_completed', 'workflow_failed', 'workflow_canceled')
				AND json_extract(e.data, '$.evaluated_by_end_step')),
			EXISTS (SELECT 1 FROM late_report l JOIN attempt a ON a.job_id = l.job_id AND a.attempt_id = l.attempt_id AND a.fence = l.fence
				WHERE l.job_id = j.id AND a.start_ms = json_extract(l.report, '$.StartedMS') AND a.end_ms = json_extract(l.report, '$.EndedMS'))
		FROM job j JOIN workflow w ON w.id = j.workflow_id WHERE j.id = ?`, []any{m.job},
		&s.status, &s.attempt, &s.fence, &s.notBeforeMS, &s.holder, &s.recovering, &s.canceled, &s.ended, &s.generation, &s.ruleCounts, &s.rest, &s.verdicts, &s.twice)
	if err != nil {
		return nil, err
	}
	rows, err := m.tx.Query(`SELECT attempt_id, fence, cause, action, rule, counted FROM attempt WHERE job_id = ? ORDER BY attempt_id`, m.job)
	if err != nil {
		return nil, err
	}
	s.attempts, err = sqlite.Collect(rows, func(r sqlite.Scanner) (a modelAttempt, err error) {
		return a, r.Scan(&a.attempt, &a.fence, &a.cause, &a.action, &a.rule, &a.counted)
	})
	if err != nil {
		return nil, err
	}
	if rows, err = m.tx.Query(`SELECT id, turn FROM compute_node WHERE workflow_id = ? AND is_active = 1`, m.workflow); err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, turn int64
		if err := rows.Scan(&id, &turn); err != nil {
			return nil, err
		}
		s.active[id], s.newest[id] = true, turn
	}
	return s, rows.Err()
}

// key distinguishes states whose futures may differ. Fences, times and runners count
// relative to each other, and the two machines are alike: how often something was done
// does not matter, nor by which of them.
func (m *model) key(w *world, s *modelState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d %v%v%v %s%s|", s.status, s.attempt, max(0, s.notBeforeMS-m.nowMS), s.canceled, s.ended, s.recovering, s.ruleCounts, s.rest)
	fmt.Fprintf(&b, "%d %v %d %d %d %d|", len(s.attempts), slices.Contains(w.begun, s.fence), w.faults, w.retries, w.cancels, max(0, w.earliestMS-m.nowMS))
	machines := make([]string, len(w.machines))
	for i := range w.machines {
		machines[i] = w.machines[i].key(s)
	}
	slices.Sort(machines)
	return b.String() + strings.Join(machines, "|")
}

func (n *machine) key(s *modelState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v %v", n.runner > 0, s.active[n.runner], n.runner == s.holder)
	for _, l := range n.held {
		s.writeRef(&b, l.ref)
		fmt.Fprint(&b, l.started, l.script)
	}
	s.writeReports(&b, n.said.Reports, n.said.Recovered)
	for _, t := range []*modelTurn{n.open, n.stray} {
		if t == nil {
			b.WriteByte('-')
			continue
		}
		fmt.Fprintf(&b, "[%v %v %d %v", t.runner == n.runner, s.active[t.runner], min(1, max(-1, t.Turn-s.newest[t.runner])), t.runner == s.holder)
		s.writeReports(&b, t.Reports, t.Recovered)
		for _, h := range t.Held {
			s.writeRef(&b, h.LeaseRef)
			fmt.Fprint(&b, h.StartedMS > 0)
		}
		fmt.Fprintf(&b, "%d]", t.Free.Slots)
	}
	s.writeReports(&b, n.spool, nil)
	for _, id := range n.ghosts {
		fmt.Fprint(&b, id == s.holder)
	}
	return b.String()
}

func (s *modelState) writeReports(b *strings.Builder, reports []lease.Report, recovered []lease.Recovered) {
	for i := range reports {
		s.writeRef(b, reports[i].LeaseRef)
		fmt.Fprintf(b, "%s,", evidenceName(&reports[i].Evidence))
	}
	for _, r := range recovered {
		s.writeRef(b, r.LeaseRef)
		fmt.Fprint(b, r.ReturnCode)
	}
	b.WriteByte(';')
}

// writeRef writes a lease with what is recorded of it.
func (s *modelState) writeRef(b *strings.Builder, r lease.LeaseRef) {
	fmt.Fprintf(b, "(%d %d", r.Attempt, s.fence-r.Fence)
	for _, a := range s.attempts {
		if a.attempt == r.Attempt && a.fence == r.Fence {
			fmt.Fprintf(b, " %s %s", a.cause, a.action)
		}
	}
	b.WriteByte(')')
}

func evidenceName(e *workflow.Evidence) string {
	if e.ExitCode != nil {
		return fmt.Sprint(*e.ExitCode)
	}
	return string(e.KilledBy)
}

// free returns how many uncounted retries a rule has granted.
func (s *modelState) free(rule string) int64 {
	var counts map[string]workflow.RuleCount
	if s.ruleCounts != "" {
		if err := json.Unmarshal([]byte(s.ruleCounts), &counts); err != nil {
			panic(err) // the store wrote it
		}
	}
	return counts[rule].Free
}
