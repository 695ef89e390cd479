package policy

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func TestBreakersList(t *testing.T) {
	const trips = `{"breakers":[
		{"id":3,"workflow_id":12,"breaker":"flaky","per":"node","subject":"node17","action":"exclude_node","reason":"5 failures","since_ms":0,"until_ms":0},
		{"id":4,"breaker":"nodes","per":"node","action":"exclude_node","reason":"=1+1","since_ms":0,"until_ms":0}]}`
	clitest.Check(t, NewBreakers,
		clitest.Case{Args: "breakers list 12 --all --format csv", Routes: clitest.Routes{"GET /breakers": {Body: trips}}, Want: clitest.Result{
			Stdout: "ID,Workflow,Breaker,About,Action,Since,Until,Reason\n" +
				"3,12,flaky,node17,exclude_node,,,5 failures\n" +
				"4,all,nodes,,exclude_node,,,'=1+1\n",
			Requests: []string{"GET /breakers?all=true&workflow_id=12"}}},
		clitest.Case{Args: "breakers list", Routes: clitest.Routes{"GET /breakers": {Body: `{"breakers":[]}`}}, Want: clitest.Result{
			Stdout: `╭────┬──────────┬─────────┬───────┬────────┬───────┬───────┬────────╮
│ ID │ Workflow │ Breaker │ About │ Action │ Since │ Until │ Reason │
├────┼──────────┼─────────┼───────┼────────┼───────┼───────┼────────┤
╰────┴──────────┴─────────┴───────┴────────┴───────┴───────┴────────╯
Total: 0 open circuit breakers
`, Requests: []string{"GET /breakers?all=false"}}},
		clitest.Case{Args: "breakers list -f json", Routes: clitest.Routes{"GET /breakers": {Body: `{"breakers":null}`}}, Want: clitest.Result{
			Stdout: "{\n  \"items\": []\n}\n", Requests: []string{"GET /breakers?all=false"}}},
		clitest.Case{Args: "breakers list x", Want: clitest.Result{Status: cli.ExitUsage,
			Stderr: "error: \"x\" is not the id of a workflow: ids are numbers from 1\n"}},
	)
}

func TestBreakersReset(t *testing.T) {
	const which = "error: select the circuit breakers by one of an id, --workflow, --node or --all\n"
	post := func(body string) clitest.Routes { return clitest.Routes{"POST /breakers/reset": {Body: body}} }
	const one = `{"breakers":[{"id":3,"breaker":"flaky","per":"node","action":"exclude_node","reason":"","attempts":null,"since_ms":1,"until_ms":2}]}`
	clitest.Check(t, NewBreakers,
		clitest.Case{Args: "breakers reset", Want: clitest.Result{Status: cli.ExitUsage, Stderr: which}},
		clitest.Case{Args: "breakers reset 3 --all", Want: clitest.Result{Status: cli.ExitUsage, Stderr: which}},
		clitest.Case{Args: "breakers reset 0", Want: clitest.Result{Status: cli.ExitUsage,
			Stderr: "error: \"0\" is not the id of a circuit breaker: ids are numbers from 1\n"}},
		clitest.Case{Args: "breakers reset --all -f csv", Want: clitest.Result{Status: cli.ExitUsage,
			Stderr: "error: csv is for lists; `torc-slurm breakers reset` shows none\n"}},
		clitest.Case{Args: "breakers reset --workflow x", Want: clitest.Result{Status: cli.ExitUsage,
			Stderr: "error: --workflow \"x\" is not a whole number; see `torc-slurm breakers reset --help`\n"}},
		clitest.Case{Args: "breakers reset 3", Routes: post(one), Want: clitest.Result{
			Stdout: "Closed 1 circuit breaker\n", Requests: []string{`POST /breakers/reset {"id":3}`}}},
		clitest.Case{Args: "breakers reset --workflow 12 --node node17", Routes: post(one), Want: clitest.Result{
			Stdout: "Closed 1 circuit breaker\n", Requests: []string{`POST /breakers/reset {"workflow_id":12,"node":"node17"}`}}},
		clitest.Case{Args: "breakers reset --all", Routes: post(`{"breakers":[]}`), Want: clitest.Result{
			Stdout: "Closed 0 circuit breakers\n", Requests: []string{`POST /breakers/reset {"all":true}`}}},
		clitest.Case{
			Args:   "breakers reset 9",
			Routes: clitest.Routes{"POST /breakers/reset": {Status: 404, Body: `{"error":{"error":"NotFound","message":"there is no circuit breaker 9","hint":"list them"}}`}},
			Want: clitest.Result{Status: 3, Stderr: "error: there is no circuit breaker 9\nhint: list them\n",
				Requests: []string{`POST /breakers/reset {"id":9}`}},
		},
	)
}
