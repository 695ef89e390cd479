package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestReportError(t *testing.T) {
	refusal := &client.APIError{Status: 409, Message: "the job runs", Detail: api.ErrorDetail{Hint: "cancel it first"}}
	for _, tt := range []struct {
		name       string
		err        error
		text, json string
	}{
		{name: "none"},
		{name: "said already", err: Silent(1)},
		{
			name: "plain", err: errors.New("disk full"), text: "error: disk full\n",
			json: "{\n  \"status\": \"error\",\n  \"message\": \"disk full\",\n  \"exit_status\": 1\n}\n",
		},
		{
			name: "usage", err: UsageErrorf("--limit %d: no", -1), text: "error: --limit -1: no\n",
			json: "{\n  \"status\": \"error\",\n  \"message\": \"--limit -1: no\",\n  \"exit_status\": 2\n}\n",
		},
		{
			name: "ours with a hint", err: fmt.Errorf("start: %w", workflow.Errorf(workflow.CodeConflict, "it has ended").WithHint("reset it")),
			text: "error: start: it has ended\nhint: reset it\n",
			json: "{\n  \"status\": \"error\",\n  \"message\": \"start: it has ended\",\n  \"hint\": \"reset it\",\n  \"exit_status\": 5\n}\n",
		},
		{
			name: "the server's", err: fmt.Errorf("delete job 3: %w", refusal), text: "error: delete job 3: the job runs\nhint: cancel it first\n",
			json: "{\n  \"status\": \"error\",\n  \"message\": \"delete job 3: the job runs\",\n  \"hint\": \"cancel it first\",\n  \"exit_status\": 5\n}\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for format, want := range map[string]string{FormatTable: tt.text, FormatCSV: tt.text, FormatJSON: tt.json} {
				a, stdout, stderr := factoryFor(t, "", format)
				a.reportError(tt.err)
				if stderr.String() != want || stdout.Len() > 0 {
					t.Errorf("as %s:\n%s%swant:\n%s", format, stdout, stderr, want)
				}
			}
		})
	}
}

func TestReportErrorWantsPassword(t *testing.T) {
	a, _, stderr := factoryFor(t, "", FormatTable)
	a.reportError(&client.APIError{Status: 401, Message: "wrong password"})
	const want = "error: wrong password\nhint: the server rejected the password: --password, --prompt-password or TORC_PASSWORD; " +
		"with `serve --token-file` it is the content of that file\n"
	if stderr.String() != want {
		t.Errorf("%s, want %s", stderr, want)
	}
}

func TestReportErrorOfSpecification(t *testing.T) {
	invalid := spec.Errors{{Message: "a job has no command"}}
	a, _, stderr := factoryFor(t, "", FormatTable)
	a.reportError(fmt.Errorf("create: %w", invalid))
	if want := invalid.Render(); stderr.String() != want && stderr.String() != want+"\n" {
		t.Errorf("%q, want %q", stderr, want)
	}
}

func TestExits(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  map[string]string
		want string
	}{
		{"least", Exits(), "  0    success\n  2    wrong usage\n"},
		{"usual and own", Exits(ExitInterrupted, "1 a job failed"), "  0    success\n  1    a job failed\n  2    wrong usage\n  130  interrupted\n"},
		{"own instead of usual", Exits("2 no such file"), "  0    success\n  2    no such file\n"},
		{"server", ServerExits(), "  0    success\n  2    wrong usage\n  3    something with that id or name does not exist\n" +
			"  4    the server cannot be reached\n  5    the server rejected the request: a conflict, an invalid value, or no permission\n"},
	} {
		if got := tt.got[ExitAnnotation]; got != tt.want || len(tt.got) != 1 {
			t.Errorf("%s:\n%swant:\n%s", tt.name, got, tt.want)
		}
	}
}
