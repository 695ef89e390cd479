package store

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// attempts lists the recorded attempts of a job.
func (r *rig) attempts(i int) []string {
	r.tb.Helper()
	all, err := r.Jobs.Attempts(r.ctx, r.ids[i])
	r.must(err)
	var lines []string
	for _, a := range all {
		if a.EndedMS != nil {
			lines = append(lines, fmt.Sprintf("%d %s %s %d %s", a.AttemptID, a.Cause.Kind, a.Status, a.ReturnCode, a.Decision.Action))
		}
	}
	return lines
}

func TestHandlerRetriesWithoutScript(t *testing.T) {
	r := newRig(t)
	h := r.handler(`[{"exit_codes": [7], "max_retries": 3}]`)
	r.add(rigJob{handler: h})
	hand := r.hand("n1", 1)
	hand.turn()
	for i := range 3 {
		if g := hand.held[0]; g.Attempt != int64(i+1) {
			t.Errorf("attempt %d, want %d", g.Attempt, i+1)
		}
		hand.turn(exited(hand.held[0].LeaseRef, 7))
	}
	r.want(workflow.Failed)
	want := []string{"1 exit failed 7 retry", "2 exit failed 7 retry", "3 exit failed 7 fail"}
	if diff := cmp.Diff(want, r.attempts(0)); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	var v struct {
		Retried int64            `json:"retried"`
		ByCause map[string]int64 `json:"by_cause"`
	}
	r.verdict(&v)
	if v.Retried != 2 || v.ByCause["exit"] != 3 {
		t.Errorf("verdict: %+v", v)
	}
}

// verdict reads the payload of the latest verdict.
func (r *rig) verdict(into any) {
	r.tb.Helper()
	var payload string
	r.must(r.db.Read.QueryRowContext(r.ctx, `SELECT payload FROM verdict ORDER BY run_id DESC, generation DESC LIMIT 1`).Scan(&payload))
	r.must(json.Unmarshal([]byte(payload), into))
}

func TestRecoveryRunsBeforeTheNextAttempt(t *testing.T) {
	for _, script := range []struct {
		name string
		code int64
		err  string
	}{{"repaired", 0, ""}, {"broken", 2, ""}, {"too slow", 0, "timed out"}} {
		t.Run(script.name, func(t *testing.T) {
			r := newRig(t)
			r.add(rigJob{handler: r.handler(`[{"exit_codes": [7], "recovery_script": "./fix", "max_retries": 2}]`)})
			h, other := r.hand("n1", 1), r.hand("n2", 1)
			h.turn()
			ref := h.held[0].LeaseRef
			answer := h.turn(exited(ref, 7))
			order := answer.Results[0].Recovery
			if order == nil || order.Script != "./fix" || order.ReturnCode != 7 || order.TimeoutSeconds <= 0 {
				t.Fatalf("result: %+v", answer.Results[0])
			}
			if len(answer.Grants) > 0 {
				t.Errorf("the order that is in the result is granted too: %+v", answer.Grants)
			}
			if n := len(other.turn().Grants); n > 0 {
				t.Errorf("somebody else was granted the job under repair")
			}
			// The answer was lost: the order comes again as a grant.
			again := h.turn().Grants
			if len(again) != 1 || again[0].Recovery == nil || again[0].LeaseRef != ref {
				t.Errorf("grants: %+v", again)
			}
			// Repeating the report returns the same order.
			if res := h.turn(exited(ref, 7)).Results[0]; res.Outcome != lease.Duplicate || res.Recovery == nil {
				t.Errorf("the same report: %+v", res)
			}
			h.free.Slots = 0
			rec := lease.Recovered{LeaseRef: ref, ReturnCode: script.code, Error: script.err}
			if res := h.say(lease.TurnRequest{Recovered: []lease.Recovered{rec}}).Results[0]; res.Status != workflow.Ready || res.Outcome != lease.Accepted {
				t.Errorf("recovered: %+v", res)
			}
			if res := h.say(lease.TurnRequest{Recovered: []lease.Recovered{rec}}).Results[0]; res.Outcome != lease.Duplicate {
				t.Errorf("recovered twice: %+v", res)
			}
			g := other.turn().Grants
			if len(g) != 1 || g[0].Attempt != 2 || g[0].Recovery != nil {
				t.Errorf("the next attempt: %+v", g)
			}
			other.turn(exited(g[0].LeaseRef, 7))
			r.want(workflow.Failed)
		})
	}
}

func TestRunnerThatDiesDuringRecovery(t *testing.T) {
	r := newRig(t)
	r.add(rigJob{handler: r.handler(`[{"match_all_exit_codes": true, "recovery_script": "./fix"}]`)})
	h := r.hand("n1", 1)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 7))
	r.must(r.Runners.Expire(r.ctx, h.id, "silent"))
	r.want(workflow.Ready)
	if diff := cmp.Diff([]string{"1 exit failed 7 recover"}, r.attempts(0)); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

// What a recovery order says about its failure is done, however it fails.
func TestFailedRecoveryPreventsRetry(t *testing.T) {
	for _, test := range []struct {
		onError workflow.Action
		want    workflow.JobStatus
	}{{workflow.ActionFail, failed}, {workflow.ActionHold, held}, {workflow.ActionRetry, ready}} {
		for _, how := range []string{"reported", "given back", "runner lost"} {
			t.Run(string(test.onError)+" "+how, func(t *testing.T) {
				r := newRig(t)
				r.add(rigJob{handler: r.handler(`[{"match_all_exit_codes": true, "recovery_script": "./fix"}]`)}, rigJob{after: []int{0}})
				h := r.hand("n1", 1)
				h.turn()
				ref := h.held[0].LeaseRef
				h.turn(exited(ref, 7))
				r.do(func(tx *core.Tx) error {
					return tx.ExecOne(`UPDATE job SET recovery = json_set(recovery, '$.on_error', ?) WHERE id = ?`, string(test.onError), ref.JobID)
				})
				h.free.Slots = 0
				switch how {
				case "reported":
					h.say(lease.TurnRequest{Recovered: []lease.Recovered{{LeaseRef: ref, ReturnCode: 2}}})
				case "given back":
					h.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{ref}})
				default:
					r.must(r.Runners.Expire(r.ctx, h.id, "silent"))
				}
				behind := blocked
				if test.want == failed {
					behind = canceled
				}
				r.want(test.want, behind)
			})
		}
	}
}

func TestUnmatchedFailureIsHeld(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET use_pending_failed = 1 WHERE id = ?`, r.workflow)
	})
	h := r.hand("n1", 1)
	h.turn()
	answer := h.turn(exited(h.held[0].LeaseRef, 7))
	if answer.Complete || answer.OpenJobs != 2 {
		t.Errorf("answer: %+v", answer)
	}
	r.want(workflow.PendingFailed, workflow.Blocked)
	j, err := r.Jobs.Get(r.ctx, r.ids[0])
	r.must(err)
	if j.Hold == nil || j.Hold.Reason == "" {
		t.Errorf("hold: %+v", j.Hold)
	}
}

func TestDefaultPolicy(t *testing.T) {
	for _, test := range []struct {
		name     string
		evidence workflow.Evidence
		want     workflow.JobStatus
		avoid    bool
		counted  int64
	}{
		{"drained", workflow.Evidence{KilledBy: workflow.KilledByDrain, Signal: 15}, workflow.Ready, false, 0},
		{"node fails", workflow.Evidence{Slurm: &workflow.SlurmEvidence{JobState: "NODE_FAIL"}}, workflow.Ready, true, 1},
		{"launch on a broken node", workflow.Evidence{SpawnError: "fork: resource temporarily unavailable", SpawnErrno: 11}, workflow.Ready, true, 1},
		{"no such command", workflow.Evidence{SpawnError: "no such file", SpawnErrno: 2, SpawnOfCommand: true}, workflow.Failed, false, 0},
		{"timeout", workflow.Evidence{KilledBy: workflow.KilledByTimeout, Signal: 9}, workflow.Terminated, false, 0},
		{"canceled", workflow.Evidence{KilledBy: workflow.KilledByCancel, Signal: 15}, workflow.Canceled, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			h := r.hand("n1", 1)
			h.turn()
			h.free.Slots = 0
			h.turn(lease.Report{LeaseRef: h.held[0].LeaseRef, StartedMS: 1, EndedMS: 2, Evidence: test.evidence})
			r.want(test.want)
			if n := r.number(`SELECT COALESCE(avoid_nodes = '[{"node":"n1"}]', 0) FROM job`); (n == 1) != test.avoid {
				t.Errorf("avoids the node: %d", n)
			}
			if n := r.number(`SELECT counted_failures FROM job`); n != test.counted {
				t.Errorf("%d counted failures, want %d", n, test.counted)
			}
		})
	}
}

func TestDelayedJobIsNotClaimed(t *testing.T) {
	r := newRig(t, independent(1)...)
	h := r.hand("n1", 1)
	h.turn()
	spawn := workflow.Evidence{SpawnError: "fork failed", SpawnErrno: 11}
	answer := h.turn(lease.Report{LeaseRef: h.held[0].LeaseRef, StartedMS: 1, EndedMS: 2, Evidence: spawn})
	if len(answer.Grants) > 0 {
		t.Fatalf("granted before its time: %+v", answer.Grants)
	}
	at := r.changes[len(r.changes)-1].NotBefore
	if wait := at - r.now.UnixMilli(); wait != 5000 {
		t.Errorf("claimable in %d ms, want 5000", wait)
	}
	if jobs, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 5, nil); err != nil || len(jobs) > 0 {
		t.Errorf("claimed %d jobs before their time, %v", len(jobs), err)
	}
	if answer := h.turn(); !answer.ClaimableLater {
		t.Error("the runner is told that there will be no work")
	}
	r.now = r.now.Add(5_000_000_000)
	if n := len(h.turn().Grants); n != 1 {
		t.Errorf("%d grants when the time has come, want 1", n)
	}
}

func TestAvoidedNode(t *testing.T) {
	r := newRig(t, independent(2)...)
	bad := r.hand("bad", 1)
	bad.turn()
	bad.free.Slots = 2
	lost := lease.Report{LeaseRef: bad.held[0].LeaseRef, StartedMS: 1, EndedMS: 2, Evidence: workflow.Evidence{LostRunner: true}}
	good := r.hand("good", 1)
	answer := bad.turn(lost)
	if len(answer.Grants) != 1 || answer.Grants[0].JobID != r.ids[1] {
		t.Errorf("the node that is avoided got %+v", answer.Grants)
	}
	_, err := r.Runners.Leave(r.ctx, good.id, lease.LeaveRequest{})
	r.must(err)
	r.Scheduling.PublishPlaces(r.workflow, fakePlaces{elsewhere: func(node string) bool { return node == "bad" }})
	bad.held = nil // it returns the other job
	bad.free.Slots = 2
	if answer := bad.turn(); len(answer.Grants) != 1 || answer.Grants[0].JobID != r.ids[1] {
		t.Errorf("an allocation elsewhere will be asked for, and the node that is avoided got %+v", answer.Grants)
	}
	bad.free.Slots = 1
	if answer := bad.turn(exited(bad.held[0].LeaseRef, 0)); len(answer.Grants) != 0 || answer.ClaimableLater {
		t.Errorf("the node that is avoided got %+v, and is to wait for more: %v", answer.Grants, answer.ClaimableLater)
	}
	r.Scheduling.PublishPlaces(r.workflow, nil)
	bad.free.Slots = 0
	if answer := bad.turn(); len(answer.Grants) != 0 || !answer.ClaimableLater {
		t.Errorf("a runner on the only node that is left, which does not ask now, is not to wait: %+v", answer)
	}
	bad.free.Slots = 1
	if g := bad.turn().Grants; len(g) != 1 || g[0].JobID != r.ids[0] || g[0].Attempt != 2 {
		t.Errorf("the only node that is left got %+v", g)
	}
}

func TestLostRunner(t *testing.T) {
	r := newRig(t, independent(2)...)
	h := r.hand("n1", 2)
	h.turn()
	h.held[0].StartedMS = 5
	h.turn()
	r.must(r.Runners.Expire(r.ctx, h.id, "the allocation is gone"))
	r.want(workflow.Ready, workflow.Ready)
	if diff := cmp.Diff([]string{"1 lost failed -128 retry"}, r.attempts(0)); diff != "" {
		t.Errorf("attempts of the running job (-want +got):\n%s", diff)
	}
	if got := r.attempts(1); got != nil {
		t.Errorf("attempts of the job that was never started: %v", got)
	}
	r.must(r.Runners.Expire(r.ctx, h.id, "again"))
	if n := r.number(`SELECT COUNT(*) FROM attempt`); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

func TestFileTimesOfOutputsAreKept(t *testing.T) {
	r := newRig(t, independent(1)...)
	var out, other int64
	r.do(func(tx *core.Tx) (err error) {
		if out, err = tx.Insert(`INSERT INTO file (workflow_id, name, path) VALUES (?, 'o', '/o')`, r.workflow); err != nil {
			return err
		}
		if other, err = tx.Insert(`INSERT INTO file (workflow_id, name, path) VALUES (?, 'x', '/x')`, r.workflow); err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO job_output_file (job_id, file_id) VALUES (?, ?)`, r.ids[0], out)
		return err
	})
	h := r.hand("n1", 1)
	g := h.turn().Grants[0]
	if diff := cmp.Diff([]lease.GrantFile{{ID: out, Path: "/o"}}, g.OutputFiles); diff != "" {
		t.Errorf("output files (-want +got):\n%s", diff)
	}
	rep := exited(g.LeaseRef, 0)
	rep.FileTimes = []lease.FileTime{{FileID: out, ModTime: 12.5}, {FileID: other, ModTime: 13.5}}
	h.turn(rep)
	if n := r.number(`SELECT COUNT(*) FROM file WHERE st_mtime = 12.5 AND id = ? OR st_mtime IS NULL AND id = ?`, out, other); n != 2 {
		t.Errorf("%d of 2 file times are right", n)
	}
}
