package proposals

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const one = `{"id":3,"workflow_id":12,"kind":"classify","state":"open","author":"ann","door":"mcp","reason":"disk full\u001b[2J","title":"retry 1 job on hold",
	"created_ms":0,"expires_ms":0,"job_count":1,"cpu_seconds":7200,"jobs":[{"job_id":42,"name":"sim","status":"pending_failed","attempt":1,"changes":["status pending_failed -> ready"]}]}`

func TestList(t *testing.T) {
	routes := clitest.Routes{"GET /proposals": {Body: `{"items":[` + one + `],"has_more":false}`}}
	const csv = "ID,Workflow,State,Author,Change,Core-hours,Reason,Expires\n3,12,open,ann (mcp),retry 1 job on hold,2.0,disk full\\x1b[2J,\n"
	clitest.Check(t, New,
		clitest.Case{Args: "proposals list 12 --format csv", Routes: routes, Want: clitest.Result{Stdout: csv, Requests: []string{"GET /proposals?state=open&workflow_id=12"}}},
		clitest.Case{Args: "proposals list --state all --format csv", Routes: routes, Want: clitest.Result{Stdout: csv, Requests: []string{"GET /proposals"}}},
	)
}

func TestDecisions(t *testing.T) {
	shown := clitest.Routes{"GET /proposals/3": {Body: one}, "POST /proposals/3/apply": {Body: one}, "POST /proposals/3/reject": {Body: one}}
	const text = "Proposal:  3\nWorkflow:  12\nState:     open\nChange:    retry 1 job on hold\nCost:      at most 2.0 core-hours\nAuthor:    ann (mcp)\nReason:    disk full·[2J\nJobs:\n  sim (42): status pending_failed -> ready\n"
	clitest.Check(t, New,
		clitest.Case{Args: "proposals show 3", Routes: shown, Want: clitest.Result{Stdout: text, Requests: []string{"GET /proposals/3"}}},
		clitest.Case{Args: "proposals apply 3", Routes: shown, Stdin: "n\n", Want: clitest.Result{
			Stderr: text + "Apply it? [y/N] Nothing was done.\n", Requests: []string{"GET /proposals/3"}}},
		clitest.Case{Args: "proposals apply 3", Routes: shown, Stdin: "y\n", Want: clitest.Result{
			Stdout: "Applied proposal 3: retry 1 job on hold (workflow 12)\n", Stderr: text + "Apply it? [y/N] ", Requests: []string{"GET /proposals/3", "POST /proposals/3/apply"}}},
		clitest.Case{Args: "proposals apply 3 --no-prompts", Routes: shown, Want: clitest.Result{
			Stdout: "Applied proposal 3: retry 1 job on hold (workflow 12)\n", Requests: []string{"GET /proposals/3", "POST /proposals/3/apply"}}},
		clitest.Case{Args: "proposals reject 3 --reason no", Routes: shown, Want: clitest.Result{
			Stdout: "Rejected proposal 3\n", Requests: []string{`POST /proposals/3/reject {"reason":"no"}`}}},
		clitest.Case{Args: "proposals show x", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: \"x\" is not the id of a proposal: ids are numbers from 1\n"}},
	)
}
