package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	. "github.com/torc-slurm/torc-slurm/workflow"
)

//go:generate go test -run TestStatesDocument -update .

// Operations that lead from almost everywhere are listed below the diagram, not
// drawn in it.
var notDrawn = []Operation{OpReset, OpManage, OpComplete}

func TestStatesDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# The states of a job

This page is written by a test from ` + "`workflow/state.go`" + `; to change it, change the code and run
` + "`go test ./workflow -run TestStatesDocument -update`" + `.

A job is complete when it is completed, failed, canceled, terminated or disabled. The diagram leaves out
what an operator may do at any time (manage, reset) and what clients of torc's API may report (complete);
the table has everything.

` + "```mermaid\nstateDiagram-v2\n")
	for _, s := range initialStatuses() {
		fmt.Fprintf(&b, "    [*] --> %s\n", s)
	}
	for _, from := range JobStatuses() {
		for _, to := range JobStatuses() {
			var ops []string
			for _, op := range Operations() {
				if !slices.Contains(notDrawn, op) && CanTransition(from, to, op) {
					ops = append(ops, string(op))
				}
			}
			if len(ops) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, strings.Join(ops, ", "))
			}
		}
	}
	b.WriteString("```\n\n| operation | from | to |\n|---|---|---|\n")
	for _, op := range Operations() {
		writeRows(&b, op)
	}
	golden.Compare(t, "../docs/states.md", b.String())
}

// writeRows writes an operation's rows: targets with the same sources share
// one.
func writeRows(b *strings.Builder, op Operation) {
	targets := map[string][]string{}
	var order []string
	for _, to := range JobStatuses() {
		var from []string
		for _, s := range sources(op, to) {
			from = append(from, s.String())
		}
		if key := strings.Join(from, ", "); key != "" {
			if targets[key] == nil {
				order = append(order, key)
			}
			targets[key] = append(targets[key], to.String())
		}
	}
	for _, from := range order {
		fmt.Fprintf(b, "| %s | %s | %s |\n", op, from, strings.Join(targets[from], ", "))
	}
}

func TestCanTransition(t *testing.T) {
	tests := []struct {
		from, to JobStatus
		op       Operation
		want     bool
	}{
		{Ready, Pending, OpClaim, true},
		{Blocked, Pending, OpClaim, false},
		{PendingFailed, Pending, OpClaim, false},
		{Pending, Running, OpStart, true},
		{Ready, Running, OpStart, false},
		{Pending, Ready, OpGiveBack, true},
		{Running, Ready, OpGiveBack, false},
		{Running, Completed, OpFinish, true},
		{Ready, Completed, OpFinish, false},
		{Ready, Completed, OpComplete, true},
		{PendingFailed, Failed, OpComplete, false},
		{Completed, Failed, OpComplete, false},
		{Disabled, Completed, OpComplete, false},
		{Running, Ready, OpRetry, true},
		{Failed, Ready, OpRetry, true},
		{Canceled, Ready, OpRetry, false},
		{Running, Pending, OpRecover, true},
		{Pending, Ready, OpRecovered, true},
		{PendingFailed, Ready, OpClassify, true},
		{PendingFailed, Completed, OpClassify, false},
		{Blocked, Ready, OpRelease, true},
		{Blocked, Canceled, OpSkip, true},
		{Ready, Canceled, OpSkip, false},
		{Ready, Canceled, OpCancel, true},
		{Uninitialized, Canceled, OpCancel, false},
		{Completed, Canceled, OpCancel, false},
		{Running, Canceled, OpCancel, true},
		{Uninitialized, Disabled, OpDisable, true},
		{Ready, Disabled, OpDisable, false},
		{Disabled, Uninitialized, OpReset, true},
		{Running, Uninitialized, OpReset, true},
		{Running, Ready, OpInitialize, false},
		{Disabled, Ready, OpInitialize, false},
		{Completed, Ready, OpInitialize, false},
		{Completed, Blocked, OpInitialize, true},
		{Ready, Ready, OpManage, false},
		{Disabled, Ready, OpManage, true},
		{JobStatus(11), Ready, OpManage, false},
		{JobStatus(-1), Ready, OpManage, false},
	}
	for _, tt := range tests {
		if got := CanTransition(tt.from, tt.to, tt.op); got != tt.want {
			t.Errorf("CanTransition(%s, %s, %s) = %v", tt.from, tt.to, tt.op, got)
		}
	}
}

// An operator's word may do everything but make a job complete.
func TestManageAllowsEveryStatusThatIsNotComplete(t *testing.T) {
	for _, from := range JobStatuses() {
		for _, to := range JobStatuses() {
			want := from != to && !to.IsComplete()
			if got := CanTransition(from, to, OpManage); got != want {
				t.Errorf("manage %s -> %s = %v", from, to, got)
			}
		}
	}
}

// Whatever happens to a job, there is a way on to a complete status, and only
// a reset, an operator, a retry or a stage that runs again leads out of one.
func TestEveryStatusLeadsToAnEnd(t *testing.T) {
	reached := map[JobStatus]bool{}
	for _, s := range JobStatuses() {
		reached[s] = s.IsComplete()
	}
	for changed := true; changed; {
		changed = false
		for _, tr := range Transitions() {
			if tr.Op != OpManage && tr.Op != OpReset && reached[tr.To] && !reached[tr.From] {
				reached[tr.From], changed = true, true
			}
		}
	}
	for s, ok := range reached {
		if !ok {
			t.Errorf("no way from %s to an end", s)
		}
	}
	out := map[Operation]bool{}
	for _, tr := range Transitions() {
		if tr.From.IsComplete() && !tr.To.IsComplete() {
			out[tr.Op] = true
		}
	}
	want := map[Operation]bool{OpInitialize: true, OpReopen: true, OpRetry: true, OpReset: true, OpManage: true, OpStage: true}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("operations that lead out of a complete status (-want +got):\n%s", diff)
	}
}

func TestStatusNames(t *testing.T) {
	for i, s := range JobStatuses() {
		if int(s) != i {
			t.Fatalf("status %d has number %d", i, s)
		}
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back JobStatus
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s: read back as %v, %v", text, back, err)
		}
	}
	bad := JobStatus(42)
	if bad.Valid() || bad.String() != "status(42)" {
		t.Errorf("status 42: valid %v, %q", bad.Valid(), bad)
	}
	if _, err := bad.MarshalText(); err == nil {
		t.Error("status 42 was written")
	}
	if err := new(JobStatus).UnmarshalText([]byte("done")); err == nil {
		t.Error("status done was read")
	}
}

func TestStatusSets(t *testing.T) {
	sets := map[string]func(JobStatus) bool{
		"complete":     JobStatus.IsComplete,
		"live":         JobStatus.IsLive,
		"unsuccessful": JobStatus.IsUnsuccessful,
		"terminal":     JobStatus.IsTerminal,
	}
	got := map[string][]JobStatus{}
	for name, is := range sets {
		for _, s := range JobStatuses() {
			if is(s) {
				got[name] = append(got[name], s)
			}
		}
	}
	want := map[string][]JobStatus{
		"complete":     {Completed, Failed, Canceled, Terminated, Disabled},
		"live":         {Pending, Running},
		"unsuccessful": {Failed, Canceled, Terminated},
		"terminal":     {Completed, Failed, Canceled, Terminated, PendingFailed},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sources lists the statuses from which op may lead to a status, ascending.
func sources(op Operation, to JobStatus) []JobStatus {
	var from []JobStatus
	for _, s := range JobStatuses() {
		if CanTransition(s, to, op) {
			from = append(from, s)
		}
	}
	return from
}

// initialStatuses are the statuses that a job may be created in: Blocked is
// for spawned jobs, which wait for the job that spawned them.
func initialStatuses() []JobStatus { return []JobStatus{Uninitialized, Blocked} }
