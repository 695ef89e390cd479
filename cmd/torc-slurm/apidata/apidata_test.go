package apidata

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func TestActionAllocations(t *testing.T) {
	for _, tt := range []struct {
		name   string
		action api.Action
		want   string
	}{
		{"four", api.Action{ActionType: "schedule_nodes", ActionConfig: api.Object(`{"num_allocations": 4}`), Status: action.StatusPending}, "4"},
		{"without a number", api.Action{ActionType: "schedule_nodes", ActionConfig: api.Object(`{}`), Status: action.StatusWaiting}, "1"},
		{"not understood", api.Action{ActionType: "schedule_nodes", ActionConfig: api.Object(`[]`), Status: action.StatusWaiting}, "1"},
		{"automatic", api.Action{ActionType: "schedule_nodes", ActionConfig: api.Object(`{"num_allocations": 4}`), Status: action.StatusAutomatic}, "as needed"},
		{"commands", api.Action{ActionType: "run_commands", ActionConfig: api.Object(`{"num_allocations": 4}`), Status: action.StatusPending}, ""},
	} {
		if got := ActionAllocations(tt.action); got != tt.want {
			t.Errorf("%s: allocations %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestClaimHolds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	today, tomorrow := now.Add(time.Hour).UnixMilli(), now.Add(25*time.Hour).UnixMilli()
	failures := hold.ClaimHold{Kind: hold.HoldMaxFailures, Reason: "5 jobs have failed"}
	breaker := hold.ClaimHold{Kind: hold.HoldBreaker, Reason: "node n1 fails", UntilMS: today}
	deadline := hold.ClaimHold{Kind: hold.HoldDeadline, Reason: "the time is over", UntilMS: tomorrow}
	for _, tt := range []struct {
		holds    ClaimHolds
		text     string
		commands []string
	}{
		{nil, "", nil},
		{
			ClaimHolds{failures}, "5 jobs have failed, until somebody lifts it",
			[]string{"torc-slurm -s workflows resume 7", "torc-slurm -s workflows update 7 --max-failures N"},
		},
		{
			ClaimHolds{breaker, deadline}, "node n1 fails, until 13:00:00; the time is over, until 2026-03-02 13:00:00",
			[]string{"torc-slurm -s workflows resume 7"},
		},
	} {
		if got := tt.holds.Text(now); got != tt.text {
			t.Errorf("%q, want %q", got, tt.text)
		}
		if diff := cmp.Diff(tt.commands, tt.holds.Commands("torc-slurm -s", 7)); diff != "" {
			t.Errorf("commands (-want +got):\n%s", diff)
		}
	}
}

func TestCounts(t *testing.T) {
	none := api.JobCounts{}
	all := api.JobCounts{
		Uninitialized: 1, Blocked: 2, Ready: 3, Pending: 4, Running: 5, Completed: 6, Failed: 7, Canceled: 8, Terminated: 9, Disabled: 10, PendingFailed: 11,
	}
	const want = "6 completed, 7 failed, 9 terminated, 8 canceled, 11 pending_failed, 5 running, 4 pending, 3 ready, 2 blocked, 1 uninitialized, 10 disabled"
	if got := strings.Join(CountParts(all), ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := all.Complete(); got != 40 {
		t.Errorf("%d are complete, want 40", got)
	}
	if CountParts(none) != nil || none.Complete() != 0 {
		t.Errorf("of no jobs: %v, %d", CountParts(none), none.Complete())
	}
}

func TestParseStatus(t *testing.T) {
	for _, name := range StatusNames() {
		if got, err := ParseStatus(name); err != nil || got.String() != name {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	_, err := ParseStatus("done")
	want := `unknown job status "done": the statuses are ` + strings.Join(StatusNames(), ", ")
	if cli.ExitStatus(err) != cli.ExitUsage || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if got := StatusOf(api.Job{}); got != workflow.Uninitialized {
		t.Errorf("a job without a status is %s", got)
	}
}

func TestJobColumns(t *testing.T) {
	id, node, priority, start := int64(3), int64(9), int64(5), "2026-03-01T11:58:30Z"
	running, ready := workflow.Running, workflow.Ready
	jobs := []api.Job{
		{ID: &id, Name: "a", Status: &running, Priority: &priority, ComputeNodeID: &node, StartTime: &start, Command: "echo a"},
		{ID: &node, Name: "b", Status: &ready, Command: "echo b"},
	}
	header, rows := JobColumns(map[int64]string{9: "n1"}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)).Cells(cli.FormatTable, jobs)
	want := [][]string{
		{"ID", "Name", "Status", "Priority", "Compute Node", "Elapsed", "Command"},
		{"3", "a", "running", "5", "n1", "1m30s", "echo a"},
		{"9", "b", "ready", "", "", "", "echo b"},
	}
	if diff := cmp.Diff(want, append([][]string{header}, rows...)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestRulesSummary(t *testing.T) {
	for rules, want := range map[string]string{
		`[]`: "",
		`[{"exit_codes": [1, 137], "max_retries": 1}]`:                              "exit 1, 137: 1 attempt",
		`[{"match_all_exit_codes": true, "max_retries": 3}]`:                        "any failure: 3 attempts",
		`[{"exit_codes": [2], "max_retries": 2, "recovery_script": "mend.sh"}, {}]`: "exit 2: 2 attempts after mend.sh; exit : 3 attempts",
		`written by another client`:                                                 "written by another client",
	} {
		if got := RulesSummary(rules); got != want {
			t.Errorf("%s: %q, want %q", rules, got, want)
		}
	}
}

func TestCheckRequirements(t *testing.T) {
	zero, minus, one := int64(0), int64(-1), int64(1)
	memory, badMemory, runtime, badRuntime := "4g", "lots", "PT1H", "soon"
	for _, tt := range []struct {
		name string
		rr   api.ResourceRequirements
		err  string
	}{
		{name: "none"},
		{name: "the least", rr: api.ResourceRequirements{NumCPUs: &one, NumGPUs: &zero, NumNodes: &one, Memory: &memory, Runtime: &runtime}},
		{name: "CPUs", rr: api.ResourceRequirements{NumCPUs: &zero}, err: "0 CPUs: at least 1"},
		{name: "GPUs", rr: api.ResourceRequirements{NumGPUs: &minus}, err: "-1 GPUs: at least 0"},
		{name: "nodes", rr: api.ResourceRequirements{NumNodes: &zero}, err: "0 nodes: at least 1"},
		{name: "memory", rr: api.ResourceRequirements{Memory: &badMemory}, err: "lots"},
		{name: "runtime", rr: api.ResourceRequirements{Runtime: &badRuntime}, err: "soon"},
	} {
		err := CheckRequirements(&tt.rr)
		switch {
		case tt.err == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.err != "" && (cli.ExitStatus(err) != cli.ExitUsage || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: %v, want %s", tt.name, err, tt.err)
		}
	}
	got := DomainRequirements(api.ResourceRequirements{ID: &one, WorkflowID: 2, Name: "small", NumCPUs: &one, Memory: &memory})
	if diff := cmp.Diff(workflow.ResourceRequirements{ID: 1, WorkflowID: 2, Name: "small", NumCPUs: 1, Memory: "4g"}, got); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
}

func TestSlurmID(t *testing.T) {
	for want, x := range map[string]api.Allocation{
		"":                {RestartCount: 2},
		"812":             {SlurmJobID: 812},
		"812 (restart 2)": {SlurmJobID: 812, RestartCount: 2},
	} {
		if got := SlurmID(api.QueuedAllocation{Allocation: x}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
