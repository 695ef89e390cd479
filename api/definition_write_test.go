package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

func TestDefinitionArrivesAsItWasWritten(t *testing.T) {
	want := workflow.Definition{
		Name: "w", User: "me", Env: map[string]string{"A": "1"}, Metadata: json.RawMessage(`{"a":1}`), UsePendingFailed: true,
		ComputeNodeWaitForNewJobsSeconds: new(int64(5)), DynamicJobs: &workflow.DynamicJobsConfig{MaxIterations: new(int64(3))},
		Files:           []workflow.FileDefinition{{Name: "f", Path: "/f", ModTime: new(1.5)}},
		UserData:        []workflow.UserDataDefinition{{Name: "d", Data: json.RawMessage(`[1]`)}},
		Requirements:    []workflow.ResourceRequirements{{Name: "r", NumCPUs: 2, NumNodes: 1, Memory: "4g", Runtime: "PT1H"}},
		FailureHandlers: []workflow.FailureHandlerDefinition{{Name: "h", Rules: []workflow.FailureRule{{ExitCodes: []int64{1}, MaxRetries: 2}}}},
		SlurmSchedulers: []workflow.SlurmSchedulerDefinition{{Name: "s", Account: "a", Nodes: 1, Walltime: "1:00:00"}},
		Actions:         []workflow.ActionDefinition{{TriggerType: action.TriggerJobsReady, ActionType: action.RunCommands, Jobs: []int32{0}, Commands: []string{"true"}}},
	}
	for i := range 2*definitionChunk + 1 {
		j := workflow.JobDefinition{Name: fmt.Sprint("<j>", i), Command: "a && b", Labels: []string{"gpu"}, JobOptions: workflow.JobOptions{RunTimeout: &workflow.RunTimeout{AfterSeconds: 1}}}
		if i > 0 {
			j.DependsOn = []int32{int32(i - 1)}
		}
		want.Jobs = append(want.Jobs, j)
	}
	var text bytes.Buffer
	if err := WriteDefinition(&text, &want, "key-1"); err != nil {
		t.Fatal(err)
	}
	got := readDefinition(t, &text)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func readDefinition(t *testing.T, text *bytes.Buffer) (d workflow.Definition) {
	t.Helper()
	var end *DefinitionEnd
	for lines := json.NewDecoder(text); lines.More(); {
		var l DefinitionLine
		if err := lines.Decode(&l); err != nil || end != nil {
			t.Fatalf("line %+v, error %v, after the end: %v", l, err, end != nil)
		}
		if len(l.Jobs) > definitionChunk {
			t.Errorf("a line has %d jobs", len(l.Jobs))
		}
		end = l.End
		if h := l.Workflow; h != nil {
			if h.Key != "key-1" || d.Name != "" {
				t.Errorf("header %+v after %+v", h, d)
			}
			d = h.Definition
		}
		d.Files = append(d.Files, l.Files...)
		d.UserData = append(d.UserData, l.UserData...)
		for _, r := range l.Requirements {
			d.Requirements = append(d.Requirements, workflow.ResourceRequirements{Name: r.Name, NumCPUs: r.NumCPUs, NumGPUs: r.NumGPUs,
				NumNodes: r.NumNodes, Memory: r.Memory, Runtime: r.Runtime})
		}
		d.FailureHandlers = append(d.FailureHandlers, l.FailureHandlers...)
		d.SlurmSchedulers = append(d.SlurmSchedulers, l.SlurmSchedulers...)
		d.Jobs = append(d.Jobs, l.Jobs...)
		d.Actions = append(d.Actions, l.Actions...)
	}
	if end == nil || end.Jobs != int64(len(d.Jobs)) || end.Files != int64(len(d.Files)) {
		t.Errorf("end %+v of %d jobs and %d files", end, len(d.Jobs), len(d.Files))
	}
	return d
}

func TestObject(t *testing.T) {
	for text, ok := range map[string]bool{`{"b":1, "a":[]}`: true, `null`: true, `[]`: false, `"{}"`: false, `1`: false} {
		var o Object
		if err := json.Unmarshal([]byte(text), &o); (err == nil) != ok {
			t.Errorf("%s: error %v, want it accepted: %v", text, err, ok)
		}
	}
	var w struct {
		Metadata Object `json:"metadata,omitempty"`
	}
	if err := json.Unmarshal([]byte(`{"metadata":{"b":1,"a":2}}`), &w); err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(w); err != nil || string(text) != `{"metadata":{"b":1,"a":2}}` {
		t.Errorf("written as %s, error %v", text, err)
	}
}

func TestPageKeys(t *testing.T) {
	text, err := json.Marshal(NewPage[int](nil, 5, 6))
	want := `{"items":[],"offset":5,"max_limit":100000,"count":0,"total_count":6,"has_more":true}`
	if err != nil || string(text) != want {
		t.Errorf("%s, error %v; want %s", text, err, want)
	}
}
