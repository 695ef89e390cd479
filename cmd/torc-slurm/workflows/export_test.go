package workflows

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// exported answers about workflow 12, of which job 41 has a result on node 9.
var exported = clitest.Routes{
	getSweep:                             {Body: sweep},
	"GET /files":                         {Body: `{"items":[{"id":7,"workflow_id":12,"name":"in","path":"in.csv"}]}`},
	"GET /user_data":                     {Body: `{"items":[]}`},
	"GET /resource_requirements":         {Body: `{"items":[{"id":3,"workflow_id":12,"name":"big","num_cpus":4,"memory":"2g","runtime":"PT1H","num_nodes":1,"num_gpus":0}]}`},
	"GET /slurm_schedulers":              {Body: `{"items":[]}`},
	"GET /workflows/12/failure_handlers": {Body: `{"items":[]}`},
	"GET /workflows/12/stages":           {Body: `{"stages":[]}`},
	"GET /workflows/12/actions":          {Body: `[]`},
	"GET /jobs":                          {Body: `{"items":[{"id":41,"workflow_id":12,"name":"a","command":"cat in.csv","status":"completed","input_file_ids":[7],"resource_requirements_id":3}]}`},
	"GET /compute_nodes":                 {Body: `{"items":[{"id":9,"workflow_id":12,"hostname":"n1","pid":1,"start_time":"2026-03-14T11:00:00Z","is_active":true,"compute_node_type":"local"}]}`},
	"GET /results":                       {Body: `{"items":[{"id":1,"job_id":41,"workflow_id":12,"run_id":1,"attempt_id":1,"compute_node_id":9,"return_code":0,"exec_time_minutes":1,"completion_time":"2026-03-14T11:00:00Z","status":"completed"}]}`},
	"GET /events":                        {Body: `{"items":[{"id":1,"workflow_id":12,"timestamp":1,"data":{"note":"mine"}},{"id":2,"workflow_id":12,"timestamp":2,"data":null}]}`},
}

// TestExport: what is written can be imported again, with new ids.
func TestExport(t *testing.T) {
	const file = "sweep.json"
	made := clitest.Run(t, New, clitest.Case{Args: "workflows export 12 -o sweep.json --include-results --include-events", Routes: exported, Read: []string{file, file + ".part"}})
	if made.Status != 0 || made.Stdout != "Exported workflow 12 (1 job) to sweep.json\n" || len(made.Files) != 1 {
		t.Fatalf("%+v", made)
	}
	printed := clitest.Run(t, New, clitest.Case{Args: "workflows export 12 --include-results --include-events", Routes: exported})
	if printed.Stdout != made.Files[file] {
		t.Errorf("printed is\n%s\nwritten\n%s", printed.Stdout, made.Files[file])
	}
	var d workflowDocument
	if err := json.Unmarshal([]byte(made.Files[file]), &d); err != nil || d.ExportVersion != exportVersion || d.ExportedAt != "2026-03-14T12:00:00Z" || len(d.Results) != 1 || len(d.Events) != 2 {
		t.Errorf("%v; %+v", err, d)
	}
	routes := clitest.Routes{
		"POST /workflows/definition": {Body: `{"workflow_id":20}`}, "GET /workflows/20/job_ids": {Body: `{"job_ids":[77],"count":1}`},
		"POST /compute_nodes": {Body: `{"id":90,"workflow_id":20,"hostname":"n1"}`}, "POST /results": {Body: `{"id":5}`}, "POST /events": {Body: `{"id":6,"workflow_id":20,"data":{}}`},
	}
	got := clitest.Run(t, New, clitest.Case{Args: "workflows import sweep.json --name again", Files: made.Files, Routes: routes, Environ: []string{"TORC_USERNAME=bob"}})
	if got.Status != 0 || got.Stdout != "Imported workflow 20 (1 job)\n" || len(got.Requests) != 5 {
		t.Fatalf("%+v", got)
	}
	for i, parts := range [][]string{
		{"POST /workflows/definition", `"name":"again"`, `"user":"bob"`, `"command":"cat in.csv"`},
		{"GET /workflows/20/job_ids"},
		{"POST /compute_nodes", `"workflow_id":20`, `"is_active":false`},
		{"POST /results", `"job_id":77`, `"workflow_id":20`, `"compute_node_id":90`},
		{"POST /events", `"workflow_id":20`, `"note":"mine"`},
	} {
		if slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(got.Requests[i], part) }) {
			t.Errorf("request %d has not %q: %s", i, parts, got.Requests[i])
		}
	}
	without := clitest.Run(t, New, clitest.Case{Args: "workflows import - --skip-results --skip-events", Stdin: made.Files[file], Routes: routes})
	if without.Status != 0 || len(without.Requests) != 1 {
		t.Errorf("without history: %+v", without)
	}
}

func TestExportRejects(t *testing.T) {
	files := map[string]string{
		"old.json": `{"export_version":"2.0","workflow":{"name":"w","user":"ann"}}`, "other.json": `{"a":1}`, "text.json": "no JSON",
		"lost.json": `{"export_version":"1.0","workflow":{"name":"w","user":"ann"},"jobs":[{"id":1,"workflow_id":1,"name":"a","command":"x"}],"results":[{"id":4,"job_id":9,"workflow_id":1,"compute_node_id":1}]}`,
	}
	routes := clitest.Routes{"POST /workflows/definition": {Body: `{"workflow_id":20}`}, "GET /workflows/20/job_ids": {Body: `{"job_ids":[77],"count":1}`}}
	clitest.Check(t, New,
		clitest.Case{Args: "workflows export 12 -o away/sweep.json", Routes: exported, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: cannot write the workflow: open $DIR/away/sweep.json.part: no such file or directory\n",
			Requests: []string{
				"GET /workflows/12",
				"GET /files?workflow_id=12",
				"GET /user_data?workflow_id=12",
				"GET /resource_requirements?workflow_id=12",
				"GET /slurm_schedulers?workflow_id=12",
				"GET /workflows/12/failure_handlers",
				"GET /jobs?include_relationships=true&workflow_id=12",
				"GET /workflows/12/stages",
				"GET /workflows/12/actions",
			},
		}},
		clitest.Case{Args: "workflows import none.json", Want: clitest.Result{Status: 3, Stderr: "error: there is no file none.json\n"}},
		clitest.Case{Args: "workflows import old.json", Files: files, Want: clitest.Result{Status: cli.ExitInvalidSpec, Stderr: "error: old.json has the format 2.0; this program reads 1.0\n"}},
		clitest.Case{Args: "workflows import other.json", Files: files, Want: clitest.Result{
			Status: cli.ExitInvalidSpec,
			Stderr: "error: other.json is not an exported workflow: it has no export_version or no workflow\n",
		}},
		clitest.Case{Args: "workflows import text.json", Files: files, Want: clitest.Result{
			Status: cli.ExitInvalidSpec,
			Stderr: "error: text.json is not an exported workflow: invalid character 'o' in literal null (expecting 'u')\n",
		}},
	)
	got := clitest.Run(t, New, clitest.Case{Args: "workflows import lost.json", Files: files, Routes: routes})
	if want := "error: workflow 20 was made, but not all of its history: result 4 is of a job or a compute node that the file does not have\n"; got.Status == 0 || got.Stderr != want {
		t.Errorf("with a result of nothing: %+v", got)
	}
}
