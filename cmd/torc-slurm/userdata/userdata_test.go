package userdata

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const params = `{"id":5,"workflow_id":12,"is_ephemeral":false,"name":"params","data":{"alpha":0.1}}`

// wrong is a case of wrong usage that asks the server for nothing.
func wrong(args, message string) clitest.Case {
	return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
}

func TestChange(t *testing.T) {
	routes := clitest.Routes{
		"POST /user_data": {Body: params}, "GET /user_data/5": {Body: params}, "PUT /user_data/5": {Body: params},
		"DELETE /user_data/5": {Body: params},
	}
	clitest.Check(t, New,
		wrong("user-data create 12", `required flag(s) "name" not set`),
		wrong("user-data create 12 -n p -d fast", `--data is not JSON: fast (a text is written with its quotes: '"fast"')`),
		wrong("user-data update 5", "at least one of the flags in the group [name data ephemeral] is required"),
		wrong("user-data update 5 --ephemeral maybe", "--ephemeral \"maybe\" is not true or false; see `torc-slurm user-data update --help`"),
		clitest.Case{Args: `user-data create 12 -n params -d '{"alpha": 0.1}' --consumer-job-id 42`, Routes: routes, Want: clitest.Result{
			Stdout:   "Created user data 5\n",
			Requests: []string{`POST /user_data?consumer_job_id=42 {"workflow_id":12,"is_ephemeral":false,"name":"params","data":{"alpha":0.1}}`}}},
		clitest.Case{Args: "user-data create 12 -n best --ephemeral --producer-job-id 42", Routes: routes, Want: clitest.Result{
			Stdout:   "Created user data 5\n",
			Requests: []string{`POST /user_data?producer_job_id=42 {"workflow_id":12,"is_ephemeral":true,"name":"best"}`}}},
		clitest.Case{Args: "user-data update 5 --ephemeral true", Routes: routes, Want: clitest.Result{
			Stdout: "Updated user data 5\n", Requests: []string{"GET /user_data/5",
				`PUT /user_data/5 {"id":5,"workflow_id":12,"is_ephemeral":true,"name":"params","data":{"alpha":0.1}}`}}},
		clitest.Case{Args: "user-data delete 5", Routes: routes, Want: clitest.Result{
			Stdout: "Deleted user data 5\n", Requests: []string{"DELETE /user_data/5"}}},
	)
}

func TestDeleteAll(t *testing.T) {
	const get, drop = "GET /workflows/12", "DELETE /user_data?workflow_id=12"
	routes := func(n string) clitest.Routes {
		return clitest.Routes{get: {Body: `{"id":12,"name":"w","user":"ann"}`}, "DELETE /user_data": {Body: `{"message":"","deleted_count":` + n + `}`}}
	}
	const question = "Delete all user data of workflow 12? [y/N] "
	clitest.Check(t, New,
		clitest.Case{Args: "user-data delete-all 12 --yes", Routes: routes("1"), Want: clitest.Result{
			Stdout: "Deleted 1 record of user data\n", Requests: []string{get, drop}}},
		clitest.Case{Args: "user-data delete-all 12", Stdin: "yes\n", Routes: routes("2"), Want: clitest.Result{
			Stdout: "Deleted 2 records of user data\n", Stderr: question, Requests: []string{get, drop}}},
		clitest.Case{Args: "user-data delete-all 12", Stdin: "\n", Routes: routes("2"), Want: clitest.Result{
			Stderr: question + "Nothing was done.\n", Requests: []string{get}}},
	)
}

func TestShow(t *testing.T) {
	list := func(items string) clitest.Routes {
		return clitest.Routes{"GET /user_data": {Body: `{"items":[` + items + `],"has_more":false}`}}
	}
	clitest.Check(t, New,
		clitest.Case{Args: "user-data list 12 --name par --is-ephemeral false", Routes: list(params), Want: clitest.Result{
			Stdout: `╭────┬────────┬───────────┬───────────────╮
│ ID │ Name   │ Ephemeral │ Data          │
├────┼────────┼───────────┼───────────────┤
│ 5  │ params │ no        │ {"alpha":0.1} │
╰────┴────────┴───────────┴───────────────╯
Total: 1 user data
`, Requests: []string{"GET /user_data?is_ephemeral=false&name=par&workflow_id=12"}}},
		clitest.Case{Args: "user-data list 12 -o 3 -f json", Routes: list(""), Want: clitest.Result{
			Stdout: "{\n  \"items\": []\n}\n", Requests: []string{"GET /user_data?offset=3&workflow_id=12"}}},
		clitest.Case{Args: "user-data get 5", Routes: clitest.Routes{"GET /user_data/5": {Body: params}}, Want: clitest.Result{
			Stdout: "ID:         5\nWorkflow:   12\nName:       params\nEphemeral:  no\nData:       {\"alpha\":0.1}\n", Requests: []string{"GET /user_data/5"}}},
		clitest.Case{
			Args: "user-data list-missing 12 -f csv",
			Routes: clitest.Routes{
				"GET /workflows/12/missing_user_data": {Body: `{"user_data":[6]}`},
				"GET /user_data/6":                    {Body: `{"id":6,"workflow_id":12,"name":"best","data":null}`},
			},
			Want: clitest.Result{Stdout: "ID,Name,Ephemeral,Data\n6,best,no,\n", Requests: []string{"GET /workflows/12/missing_user_data", "GET /user_data/6"}},
		},
	)
}
