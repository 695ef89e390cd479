package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

func (a *testAPI) define(text io.Reader) answer {
	a.t.Helper()
	r := httptest.NewRequestWithContext(a.t.Context(), "POST", api.BasePath+"/workflows/definition", text)
	r.Header.Set("Content-Type", handler.DefinitionMedia)
	return a.serve(r)
}

func largeDefinition() *workflow.Definition {
	d := &workflow.Definition{
		Name: "large", User: "me", Env: map[string]string{"A": "1"},
		Files:        []workflow.FileDefinition{{Name: "f", Path: "/f"}},
		Requirements: []workflow.ResourceRequirements{{Name: "r", NumCPUs: 2, NumNodes: 1, Memory: "4g", Runtime: "PT1H"}},
		Actions:      []workflow.ActionDefinition{{TriggerType: action.TriggerJobsReady, ActionType: action.RunCommands, Jobs: []int32{0}, Commands: []string{"true"}}},
	}
	for i := range 2500 {
		j := workflow.JobDefinition{Name: fmt.Sprint("j", i), Command: "true", Requirements: "r"}
		if i > 0 {
			j.DependsOn = []int32{int32(i - 1)}
			j.InputFiles = []int32{0}
		}
		d.Jobs = append(d.Jobs, j)
	}
	return d
}

func TestDefinitionCreatesAWholeWorkflowOnce(t *testing.T) {
	a := newAPI(t)
	var text bytes.Buffer
	if err := api.WriteDefinition(&text, largeDefinition(), "key-1"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, the first answer was lost
		a.define(bytes.NewReader(text.Bytes())).want(200, `{"workflow_id":1,"job_count":2500}`)
	}
	a.send("GET", "/workflows?name=large", "").want(200, `"total_count":1`)
	a.send("GET", "/workflows/1/job_dependencies?limit=1", "").want(200, `"job_name":"j1","depends_on_job_id":1,`, `"total_count":2499`)
	a.send("GET", "/jobs?workflow_id=1&limit=0", "").want(200, `"total_count":2500`)
	a.send("GET", "/workflows/1/actions", "").want(200, `"job_ids":[1]`)
}

func TestDefinitionRefusalsLeaveNothing(t *testing.T) {
	a := newAPI(t)
	const header, end = `{"workflow":{"name":"w","user":"me","key":"k"}}` + "\n", `{"end":{"jobs":1,"files":0}}` + "\n"
	const job = `{"jobs":[{"name":"a","command":"true"}]}` + "\n"
	for name, c := range map[string]struct {
		text   string
		status int
		words  string
	}{
		"nothing":          {"", 400, "line 1: the definition ended"},
		"no header":        {job + end, 422, "line 1"},
		"no end":           {header + job, 400, "line 3: the definition ended"},
		"broken":           {header + "{\n", 400, "line 2"},
		"wrong type":       {header + `{"jobs":[{"name":1}]}` + "\n", 422, "line 2"},
		"two headers":      {header + header + end, 422, "line 2: duplicate workflow"},
		"jobs are missing": {header + end, 422, "incomplete"},
		"cycle":            {header + `{"jobs":[{"name":"a","command":"true","depends_on":[0]}]}` + "\n" + end, 422, "a"},
		"unknown job":      {header + `{"jobs":[{"name":"a","command":"true","depends_on":[7]}]}` + "\n" + end, 422, ""},
		"unknown file":     {header + `{"jobs":[{"name":"a","command":"true","input_files":[7]}]}` + "\n" + end, 422, ""},
		"unknown name":     {header + `{"jobs":[{"name":"a","command":"true","resource_requirements":"x"}]}` + "\n" + end, 422, ""},
		"invalid memory":   {header + `{"resource_requirements":[{"name":"r","num_cpus":1,"num_nodes":1,"memory":"x","runtime":"PT1M"}]}` + "\n" + end, 422, "memory"},
		"huge number":      {`{"workflow":{"name":"w","user":"me","metadata":{"x":1e400}}}` + "\n" + job + end, 422, "line 1: Json deserialize error: field `metadata`: the number 1e400"},
		"half a character": {header + `{"user_data":[{"name":"a"},{"name":"b","data":["\ud800"]}]}` + "\n" + end, 422, "line 2: Json deserialize error: field `data` in user_data[1]: a text has half"},
		"invalid env":      {`{"workflow":{"name":"w","user":"me","env":{"1":"2"}}}` + "\n" + job + end, 422, "environment"},
	} {
		got := a.define(strings.NewReader(c.text))
		if got.status != c.status || !strings.Contains(got.text, c.words) {
			t.Errorf("%s: %d %s, want %d with %q", name, got.status, got.text, c.status, c.words)
		}
	}
	a.send("GET", "/workflows", "").want(200, `"total_count":0`)
	a.send("POST", "/workflows/definition", `{"workflow":{"name":"w","user":"me"}}`).want(415)
}
