package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// fakeActions are actions that are always due.
type fakeActions struct {
	mu      sync.Mutex
	list    []api.Action
	claimed []int64
	refuse  bool
	away    int // this many calls get no answer
	lose    int // this many claims are carried out, and their answers lost
}

// errAway is the client's error while the daemon is down.
var errAway = fmt.Errorf("no answer: %w", context.DeadlineExceeded)

func (f *fakeActions) add(t testing.TB, trigger string, commands ...string) {
	t.Helper()
	config, err := json.Marshal(map[string]any{"commands": commands})
	if err != nil {
		t.Fatal(err)
	}
	f.list = append(f.list, api.Action{
		ID: ptr(int64(len(f.list) + 1)), TriggerType: trigger, ActionType: action.RunCommands,
		ActionConfig: config, TriggerCount: ptr(int64(1)), RequiredTriggers: ptr(int64(1)),
	})
}

func (f *fakeActions) Actions(context.Context, int64) ([]api.Action, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away > 0 {
		f.away--
		return nil, errAway
	}
	return slices.Clone(f.list), nil
}

func (f *fakeActions) ClaimAction(_ context.Context, _, id, runner int64) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away > 0 {
		f.away--
		return false, errAway
	}
	f.claimed = append(f.claimed, id)
	f.list[id-1].Executed, f.list[id-1].ExecutedBy = ptr(true), &runner
	if f.lose > 0 {
		f.lose--
		return false, errAway
	}
	return !f.refuse, nil
}

func TestActions(t *testing.T) {
	dir := t.TempDir()
	note := func(word string) string { return "echo " + word + " >> " + dir + "/order" }
	f := &fakeActions{}
	f.add(t, action.TriggerWorkflowStart, note("start"), "pwd; env | grep ^TORC_ | grep -v KEY | sort")
	f.add(t, action.TriggerWorkerStart, note("worker-start"))
	f.add(t, action.TriggerJobsComplete, note("jobs-complete"), "false", note("never"))
	f.add(t, action.TriggerWorkflowComplete, note("end"))
	f.add(t, action.TriggerWorkerComplete, note("worker-end"))
	f.add(t, "on_tuesdays", note("never"))
	d := runnertest.New(job(note("job")))
	o := testOptions(t, d)
	o.Actions = f
	var messages []string
	o.OnEvent = func(e Event) {
		if e.Kind == EventAction {
			if e.Failed != strings.HasSuffix(e.Message, "return code 1") {
				t.Errorf("%q: failed %t", e.Message, e.Failed)
			}
			messages = append(messages, e.Message)
		}
	}
	run(t, o)
	data, err := os.ReadFile(dir + "/order")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(data))
	if !slices.Equal(words[:3], []string{"start", "worker-start", "job"}) || slices.Contains(words, "never") {
		t.Errorf("order %v", words)
	}
	rest := words[3:]
	slices.Sort(rest)
	if !slices.Equal(rest, []string{"end", "jobs-complete", "worker-end"}) {
		t.Errorf("rest %v", rest)
	}
	out, err := os.ReadFile(o.OutputDir + "/" + output.StdioDir + "/action_wf1_ac1_r1_c2.o")
	if err != nil {
		t.Fatal(err)
	}
	if want := o.OutputDir + "\nTORC_OUTPUT_DIR=" + o.OutputDir + "\nTORC_RUN_ID=1\nTORC_WORKFLOW_ID=1\n"; string(out) != want {
		t.Errorf("command saw %q, want %q", out, want)
	}
	if len(messages) != 7 || !strings.Contains(strings.Join(messages, "\n"), "return code 1") {
		t.Errorf("events %q", messages)
	}
}

func TestActionOfAnotherRunner(t *testing.T) {
	dir := t.TempDir()
	f := &fakeActions{refuse: true}
	f.add(t, action.TriggerWorkflowStart, "touch "+dir+"/ran")
	o := testOptions(t, runnertest.New(job("true")))
	o.Actions = f
	run(t, o)
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("the action ran")
	}
	if len(f.claimed) != 1 {
		t.Errorf("claimed %v", f.claimed)
	}
}

// TestActionsOfTheStartWaitForTheDaemon: they run once, before jobs, however long it
// takes until the daemon answers.
func TestActionsOfTheStartWaitForTheDaemon(t *testing.T) {
	for name, f := range map[string]*fakeActions{
		"no answer to polls":     {away: 2},
		"no answer to the claim": {lose: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f.add(t, action.TriggerWorkflowStart, "echo start >> "+dir+"/order")
			f.add(t, action.TriggerWorkerStart, "echo worker-start >> "+dir+"/order")
			d := runnertest.New(job("echo job >> " + dir + "/order"))
			d.Welcome.WaitForHealthyMins = 20
			o := testOptions(t, d)
			o.Actions = f
			run(t, o)
			order, err := os.ReadFile(dir + "/order")
			if got := strings.Join(strings.Fields(string(order)), " "); err != nil || got != "start worker-start job" {
				t.Errorf("order %q, %v", got, err)
			}
		})
	}
}

// TestActionsThatNobodyAnswersAbout: jobs run without them when the runner has waited
// long enough for the daemon.
func TestActionsThatNobodyAnswersAbout(t *testing.T) {
	f := &fakeActions{away: 1000}
	f.add(t, action.TriggerWorkflowStart, "true")
	d := runnertest.New(job("true"))
	d.Welcome.WaitForHealthyMins = 0
	o := testOptions(t, d)
	o.Actions = f
	if s := run(t, o); !s.Complete || len(f.claimed) != 0 {
		t.Errorf("summary %+v, claimed %v", s, f.claimed)
	}
}

func TestStopEndsActions(t *testing.T) {
	dir := t.TempDir()
	f := &fakeActions{}
	f.add(t, action.TriggerWorkflowStart, "echo $$ > "+dir+"/pid; exec sleep 1000")
	o := testOptions(t, runnertest.New(job("true")))
	o.Actions = f
	r := start(t, o)
	pid := runnertest.ProcessIn(t, dir+"/pid")
	r.Stop(StopCancel)
	r.wait(t)
	if pid.Alive() {
		t.Error("the command lives")
	}
}
