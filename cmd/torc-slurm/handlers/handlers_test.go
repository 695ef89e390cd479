package handlers

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func TestHandlers(t *testing.T) {
	id := int64(2)
	h := api.FailureHandler{ID: &id, WorkflowID: 12, Name: "again", Rules: `[{"exit_codes":[1],"max_retries":1}]`}
	clitest.Check(
		t, New,
		clitest.Case{
			Args:   `-f csv failure-handlers list 12 -l 3`,
			Routes: clitest.Routes{"GET /workflows/12/failure_handlers": {Body: api.NewPage([]api.FailureHandler{h}, 0, 1)}},
			Want:   clitest.Result{Stdout: "ID,Name,Rules\n2,again,exit 1: 1 attempt\n", Requests: []string{"GET /workflows/12/failure_handlers?limit=3"}},
		},
		clitest.Case{
			Args: `failure-handlers get 2`, Routes: clitest.Routes{"GET /failure_handlers/2": {Body: h}},
			Want: clitest.Result{
				Stdout:   "ID:        2\nWorkflow:  12\nName:      again\nRules:     [{\"exit_codes\":[1],\"max_retries\":1}]\n",
				Requests: []string{"GET /failure_handlers/2"},
			},
		},
		clitest.Case{
			Args: `failure-handlers get again`,
			Want: clitest.Result{Status: 2, Stderr: "error: \"again\" is not the id of a failure handler: ids are numbers from 1\n"},
		},
	)
}
