package files

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func page(files ...api.File) clitest.Reply {
	return clitest.Reply{Body: api.NewPage(files, 0, int64(len(files)))}
}

func file(id int64, name, path string) api.File {
	seconds := 1_700_000_000.5
	return api.File{ID: &id, WorkflowID: 12, Name: name, Path: path, ModTime: &seconds}
}

func TestCreate(t *testing.T) {
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `files create 12 -n params -p in/params.json`, Routes: clitest.Routes{"POST /files": {Body: file(7, "params", "in/params.json")}},
			Want: clitest.Result{
				Stdout:   "Created file 7\n",
				Requests: []string{`POST /files {"workflow_id":12,"name":"params","path":"in/params.json"}`},
			},
		},
		clitest.Case{Args: `files create 12 -p x`, Want: clitest.Result{Status: 2, Stderr: "error: required flag(s) \"name\" not set\n"}},
		clitest.Case{
			Args: `files create 12 -n a -p x`,
			Routes: clitest.Routes{"POST /files": {Status: 422, Body: api.ErrorResponse{
				Error: api.ErrorDetail{Error: "Unprocessable", Message: "workflow 12 has a file a", Hint: "choose another name"},
			}}},
			Want: clitest.Result{
				Status: 5, Stderr: "error: workflow 12 has a file a\nhint: choose another name\n",
				Requests: []string{`POST /files {"workflow_id":12,"name":"a","path":"x"}`},
			},
		},
	)
}

func TestList(t *testing.T) {
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `files list 12 --produced-by-job-id 42 --sort-by path`, Routes: clitest.Routes{"GET /files": page(file(7, "a", "x/a"))},
			Want: clitest.Result{
				Stdout: `╭────┬──────┬──────┬──────────────────────╮
│ ID │ Name │ Path │ Modified Time        │
├────┼──────┼──────┼──────────────────────┤
│ 7  │ a    │ x/a  │ 2023-11-14T22:13:20Z │
╰────┴──────┴──────┴──────────────────────╯
Total: 1 files
`,
				Requests: []string{"GET /files?produced_by_job_id=42&sort_by=path&workflow_id=12"},
			},
		},
		clitest.Case{
			Args: `-f csv files list 12`, Routes: clitest.Routes{"GET /files": page()},
			Want: clitest.Result{Stdout: "ID,Name,Path,Modified Time\n", Requests: []string{"GET /files?workflow_id=12"}},
		},
		clitest.Case{Args: `files list 12 -l -1`, Want: clitest.Result{Status: 2, Stderr: "error: --limit -1: it cannot be negative\n"}},
	)
}

// TestListRequired: of all files those are shown that the server names.
func TestListRequired(t *testing.T) {
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `-f csv files list-required-existing 12`,
			Routes: clitest.Routes{
				"GET /workflows/12/required_existing_files": {Body: `{"files": [8]}`},
				"GET /files": page(file(7, "a", "x/a"), api.File{ID: file(8, "", "").ID, WorkflowID: 12, Name: "b", Path: "x/b"}),
			},
			Want: clitest.Result{
				Stdout:   "ID,Name,Path,Modified Time\n8,b,x/b,\n",
				Requests: []string{"GET /workflows/12/required_existing_files", "GET /files?workflow_id=12"},
			},
		},
	)
}

func TestOne(t *testing.T) {
	one := clitest.Routes{
		"GET /files/7": {Body: file(7, "a", "x/a")}, "PUT /files/7": {Body: file(7, "b", "x/a")}, "DELETE /files/7": {Body: file(7, "a", "x/a")},
	}
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `files get 7`, Routes: one,
			Want: clitest.Result{
				Stdout:   "ID:        7\nWorkflow:  12\nName:      a\nPath:      x/a\nModified:  2023-11-14T22:13:20Z\n",
				Requests: []string{"GET /files/7"},
			},
		},
		clitest.Case{
			Args: `files update 7 -n b`, Routes: one,
			Want: clitest.Result{
				Stdout:   "Updated file 7\n",
				Requests: []string{"GET /files/7", `PUT /files/7 {"id":7,"workflow_id":12,"name":"b","path":"x/a","st_mtime":1700000000.5}`},
			},
		},
		clitest.Case{Args: `files update 7`, Want: clitest.Result{Status: 2, Stderr: "error: at least one of the flags in the group [name path] is required\n"}},
		clitest.Case{Args: `files delete 7`, Routes: one, Want: clitest.Result{Stdout: "Deleted file 7\n", Requests: []string{"DELETE /files/7"}}},
		clitest.Case{
			Args: `files get 9`, Routes: clitest.Routes{"GET /files/9": {Status: 404, Body: api.ErrorResponse{Error: api.ErrorDetail{Message: "there is no file 9"}}}},
			Want: clitest.Result{Status: 3, Stderr: "error: there is no file 9\n", Requests: []string{"GET /files/9"}},
		},
	)
}
