package store

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// history is a database in which nearly everything has happened.
type history struct {
	*rig
	ended, open int64 // workflows
	copies      int
	witness     check.Witness
}

// exit reports that an attempt ran for a second and exited.
func (h *history) exit(ref lease.LeaseRef, code int64) lease.Report {
	start := h.now
	h.now = h.now.Add(time.Second)
	rep := lease.Report{LeaseRef: ref, StartedMS: start.UnixMilli(), EndedMS: h.now.UnixMilli(), Evidence: workflow.Evidence{ExitCode: &code}}
	h.witness.Spooled = append(h.witness.Spooled, check.SpooledReport{RunID: 1, LeaseRef: ref, EndedMS: rep.EndedMS, Answered: true})
	return rep
}

func newHistory(t *testing.T) *history {
	h := &history{rig: newRig(t)}
	// A job that succeeds at its second attempt, one that fails, and what is behind them.
	h.ended = h.workflow
	handler := h.handler(`[{"exit_codes": [9], "max_retries": 3}]`)
	h.add(rigJob{handler: handler}, rigJob{after: []int{0}}, rigJob{after: []int{1}}, rigJob{after: []int{2}})
	first := h.hand("n1", 2)
	first.turn()
	for _, code := range []int64{9, 0, 3} {
		first.turn(h.exit(first.held[0].LeaseRef, code))
	}
	h.want(workflow.Completed, workflow.Failed, workflow.Canceled, workflow.Canceled)

	// A workflow in progress: a late report, a lost runner, a running job, a ready one
	// behind a completed one, a blocked one.
	h.do(func(tx *core.Tx) (err error) {
		h.workflow, err = tx.Insert(`INSERT INTO workflow (name, user, timestamp, run_id) VALUES ('open', 'me', '', 1)`)
		return err
	})
	h.open, h.ids = h.workflow, nil
	h.add(rigJob{}, rigJob{after: []int{0}}, rigJob{after: []int{0}}, rigJob{after: []int{1, 2}}, rigJob{after: []int{3}})
	lost := h.hand("n2", 1)
	lost.turn()
	old := lost.held[0]
	old.StartedMS = h.now.UnixMilli()
	lost.say(lease.TurnRequest{Held: []lease.Held{old}})
	h.now = h.now.Add(5 * time.Minute)
	h.must(h.Runners.Expire(h.ctx, lost.id, "it is silent"))
	next := h.hand("n3", 1)
	next.turn()
	next.turn(h.exit(old.LeaseRef, 0)) // late
	next.turn(h.exit(next.held[0].LeaseRef, 0))
	running := next.held[0]
	running.StartedMS = h.now.UnixMilli()
	next.free.Slots = 0
	next.say(lease.TurnRequest{Held: []lease.Held{running}})
	h.want(workflow.Completed, workflow.Running, workflow.Ready, workflow.Blocked, workflow.Blocked)
	return h
}

// checkAfter checks a copy of the database deeply after statements have corrupted it.
func (h *history) checkAfter(t *testing.T, statements ...string) []check.Finding {
	t.Helper()
	h.copies++
	path := filepath.Join(filepath.Dir(h.Path()), fmt.Sprintf("copy%d.db", h.copies))
	h.must(h.Backup(t.Context(), path))
	alterFile(t, path, statements...)
	findings, err := check.Deep(t.Context(), path, h.witness)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func TestCheckDeep(t *testing.T) {
	h := newHistory(t)
	if findings := h.checkAfter(t, `SELECT 1`); len(findings) > 0 {
		t.Fatalf("nothing is wrong, but: %v", findings)
	}
	names := strings.NewReplacer("{ended}", fmt.Sprint(h.ended), "{open}", fmt.Sprint(h.open))
	for _, tc := range []struct {
		promise, text string
		spoil         string
	}{
		{"P1", "but the job is still running", `INSERT INTO attempt (job_id, run_id, attempt_id, workflow_id, fence, hostname, end_ms, status, return_code, cause, confidence, cause_text, action, reason)
			SELECT id, 1, attempt_id, workflow_id, fence, '', 0, 7, 0, 'canceled_user', 'certain', '', 'none', '' FROM job WHERE workflow_id = {open} AND name = 'j1';
			INSERT INTO cause_count VALUES ({open}, 1, 'canceled_user', 1, 0, 0)`},
		{"P1", "has not ended so", `UPDATE job SET attempt_id = 7, result_id = NULL WHERE workflow_id = {ended} AND name = 'j0'`},
		{"P1", "recovery script runs", `UPDATE job SET phase = 1, status = 3 WHERE workflow_id = {open} AND name = 'j1';
			UPDATE job_count SET n = n + 1 WHERE workflow_id = {open} AND status = 3; UPDATE job_count SET n = n - 1 WHERE workflow_id = {open} AND status = 4`},
		{"P1", "was recorded as well", `INSERT INTO late_report (workflow_id, job_id, run_id, attempt_id, fence, received_ms, report)
			SELECT workflow_id, job_id, run_id, attempt_id, fence, 0, json_object('StartedMS', start_ms, 'EndedMS', end_ms) FROM attempt WHERE workflow_id = {ended} LIMIT 1`},
		{"P2", "has ended 2 attempts", `UPDATE attempt SET fence = 2 WHERE workflow_id = {open} AND attempt_id = 1`},
		{"P2", "the fence fell", `UPDATE attempt SET fence = 3 WHERE workflow_id = {open} AND attempt_id = 1; UPDATE job SET fence = 3 WHERE workflow_id = {open} AND name = 'j0'`},
		{"P2", "had 2", `UPDATE job SET fence = 1 WHERE workflow_id = {ended} AND name = 'j0'`},
		{"P2", "is not there any more", `UPDATE compute_node SET is_active = 0 WHERE hostname = 'n3'`},
		{"P2", "without a lease", `UPDATE job SET fence = 0 WHERE workflow_id = {open} AND name = 'j1'`},
		{"P4", "is neither recorded nor late", `DELETE FROM late_report`},
		{"P5", "but its runner lived", `UPDATE owner SET started_ms = (SELECT end_ms - 1000 FROM attempt WHERE cause = 'lost')`},
		{"P6", "is not complete", `UPDATE job SET status = 2 WHERE workflow_id = {open} AND name = 'j4';
			UPDATE job_count SET n = n + 1 WHERE workflow_id = {open} AND status = 2; UPDATE job_count SET n = n - 1 WHERE workflow_id = {open} AND status = 1`},
		{"P6", "before a dependency ended", `UPDATE attempt SET start_ms = start_ms - 1 WHERE job_id = (SELECT id FROM job WHERE workflow_id = {ended} AND name = 'j1')`},
		{"P7", "its limits are", `UPDATE job SET rule_counts = '{"default/infra":{"counted":4}}', counted_failures = 4 WHERE workflow_id = {open} AND name = 'j0'`},
		{"P7", "there were 1 and 0", `UPDATE job SET rule_counts = '{"default/infra":{"counted":2}}', counted_failures = 2 WHERE workflow_id = {open} AND name = 'j0'`},
		{"P7", "its rules granted 1", `UPDATE job SET counted_failures = 0 WHERE workflow_id = {ended} AND name = 'j0'`},
		{"P7", "before its delay was over", `UPDATE event SET data = json_set(data, '$.not_before_ms',
			(SELECT start_ms + 2001 FROM attempt WHERE attempt_id = 2 AND workflow_id = {ended})) WHERE type = 'job_retried' AND workflow_id = {ended}`},
		{"P8", "was preempted and used budget", `UPDATE attempt SET cause = 'preempted', status = 8, return_code = -1,
			evidence = '{"slurm": {"job_state": "PREEMPTED"}}' WHERE cause = 'lost'; UPDATE cause_count SET cause = 'preempted' WHERE cause = 'lost'`},
		{"P11", "without a verdict", `UPDATE workflow SET end_generation = 1 WHERE id = {ended}`},
		{"P11", "but has a verdict", `UPDATE workflow SET has_ended = 0 WHERE id = {ended}`},
		{"P11", "but jobs are open", `INSERT INTO verdict VALUES ({open}, 1, 0, 'workflow_completed', '{}', 0);
			INSERT INTO event (workflow_id, seq, timestamp_ms, type, severity, data) SELECT id, event_seq + 1, 0, 'workflow_completed', 1,
				'{"run_id": 1, "end_generation": 0, "evaluated_by_end_step": true}' FROM workflow WHERE id = {open};
			INSERT INTO event (workflow_id, seq, timestamp_ms, type, severity, data) SELECT id, event_seq + 2, 0, 'user_action', 1, '{}' FROM workflow WHERE id = {open};
			UPDATE workflow SET has_ended = 1, event_seq = event_seq + 2 WHERE id = {open}`},
		{"P11", "nothing of run 1 is open", `UPDATE workflow SET has_ended = 0, end_generation = 1 WHERE id = {ended}`},
		{"P11", "2 events and 1 verdicts", `INSERT INTO event (workflow_id, seq, timestamp_ms, type, severity, data)
			SELECT workflow_id, seq + 1, 0, type, severity, data FROM event WHERE type = 'workflow_failed'; UPDATE workflow SET event_seq = event_seq + 1 WHERE id = {ended}`},
		{"P11", "canceled is 1, a recount says 2", `UPDATE verdict SET payload = json_set(payload, '$.canceled', 1) WHERE workflow_id = {ended}`},
		{"P11", "causes are", `UPDATE verdict SET payload = json_set(payload, '$.by_cause.oom', 1) WHERE workflow_id = {ended}`},
		{"P16", "the evidence says", `UPDATE attempt SET evidence = json_set(evidence, '$.exit_code', 4) WHERE workflow_id = {ended} AND return_code = 3`},
		{"P16", "the policies give retry", `UPDATE attempt SET action = 'fail', rule = '', counted = 0 WHERE workflow_id = {ended} AND return_code = 9;
			UPDATE cause_count SET retried = 0, counted = 0 WHERE workflow_id = {ended}; UPDATE verdict SET payload = json_set(payload, '$.retried', 0) WHERE workflow_id = {ended};
			UPDATE job SET rule_counts = NULL WHERE workflow_id = {ended}`},
		{"P16", "without evidence", `UPDATE attempt SET evidence = NULL WHERE workflow_id = {ended} AND return_code = 9`},
		{"P16", "are missing", `UPDATE attempt SET policy_hash = 'gone' WHERE workflow_id = {ended} AND return_code = 3`},
		{"P16", "they have the hash", `UPDATE policy_set SET policies = json_set(policies, '$.Default.retry_limit', 7)
			WHERE hash = (SELECT policy_hash FROM attempt WHERE workflow_id = {ended} AND return_code = 3)`},
		{"P17", "is missing", `DROP INDEX job_name`},
		{"P17", "is not what this release has", `ALTER TABLE task ADD COLUMN colour TEXT`},
		{"P18", "its log ends at", `DELETE FROM event WHERE workflow_id = {ended} AND seq = 2`},
		{"P18", "was written before", `UPDATE event SET seq = 100 WHERE workflow_id = {ended} AND seq = 1; UPDATE event SET seq = 1 WHERE workflow_id = {ended} AND seq = 2;
			UPDATE event SET seq = 2 WHERE workflow_id = {ended} AND seq = 100`},
		{"count", "job_count says", `UPDATE job_count SET n = n + 1 WHERE workflow_id = {ended} AND status = 5`},
		{"count", "job_count says 0", `DELETE FROM job_count WHERE workflow_id = {ended} AND status = 5`},
		{"count", "cause_count says", `UPDATE cause_count SET retried = 0 WHERE workflow_id = {ended}`},
		{"count", "cause_count says", `UPDATE cause_count SET counted = counted + 1 WHERE workflow_id = {ended} AND retried > 0`},
		{"count", "dependencies are open", `UPDATE gate SET failed = 1 WHERE workflow_id = {open} AND open = 0`},
		{"gate", "its hash does not match", `UPDATE gate SET hash = x'00' WHERE workflow_id = {open} AND open = 0`},
		{"gate", "has no open dependency", `UPDATE job SET status = 1 WHERE workflow_id = {open} AND name = 'j2';
			UPDATE job_count SET n = n + 1 WHERE workflow_id = {open} AND status = 1; UPDATE job_count SET n = n - 1 WHERE workflow_id = {open} AND status = 2`},
		{"gate", "but is not canceled", `UPDATE job SET skipped_by = (SELECT id FROM job WHERE workflow_id = {open} AND name = 'j0') WHERE workflow_id = {open} AND name = 'j2'`},
		{"gate", "no dependency was unsuccessful", `UPDATE job SET gate_id = (SELECT gate_id FROM job WHERE workflow_id = {ended} AND name = 'j1') WHERE workflow_id = {ended} AND name = 'j2'`},
		{"gate", "it depends on itself", `UPDATE job SET gate_id = (SELECT gate_id FROM job WHERE workflow_id = {open} AND name = 'j4') WHERE workflow_id = {open} AND name = 'j3'`},
		{"reference", "its runner 99", `UPDATE job SET compute_node_id = 99 WHERE workflow_id = {open} AND name = 'j1'`},
		{"reference", "skipped by 99", `UPDATE job SET skipped_by = 99 WHERE workflow_id = {ended} AND name = 'j2'`},
		{"reference", "its result", `UPDATE job SET result_id = 99 WHERE workflow_id = {ended} AND name = 'j0'`},
		{"reference", "its torc_extra cannot be read", `UPDATE workflow SET torc_extra = '{"access_groups":3}' WHERE id = {open}`},
		{"reference", "its torc_extra cannot be read", `UPDATE job SET torc_extra = 'true' WHERE workflow_id = {open} AND name = 'j1'`},
		{"reference", "late report", `UPDATE late_report SET workflow_id = 99`},
		{"reference", "refers to a row of job_env", `UPDATE job SET env_id = 99 WHERE workflow_id = {ended} AND name = 'j0'`},
	} {
		t.Run(tc.promise+" "+tc.text, func(t *testing.T) {
			wantFinding(t, h.checkAfter(t, strings.Split(names.Replace(tc.spoil), ";")...), tc.promise, tc.text)
		})
	}
}

// wantFinding expects exactly one finding.
func wantFinding(t *testing.T, findings []check.Finding, promise, text string) {
	t.Helper()
	if len(findings) != 1 || findings[0].Promise != promise || !strings.Contains(findings[0].String(), text) {
		t.Errorf("findings %v, want one of %s with %q", findings, promise, text)
	}
}

// TestSnapshotIsSound: a snapshot contains everything that the database does, also of
// workflows in progress.
func TestSnapshotIsSound(t *testing.T) {
	h := newHistory(t)
	path := filepath.Join(t.TempDir(), "snapshot.db")
	h.must(h.Snapshot(t.Context(), path, 1))
	if findings, err := check.Deep(t.Context(), path, h.witness); err != nil || len(findings) > 0 {
		t.Errorf("%v, %v", findings, err)
	}
}

func TestCheckDeepOfAcknowledgements(t *testing.T) {
	h := newHistory(t)
	job := h.ids[0]
	for _, tc := range []struct {
		said check.Acknowledged
		text string
	}{
		{check.Acknowledged{Workflows: []int64{h.ended, 99}}, "workflow 99"},
		{check.Acknowledged{Jobs: []int64{job, 98}}, "job 98"},
		{check.Acknowledged{Canceled: []int64{h.open}}, "canceled workflow"},
		{check.Acknowledged{Grants: []lease.LeaseRef{{JobID: job, Attempt: 1, Fence: 1}, {JobID: job, Attempt: 3, Fence: 3}}}, "attempt 3 was granted with fence 3"},
		{check.Acknowledged{Reports: []check.SpooledReport{
			{RunID: 1, LeaseRef: lease.LeaseRef{JobID: job, Attempt: 2, Fence: 2}, EndedMS: h.witness.Spooled[4].EndedMS, Answered: true},
			{RunID: 1, LeaseRef: lease.LeaseRef{JobID: job, Attempt: 3, Fence: 2}, Answered: true},
			{RunID: 1, LeaseRef: lease.LeaseRef{JobID: job, Attempt: 4, Fence: 2}}}}, "the report of attempt 3"},
	} {
		findings, err := check.Deep(t.Context(), h.Path(), check.Witness{Acknowledged: tc.said})
		if err != nil {
			t.Fatal(err)
		}
		wantFinding(t, findings, "P3", tc.text)
	}
}

func TestCheckOfADamagedFile(t *testing.T) {
	h := newHistory(t)
	path := filepath.Join(t.TempDir(), "copy.db")
	h.must(h.Backup(t.Context(), path))
	db, err := sql.Open("sqlite3", path)
	h.must(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		`PRAGMA writable_schema = on`,
		`UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'job_class') WHERE name = 'job_name'`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		h.must(err)
	}
	h.must(db.Close())
	findings, err := check.File(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) == 0 || findings[0].Promise != "file" {
		t.Errorf("findings %v, want some of the file", findings)
	}
}

// alterFile runs statements on a database as another program would.
func alterFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
