package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestCheckDeepOfTimesAndStages corrupts a run that has just started, with an end job and
// disabled undos, and the same run while it is undone.
func TestCheckDeepOfTimesAndStages(t *testing.T) {
	d := withUndo()
	d.Stages = append(d.Stages, workflow.StageDefinition{Kind: workflow.StageEnd, Name: "end"})
	d.Jobs = append(d.Jobs, job("end", int32(len(d.Stages))))
	s := newStaged(t, d)
	h := &history{rig: s.rig}
	s.setTimeouts(workflow.Timeouts{Queue: limit("1h", "")})
	type spoilt struct{ promise, text, spoil string }
	look := func(all []spoilt) {
		t.Helper()
		if findings := h.checkAfter(t, `SELECT 1`); len(findings) > 0 {
			t.Fatalf("nothing is wrong, but: %v", findings)
		}
		for _, tc := range all {
			findings := h.checkAfter(t, strings.Split(tc.spoil, ";")...)
			if !slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Promise == tc.promise && strings.Contains(f.Text, tc.text) }) {
				t.Errorf("findings %v, want one of %s with %q", findings, tc.promise, tc.text)
			}
		}
	}
	look([]spoilt{
		{"time", "it is not recorded since when", `UPDATE job SET ready_ms = NULL WHERE name = 'a'`},
		{"time", "but has status 1", `UPDATE job SET ready_ms = 1 WHERE name = 'b'`},
		{"hold", "a reason why it is held", `UPDATE job SET hold = '{}' WHERE name = 'a'`},
		{"hold", "without a reason", `UPDATE job SET status = 10, ready_ms = NULL WHERE name = 'a'`},
		{"stage", "its job has not started", `UPDATE job SET status = 5 WHERE name IN ('a', 'b')`},
		{"P11", "belongs to a compensation that is not running", `UPDATE job SET status = 1 WHERE name = 'undo/a'`},
		{"reference", "it undoes job", `INSERT INTO workflow (id, name, user, timestamp) VALUES (99, 'x', 'me', '');
			UPDATE job SET workflow_id = 99 WHERE name = 'a'`},
		{"reference", "it belongs to stage", `INSERT INTO workflow (id, name, user, timestamp) VALUES (99, 'x', 'me', '');
			INSERT INTO stage (workflow_id, kind, parent_id, name, policy) SELECT 99, 'end', id, 'e', '{}' FROM stage WHERE kind = 'end'`},
	})
	answer := s.node.turn()
	for range 3 { // a, b, end
		answer = s.end(answer, map[string]int64{"b": 1})
	}
	if got := s.compensation(); got != "running" {
		t.Fatalf("compensation: %q", got)
	}
	look([]spoilt{
		{"P11", "all jobs of it are complete", `UPDATE job SET status = 9 WHERE name LIKE 'undo/%'`},
		{"P11", "is still being undone, but the workflow is at run 2", `UPDATE workflow SET run_id = 2`},
	})
}
