package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/server/handler"
)

// TestNames sends names that would break lists, logs and terminals by every route: each
// is rejected, with the name escaped.
func TestNames(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	job := fmt.Sprint(a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id":%d,"name":"a","command":"true"}`, w))["id"])
	file := fmt.Sprint(a.must("POST", "/files", fmt.Sprintf(`{"workflow_id":%d,"name":"a","path":"a"}`, w))["id"])
	data := fmt.Sprint(a.must("POST", "/user_data", fmt.Sprintf(`{"workflow_id":%d,"name":"a","data":1}`, w))["id"])
	needs := fmt.Sprint(a.must("POST", "/resource_requirements", fmt.Sprintf(`{"workflow_id":%d,"name":"a","num_cpus":1}`, w))["id"])
	scheduler := fmt.Sprint(a.must("POST", "/slurm_schedulers", fmt.Sprintf(`{"workflow_id":%d,"name":"a","account":"x","nodes":1,"walltime":"1:00:00"}`, w))["id"])
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/workflows", `{"name":NAME,"user":"me"}`},
		{"PUT", "/workflows/WF", `{"name":NAME,"user":"me"}`},
		{"POST", "/jobs", `{"workflow_id":WF,"name":NAME,"command":"true"}`},
		{"POST", "/jobs", `{"workflow_id":WF,"name":"b","command":"true","labels":[NAME]}`},
		{"POST", "/bulk_jobs", `{"jobs":[{"workflow_id":WF,"name":NAME,"command":"true"}]}`},
		{"PUT", "/jobs/" + job, `{"workflow_id":WF,"name":NAME,"command":"true"}`},
		{"POST", "/files", `{"workflow_id":WF,"name":NAME,"path":"p"}`},
		{"POST", "/bulk_files", `{"files":[{"workflow_id":WF,"name":NAME,"path":"p"}]}`},
		{"PUT", "/files/" + file, `{"workflow_id":WF,"name":NAME,"path":"p"}`},
		{"POST", "/user_data", `{"workflow_id":WF,"name":NAME}`},
		{"POST", "/bulk_user_data", `{"user_data":[{"workflow_id":WF,"name":NAME}]}`},
		{"PUT", "/user_data/" + data, `{"workflow_id":WF,"name":NAME}`},
		{"POST", "/resource_requirements", `{"workflow_id":WF,"name":NAME}`},
		{"PUT", "/resource_requirements/" + needs, `{"workflow_id":WF,"name":NAME}`},
		{"POST", "/slurm_schedulers", `{"workflow_id":WF,"name":NAME,"account":"a","nodes":1,"walltime":"1:00:00"}`},
		{"PUT", "/slurm_schedulers/" + scheduler, `{"workflow_id":WF,"name":NAME,"account":"a","nodes":1,"walltime":"1:00:00"}`},
		{"POST", "/failure_handlers", `{"workflow_id":WF,"name":NAME,"rules":"[]"}`},
	} {
		for name, want := range map[string]string{"x\ny": "control character U+000A", "x\x00": "control character U+0000", strings.Repeat("x", 513): "the limit is 512"} {
			text, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			fill := strings.NewReplacer("WF", fmt.Sprint(w), "NAME", string(text))
			got := a.send(c.method, fill.Replace(c.path), fill.Replace(c.body))
			if got.status != 422 || !strings.Contains(got.text, want) {
				t.Errorf("%s %s with the name %.20q: %d %.200s", c.method, c.path, name, got.status, got.text)
			}
		}
	}
	line := func(part string) answer {
		return a.sendAs("POST", "/workflows/definition", handler.DefinitionMedia,
			`{"workflow":{"name":"d","user":"me","key":"k"}}`+"\n"+part+"\n"+`{"end":{"jobs":0,"files":0}}`)
	}
	for _, part := range []string{
		`{"jobs":[{"name":"x\ny","command":"true"}]}`, `{"files":[{"name":"x\ny","path":"p"}]}`, `{"user_data":[{"name":"x\ny"}]}`,
		`{"resource_requirements":[{"name":"x\ny","num_cpus":1,"num_nodes":1,"memory":"1m","runtime":"PT1M"}]}`, `{"failure_handlers":[{"name":"x\ny","rules":[]}]}`,
		`{"slurm_schedulers":[{"name":"x\ny","account":"a","nodes":1,"walltime":"1:00:00"}]}`,
	} {
		line(part).want(422, `U+000A`)
	}
}
