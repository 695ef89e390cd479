package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestAddStepWords(t *testing.T) {
	for _, tc := range []struct {
		name, stderr string
		code         int64
		want         string // step state, exit code or signal, spawn error
	}{
		{"nothing", "", 3, "exit 3"},
		{"the command says so itself", "Out Of Memory\nslurm is fine\n", 1, "exit 1"},
		{"killed for memory", "srun: error: n1: task 0: Out Of Memory\n", 1, "OUT_OF_MEMORY"},
		{"its child was", "x\nslurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=1.2.\n", 0, "OUT_OF_MEMORY exit 0"},
		{"srun gave it up and exits with 0", "srun: error: Timed out waiting for job step to complete\n", 0, "signal 9"},
		{"never started", "srun: error: Unable to create step for job 12: Job/step already completing or completed\n", 1, "spawn"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "job.e")
			if err := os.WriteFile(path, []byte(tc.stderr), 0o600); err != nil {
				t.Fatal(err)
			}
			f := findings{files: stdio{stderr: path}}
			e := workflow.Evidence{ExitCode: &tc.code}
			f.addStepWords(&e)
			var got []string
			if e.Slurm != nil {
				got = append(got, e.Slurm.StepState)
			}
			if e.ExitCode != nil {
				got = append(got, "exit "+string('0'+rune(*e.ExitCode)))
			}
			if e.Signal != 0 {
				got = append(got, "signal "+string('0'+rune(e.Signal)))
			}
			if e.SpawnError != "" {
				got = append(got, "spawn")
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

func TestExplainByStep(t *testing.T) {
	code := func(n int64) *int64 { return &n }
	e := workflow.Evidence{ExitCode: code(1)}
	explainByStep(&e, &slurm.Record{State: slurm.OutOfMemory, MaxRSS: 5 << 20, Exit: slurm.ExitCode{Signal: 125}})
	if e.ExitCode != nil || e.Slurm.StepState != "OUT_OF_MEMORY" || e.Slurm.ExitCode != "0:125" || e.PeakMemoryBytes != 5<<20 {
		t.Errorf("out of memory: %+v, %+v", e, e.Slurm)
	}
	e = workflow.Evidence{ExitCode: code(139)}
	explainByStep(&e, &slurm.Record{State: slurm.Cancelled})
	if e.Slurm != nil || *e.ExitCode != 139 {
		t.Errorf("died by its own signal: %+v", e.Slurm)
	}
}

// TestExplainByJob: of what Slurm calls a timeout, one that came early was none;
// and an earlier life says nothing of this one.
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
		r := &Runner{began: began}
		r.onSlurmWords(slurmWordsMsg{records: []slurm.Record{earlier, tc.record}})
		got := ""
		if r.words.whole != nil {
			var e workflow.Evidence
			explainByJob(&e, r.words.whole)
			if got = e.Slurm.JobState; e.Slurm.Inferred {
				got += " inferred"
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestPauseWithoutAccounting: where nobody keeps accounts they are not asked for
// each second.
func TestPauseWithoutAccounting(t *testing.T) {
	r := &Runner{began: time.Now()}
	for _, want := range []time.Duration{2, 4, 8, 15, 15} {
		before := time.Now()
		r.log = slog.New(slog.DiscardHandler)
		r.onSlurmWords(slurmWordsMsg{err: errors.New("accounting storage is disabled"), unaccounted: true})
		if got := r.words.askAt.Sub(before).Truncate(time.Second); got != want*time.Second {
			t.Errorf("asked again after %s, want %s", got, want*time.Second)
		}
	}
	r.onSlurmWords(slurmWordsMsg{})
	if got := time.Until(r.words.askAt); got > wordPause {
		t.Errorf("it answers: asked again after %s", got)
	}
}

// TestHastened: steps that Slurm tells to end, since it has moved the end of
// their allocation forward, are preempted, and what comes after them, too.
func TestHastened(t *testing.T) {
	began := time.Now()
	before, after := began.Add(time.Hour), began.Add(10*time.Minute)
	r := &Runner{began: began, opts: Options{WorkflowID: 1}, about: &api.RegisterResponse{}, attempts: map[api.LeaseRef]*attempt{}}
	r.schedule = r.policy.schedule(began, before)
	step := &attempt{grant: api.Grant{LeaseRef: api.LeaseRef{JobID: 1, Attempt: 1}}}
	report := func(e workflow.Evidence) *api.Report { return &api.Report{LeaseRef: step.ref(), Evidence: e} }
	r.steps = &stepMode{}
	if told := report(workflow.Evidence{Signal: 15}); !r.holdBack(step, told) || !r.words.wondering {
		t.Fatal("nobody wonders who ended a step")
	}
	r.onSlurmWords(slurmWordsMsg{queued: []slurm.Job{{State: slurm.Running, Start: began, End: after, TimeLimit: time.Hour}}})
	if n := len(r.turns.outbox); n != 1 || r.turns.outbox[0].Evidence.Slurm.JobState != "PREEMPTED" {
		t.Fatalf("%d reports: %+v", n, r.turns.outbox)
	}
	r.hearNews(&api.TurnResponse{EndTime: before.Format(time.RFC3339)}) // the daemon has not looked yet
	if !r.schedule.end.Equal(after) {
		t.Errorf("the end is %s, want %s", r.schedule.end, after)
	}
	drained := report(workflow.Evidence{Signal: 15, KilledBy: workflow.KilledByDrain})
	if r.holdBack(step, drained) || drained.Evidence.Slurm == nil {
		t.Errorf("drained: %+v", drained.Evidence)
	}
	if failed := report(workflow.Evidence{Signal: 11}); !r.holdBack(step, failed) || failed.Evidence.Slurm != nil {
		t.Errorf("crashed: %+v", failed.Evidence)
	}
}

// TestSlurmIsFaster: steps that end at the moment in which Slurm tells the runner
// to leave, or just before, have not failed by themselves.
func TestSlurmIsFaster(t *testing.T) {
	began := time.Now()
	r := &Runner{began: began, opts: Options{WorkflowID: 1, KillWait: 30 * time.Second, Steps: &Steps{}}, about: &api.RegisterResponse{},
		attempts: map[api.LeaseRef]*attempt{}, log: slog.New(slog.DiscardHandler), steps: &stepMode{}}
	r.schedule = r.policy.schedule(began, began.Add(time.Hour))
	step := &attempt{grant: api.Grant{LeaseRef: api.LeaseRef{JobID: 1, Attempt: 1}}}
	report := func() *api.Report {
		return &api.Report{LeaseRef: step.ref(), Evidence: workflow.Evidence{Signal: 15}}
	}
	if !r.holdBack(step, report()) {
		t.Fatal("a step that was ended is reported at once")
	}
	r.yield(began)
	if !r.holdBack(step, report()) {
		t.Fatal("a step that was ended meanwhile is reported at once")
	}
	for i, held := range r.words.waiting {
		if e := held.report.Evidence; e.KilledBy != workflow.KilledByDrain || e.TimeLeftSeconds == 0 {
			t.Errorf("report %d: %+v", i, e)
		}
	}
	r.onSlurmWords(slurmWordsMsg{queued: []slurm.Job{{State: slurm.Completing}}})
	if n := len(r.turns.outbox); n != 0 {
		t.Fatalf("%d reports before Slurm has said why: %+v", n, r.turns.outbox)
	}
	r.onSlurmWords(slurmWordsMsg{records: []slurm.Record{{State: slurm.Preempted, End: began.Add(time.Second)}}})
	if n := len(r.turns.outbox); n != 2 || r.turns.outbox[0].Evidence.Slurm.JobState != "PREEMPTED" {
		t.Errorf("%d reports: %+v", n, r.turns.outbox)
	}
}

// accounting is a Slurm that knows the states of job 77; without any it has no
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

// TestSlurmSaysWhy has Slurm end a runner: what it knows of the reason goes with
// the reports, and without an answer they leave in time all the same.
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
			o.Steps = &Steps{Job: slurm.JobID{Number: 77}, Slurm: slurm.New(slurm.Options{Executor: tc.slurm})}
			r := start(t, o)
			pidIn(t, dir+"/pid")
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

// TestNobodyToAsk has Slurm end a runner that knows of no Slurm to ask, as one
// started by hand may be.
func TestNobodyToAsk(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("echo $$ > " + dir + "/pid; exec sleep 60"))
	o := testOptions(t, d)
	o.KillWait = 3 * time.Second
	r := start(t, o)
	pidIn(t, dir+"/pid")
	r.Stop(StopSlurm)
	r.wait(t)
	if e := d.Job(1).Attempts[0].Evidence; e.KilledBy != workflow.KilledByDrain || e.Slurm != nil {
		t.Errorf("evidence %+v", e)
	}
}
