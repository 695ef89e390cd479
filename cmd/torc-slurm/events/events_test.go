package events

import (
	"encoding/json"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func page[T any](items ...T) clitest.Reply {
	return clitest.Reply{Body: api.NewPage(items, 0, int64(len(items)))}
}

func refusal(status int, kind, message string) clitest.Reply {
	return clitest.Reply{Status: status, Body: api.ErrorResponse{Error: api.ErrorDetail{Error: kind, Message: message}}}
}

func event(id int64) api.Event {
	severity, kind := "warning", "job_failed"
	return api.Event{ID: &id, WorkflowID: 12, Timestamp: 1_700_000_000_123, Severity: &severity, EventType: &kind, Data: json.RawMessage(`{"job_id":3}`)}
}

func TestCreate(t *testing.T) {
	routes := clitest.Routes{"POST /events": {Body: event(7)}}
	const body = `POST /events {"workflow_id":12,"timestamp":0,"data":{"text":"half"}}`
	clitest.Check(
		t, New,
		clitest.Case{Args: `events create 12 -d '{"text":"half"}'`, Routes: routes, Want: clitest.Result{Stdout: "Created event 7\n", Requests: []string{body}}},
		clitest.Case{
			Args: `events create 12 -d half`,
			Want: clitest.Result{Status: 2, Stderr: "error: --data is not JSON: half (a text is written with its quotes: '\"half\"')\n"},
		},
		clitest.Case{Args: `events create 12`, Want: clitest.Result{Status: 2, Stderr: "error: required flag(s) \"data\" not set\n"}},
		clitest.Case{Args: `events create x -d 1`, Want: clitest.Result{Status: 2, Stderr: "error: \"x\" is not the id of a workflow: ids are numbers from 1\n"}},
	)
}

func TestList(t *testing.T) {
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `-f csv events list 12 -t user -l 5 -o 2 -s timestamp -r`, Routes: clitest.Routes{"GET /events": page(event(7))},
			Want: clitest.Result{
				Stdout:   "ID,Timestamp,Level,Event Type,Data\n7,2023-11-14T22:13:20.123Z,warning,job_failed,\"{\"\"job_id\"\":3}\"\n",
				Requests: []string{"GET /events?category=user&limit=5&offset=2&reverse_sort=true&sort_by=timestamp&workflow_id=12"},
			},
		},
		clitest.Case{
			Args: `-f json events list 12`, Routes: clitest.Routes{"GET /events": page[api.Event]()},
			Want: clitest.Result{Stdout: "{\n  \"items\": []\n}\n", Requests: []string{"GET /events?workflow_id=12"}},
		},
		clitest.Case{
			Args: `events list 12 --sort-by level`,
			Want: clitest.Result{Status: 2, Stderr: "error: --sort-by level: the fields are id, timestamp, data, seq\n"},
		},
		clitest.Case{
			Args: `events list 12`, Routes: clitest.Routes{"GET /events": refusal(403, "Forbidden", "workflow 12 is another user's")},
			Want: clitest.Result{Status: 5, Stderr: "error: workflow 12 is another user's\n", Requests: []string{"GET /events?workflow_id=12"}},
		},
	)
}

func TestGetLatestAndDelete(t *testing.T) {
	const latest = "GET /events?limit=1&reverse_sort=true&sort_by=seq&workflow_id=12"
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `-f csv events get-latest-event 12`, Routes: clitest.Routes{"GET /events": page(event(9))},
			Want: clitest.Result{
				Stdout:   "ID,Timestamp,Level,Event Type,Data\n9,2023-11-14T22:13:20.123Z,warning,job_failed,\"{\"\"job_id\"\":3}\"\n",
				Requests: []string{latest},
			},
		},
		clitest.Case{
			Args: `events get-latest-event 12`, Routes: clitest.Routes{"GET /events": page[api.Event]()},
			Want: clitest.Result{Status: 3, Stderr: "error: workflow 12 has no events\n", Requests: []string{latest}},
		},
		clitest.Case{
			Args: `events delete 7`, Routes: clitest.Routes{"DELETE /events/7": {Body: event(7)}},
			Want: clitest.Result{Stdout: "Deleted event 7\n", Requests: []string{"DELETE /events/7"}},
		},
		clitest.Case{Args: `events follow 12 --level loud`, Want: clitest.Result{Status: 2, Stderr: "error: unknown level \"loud\": use debug, info, warning or error\n"}},
	)
}

func TestDataText(t *testing.T) {
	for data, want := range map[string]string{
		`{"b": 1, "a": {"c": [1, 2]}}`: `b=1 a={"c": [1, 2]}`,
		`{}`:                           "",
		`"x\u001b"`:                    `"x\u001b"`,
		`[1]`:                          "[1]",
		`{"a": "x` + "\x1b" + `"`:      "",
		`{"a": "x", "b": `:             `a="x"`,
	} {
		if got := dataText(json.RawMessage(data)); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}
