package runner

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestExplainByJob: a timeout according to Slurm that came too early is not one, and an
// earlier restart does not explain this one.
func TestExplainByJob(t *testing.T) {
	began := time.Unix(1_000_000, 0)
	life := func(state slurm.State, start, end time.Duration) slurm.Record {
		return slurm.Record{State: state, Start: began.Add(start), End: began.Add(end), TimeLimit: 10 * time.Minute}
	}
	earlier := life(slurm.NodeFail, -time.Hour, -50*time.Minute)
	for name, tc := range map[string]struct {
		record slurm.Record
		want   string
	}{
		"preempted with a grace time": {life(slurm.Timeout, 0, 8*time.Second), "PREEMPTED inferred"},
		"out of time":                 {life(slurm.Timeout, 0, 10*time.Minute), "TIMEOUT"},
		"preempted":                   {life(slurm.Preempted, 0, 8*time.Second), "PREEMPTED"},
		"still runs":                  {slurm.Record{State: slurm.Running, Start: began}, ""},
	} {
		r := (&Runner{began: began}).linkParts()
		r.slurmReasons.onAnswer(slurmReasonsMsg{records: []slurm.Record{earlier, tc.record}})
		got := ""
		if r.slurmReasons.allocation != nil {
			var e workflow.Evidence
			steps.ExplainByJob(&e, r.slurmReasons.allocation)
			if got = e.Slurm.JobState; e.Slurm.Inferred {
				got += " inferred"
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestPauseWithoutAccounting: without accounting, sacct is not called each second.
func TestPauseWithoutAccounting(t *testing.T) {
	r := (&Runner{began: time.Now()}).linkParts()
	for _, want := range []time.Duration{2, 4, 8, 15, 15} {
		before := time.Now()
		r.log = slog.New(slog.DiscardHandler)
		r.slurmReasons.onAnswer(slurmReasonsMsg{err: errors.New("accounting storage is disabled"), unaccounted: true})
		if got := r.slurmReasons.pollAt.Sub(before).Truncate(time.Second); got != want*time.Second {
			t.Errorf("polled again after %s, want %s", got, want*time.Second)
		}
	}
	r.slurmReasons.onAnswer(slurmReasonsMsg{})
	if got := time.Until(r.slurmReasons.pollAt); got > recordPause {
		t.Errorf("it answers: polled again after %s", got)
	}
}

// TestEndMovedForward: steps that Slurm tells to end because it has moved the end of their
// allocation forward are preempted, and so are later ones.
func TestEndMovedForward(t *testing.T) {
	began := time.Now()
	before, after := began.Add(time.Hour), began.Add(10*time.Minute)
	r := (&Runner{began: began, opts: Options{WorkflowID: 1}, about: &lease.RegisterResponse{}, work: work{attempts: map[lease.LeaseRef]*attempt{}}}).linkParts()
	r.schedule = r.policy.schedule(began, before)
	step := &attempt{grant: lease.Grant{LeaseRef: lease.LeaseRef{JobID: 1, Attempt: 1}}}
	report := func(e workflow.Evidence) *lease.Report { return &lease.Report{LeaseRef: step.ref(), Evidence: e} }
	r.steps = &steps.Mode{}
	if told := report(workflow.Evidence{Signal: 15}); !r.slurmReasons.holdReport(step, told) || !r.slurmReasons.queueWanted {
		t.Fatal("no reason is sought for the end of a step")
	}
	r.slurmReasons.onAnswer(slurmReasonsMsg{queued: []slurm.Job{{State: slurm.Running, Start: began, End: after, TimeLimit: time.Hour}}})
	if n := len(r.turns.outbox); n != 1 || r.turns.outbox[0].Evidence.Slurm.JobState != "PREEMPTED" {
		t.Fatalf("%d reports: %+v", n, r.turns.outbox)
	}
	r.turns.updateState(&lease.TurnResponse{EndTime: before.Format(time.RFC3339)}) // the daemon has not polled yet
	if !r.schedule.end.Equal(after) {
		t.Errorf("the end is %s, want %s", r.schedule.end, after)
	}
	drained := report(workflow.Evidence{Signal: 15, KilledBy: workflow.KilledByDrain})
	if r.slurmReasons.holdReport(step, drained) || drained.Evidence.Slurm == nil {
		t.Errorf("drained: %+v", drained.Evidence)
	}
	if failed := report(workflow.Evidence{Signal: 11}); !r.slurmReasons.holdReport(step, failed) || failed.Evidence.Slurm != nil {
		t.Errorf("crashed: %+v", failed.Evidence)
	}
}

// TestSlurmIsFaster: steps that end at the moment at which Slurm tells the runner to
// leave, or just before, have not failed by themselves.
func TestSlurmIsFaster(t *testing.T) {
	began := time.Now()
	r := (&Runner{began: began, opts: Options{WorkflowID: 1, KillWait: 30 * time.Second, Steps: &steps.Starter{}}, about: &lease.RegisterResponse{},
		work: work{attempts: map[lease.LeaseRef]*attempt{}}, log: slog.New(slog.DiscardHandler), steps: &steps.Mode{}}).linkParts()
	r.schedule = r.policy.schedule(began, began.Add(time.Hour))
	step := &attempt{grant: lease.Grant{LeaseRef: lease.LeaseRef{JobID: 1, Attempt: 1}}}
	report := func() *lease.Report {
		return &lease.Report{LeaseRef: step.ref(), Evidence: workflow.Evidence{Signal: 15}}
	}
	if !r.slurmReasons.holdReport(step, report()) {
		t.Fatal("a step that was ended is reported at once")
	}
	r.leaving.stopForSlurm(began)
	if !r.slurmReasons.holdReport(step, report()) {
		t.Fatal("a step that was ended in the meantime is reported at once")
	}
	for i, held := range r.slurmReasons.waiting {
		if e := held.report.Evidence; e.KilledBy != workflow.KilledByDrain || e.TimeLeftSeconds == 0 {
			t.Errorf("report %d: %+v", i, e)
		}
	}
	r.slurmReasons.onAnswer(slurmReasonsMsg{queued: []slurm.Job{{State: slurm.Completing}}})
	if n := len(r.turns.outbox); n != 0 {
		t.Fatalf("%d reports before Slurm has given the reason: %+v", n, r.turns.outbox)
	}
	r.slurmReasons.onAnswer(slurmReasonsMsg{records: []slurm.Record{{State: slurm.Preempted, End: began.Add(time.Second)}}})
	if n := len(r.turns.outbox); n != 2 || r.turns.outbox[0].Evidence.Slurm.JobState != "PREEMPTED" {
		t.Errorf("%d reports: %+v", n, r.turns.outbox)
	}
}

// accounting is a Slurm that knows the states of job 77; without states it does not
// answer.
type accounting struct{ states []string }

func (a accounting) Run(_ context.Context, cmd slurm.Command) (slurm.Output, error) {
	if a.states == nil {
		return slurm.Output{}, nil
	}
	fields := 1
	for _, arg := range cmd.Args {
		if list, ok := strings.CutPrefix(arg, "--format=JobID,State,"); ok {
			fields = 3 + strings.Count(list, ",")
		}
	}
	more := strings.Repeat("\x1f", fields-2) + "\n"
	out := "JobID\x1fState" + more
	for _, state := range a.states {
		out += "77\x1f" + state + more
	}
	return slurm.Output{Stdout: []byte(out)}, nil
}

// TestSlurmSaysWhy has Slurm end a runner: the reason that it knows is part of the
// reports, and without an answer they are sent in time nevertheless.
func TestSlurmSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		slurm accounting
		state string
	}{
		"known":      {accounting{[]string{"CANCELLED by 0"}}, "CANCELLED"},
		"not known":  {accounting{[]string{}}, ""},
		"no answer":  {accounting{}, ""},
		"still runs": {accounting{[]string{"RUNNING"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := runnertest.New(job("echo $$ > " + dir + "/pid; exec sleep 60"))
			o := testOptions(t, d)
			o.KillWait, o.TimeLimit = 3*time.Second, time.Hour
			o.Steps = &steps.Starter{Job: slurm.JobID{Number: 77}, Slurm: slurm.New(slurm.Options{Executor: tc.slurm})}
			r := start(t, o)
			runnertest.ProcessIn(t, dir+"/pid")
			asked := time.Now()
			r.Stop(StopSlurm)
			r.wait(t)
			if took := time.Since(asked); took > o.KillWait {
				t.Errorf("it took %s", took)
			}
			e := d.Job(1).Attempts[0].Evidence
			if e.KilledBy != workflow.KilledByDrain || e.TimeLeftSeconds < 3500 {
				t.Errorf("evidence %+v", e)
			}
			if e.Slurm == nil && tc.state != "" || e.Slurm != nil && e.Slurm.JobState != tc.state {
				t.Errorf("Slurm says %+v, want %q", e.Slurm, tc.state)
			}
		})
	}
}

// TestNobodyToAsk has Slurm end a runner that knows of no Slurm, such as one started by
// hand.
func TestNobodyToAsk(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("echo $$ > " + dir + "/pid; exec sleep 60"))
	o := testOptions(t, d)
	o.KillWait = 3 * time.Second
	r := start(t, o)
	runnertest.ProcessIn(t, dir+"/pid")
	r.Stop(StopSlurm)
	r.wait(t)
	if e := d.Job(1).Attempts[0].Evidence; e.KilledBy != workflow.KilledByDrain || e.Slurm != nil {
		t.Errorf("evidence %+v", e)
	}
}
