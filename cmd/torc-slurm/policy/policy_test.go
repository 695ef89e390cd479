package policy

import (
	"fmt"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const infraFile = "name: infra\nrules:\n  - id: node\n    when: {cause: [node_fail]}\n    action: retry\n    limit: 3\n"

const (
	infraJSON   = `{"name":"infra","rules":[{"id":"node","when":{"cause":["node_fail"]},"action":"retry","limit":3}]}`
	storedInfra = `{"policy":` + infraJSON + `,"hash":"abc","version":2,"created_ms":0,"updated_ms":0}`
)

func TestStore(t *testing.T) {
	files := map[string]string{"infra.yaml": infraFile, "bad.yaml": "name: infra\nrules: 3\n"}
	clitest.Check(t, New,
		clitest.Case{Args: "retry-policy create", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: give the file with the policy: -f FILE\n"}},
		clitest.Case{
			Args: "retry-policy create -f $DIR/infra.yaml", Files: files, Routes: clitest.Routes{"POST /retry_policies": {Body: storedInfra}},
			Want: clitest.Result{Stdout: "Created retry policy infra (abc)\n", Requests: []string{"POST /retry_policies " + infraJSON}},
		},
		clitest.Case{
			Args: "retry-policy update -f -", Stdin: infraFile, Routes: clitest.Routes{"PUT /retry_policies/infra": {Body: storedInfra}},
			Want: clitest.Result{Stdout: "Retry policy infra is at version 2 (abc)\n", Requests: []string{"PUT /retry_policies/infra " + infraJSON}},
		},
		clitest.Case{
			Args: "retry-policy create -f $DIR/infra.yaml", Files: files,
			Routes: clitest.Routes{"POST /retry_policies": {Status: 409, Body: `{"error":{"error":"Conflict","message":"infra is there already"}}`}},
			Want:   clitest.Result{Status: cli.ExitRefused, Stderr: "error: infra is there already\n", Requests: []string{"POST /retry_policies " + infraJSON}},
		},
		clitest.Case{
			Args: "retry-policy delete infra", Routes: clitest.Routes{"DELETE /retry_policies/infra": {Body: storedInfra}},
			Want: clitest.Result{Stdout: "Deleted retry policy infra\n", Requests: []string{"DELETE /retry_policies/infra"}},
		},
	)
	if got := clitest.Run(t, New, clitest.Case{Args: "retry-policy lint -f $DIR/bad.yaml", Files: files}); got.Status != cli.ExitInvalidSpec || got.Stdout != "" || len(got.Requests) > 0 {
		t.Errorf("a policy that is wrong: %+v", got)
	}
}

func TestShow(t *testing.T) {
	page := func(items string) clitest.Reply {
		return clitest.Reply{Body: fmt.Sprintf(`{"items":[%s],"has_more":false}`, items)}
	}
	clitest.Check(t, New,
		clitest.Case{
			Args: "retry-policy list --format csv -l 5", Routes: clitest.Routes{"GET /retry_policies": page(storedInfra)},
			Want: clitest.Result{Stdout: "Name,Rules,Version,Hash,Updated,Description\ninfra,1,2,abc," + dateOf(0) + ",\n", Requests: []string{"GET /retry_policies?limit=5"}},
		},
		clitest.Case{
			Args: "retry-policy list", Routes: clitest.Routes{"GET /retry_policies": page("")},
			Want: clitest.Result{Stdout: `╭──────┬───────┬─────────┬──────┬─────────┬─────────────╮
│ Name │ Rules │ Version │ Hash │ Updated │ Description │
├──────┼───────┼─────────┼──────┼─────────┼─────────────┤
╰──────┴───────┴─────────┴──────┴─────────┴─────────────╯
Total: 0 retry policies
`, Requests: []string{"GET /retry_policies"}},
		},
		clitest.Case{Args: "retry-policy list --limit -1", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: --limit -1: it cannot be negative\n"}},
		clitest.Case{
			Args: "retry-policy get infra", Routes: clitest.Routes{"GET /retry_policies/infra": {Body: storedInfra}},
			Want: clitest.Result{Stdout: "name: infra\nrules:\n  - id: node\n    when:\n      cause:\n        - node_fail\n    action: retry\n    limit: 3\n",
				Requests: []string{"GET /retry_policies/infra"}},
		},
		clitest.Case{
			Args:   "retry-policy get infra --history --format csv",
			Routes: clitest.Routes{"GET /retry_policies/infra/history": page(`{"id":1,"policy":"infra","action":"attached","at_ms":0,"author":"bob","detail":"to partition gpu","new_hash":"abc"}`)},
			Want: clitest.Result{Stdout: "When,Who,What,Before,After\n" + dateOf(0) + ",bob,attached to partition gpu,,abc\n",
				Requests: []string{"GET /retry_policies/infra/history"}},
		},
	)
}

func TestQueues(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{
			Args:   "retry-policy attach infra ml --partition gpu",
			Routes: clitest.Routes{"POST /retry_queues/attach": {Body: `{"kind":"partition","name":"gpu","retry_policies":["infra","ml"]}`}},
			Want: clitest.Result{Stdout: "The retry policies of partition gpu are infra, ml\n",
				Requests: []string{`POST /retry_queues/attach {"kind":"partition","name":"gpu","retry_policies":["infra","ml"]}`}},
		},
		clitest.Case{
			Args:   "retry-policy detach infra --account climate",
			Routes: clitest.Routes{"POST /retry_queues/detach": {Body: `{"kind":"account","name":"climate","retry_policies":[]}`}},
			Want: clitest.Result{Stdout: "The retry policies of account climate are none\n",
				Requests: []string{`POST /retry_queues/detach {"kind":"account","name":"climate","retry_policies":["infra"]}`}},
		},
		clitest.Case{Args: "retry-policy attach infra", Want: clitest.Result{Status: cli.ExitUsage,
			Stderr: "error: at least one of the flags in the group [account partition scheduler] is required\n"}},
		clitest.Case{
			Args:   "retry-policy queues",
			Routes: clitest.Routes{"GET /retry_queues": {Body: `{"queues":[{"kind":"account","name":"climate","retry_policies":["infra","ml"]}]}`}},
			Want: clitest.Result{Stdout: `╭─────────┬─────────┬────────────────╮
│ Kind    │ Queue   │ Retry policies │
├─────────┼─────────┼────────────────┤
│ account │ climate │ infra ml       │
╰─────────┴─────────┴────────────────╯
Total: 1 queues
`, Requests: []string{"GET /retry_queues"}},
		},
	)
}

func TestSettings(t *testing.T) {
	const get = "GET /retry_settings"
	routes := func(settings string) clitest.Routes {
		return clitest.Routes{get: {Body: settings}, "PUT /retry_settings": {Body: settings}}
	}
	const fields = "Enabled:             true\nGlobal max retries:  none of the server's\nDefault policy:      built in\nDefault backoff:     none\nNode breaker:        "
	usage := func(args, message string, requests ...string) clitest.Case {
		return clitest.Case{Args: args, Routes: routes("{}"), Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n", Requests: requests}}
	}
	clitest.Check(t, New,
		clitest.Case{Args: "retry-policy settings", Routes: routes("{}"), Want: clitest.Result{
			Stdout: fields + "after 5 failures within 30m, for 1h\n", Requests: []string{get}}},
		clitest.Case{Args: "retry-policy settings --node-breaker-threshold 1 --node-breaker-within 10m", Routes: routes(`{"global_max_retries":7}`), Want: clitest.Result{
			Stdout:   "Enabled:             true\nGlobal max retries:  7\nDefault policy:      built in\nDefault backoff:     none\nNode breaker:        after 1 failure within 10m, for 1h\n",
			Requests: []string{get, `PUT /retry_settings {"global_max_retries":7,"node_breaker":{"threshold":1,"within":"10m"}}`}}},
		clitest.Case{Args: "retry-policy settings --global-max-retries none --node-breaker false", Routes: routes(`{"global_max_retries":7}`), Want: clitest.Result{
			Stdout: fields + "off\n", Requests: []string{get, `PUT /retry_settings {"node_breaker":{"enabled":false}}`}}},
		usage("retry-policy settings --global-max-retries -1", `--global-max-retries "-1" is neither a number nor none`, get),
		usage("retry-policy settings --enabled maybe", `--enabled "maybe" is neither true nor false`, get),
		usage("retry-policy settings --node-breaker maybe", `--node-breaker "maybe" is neither true nor false`, get),
		usage("retry-policy settings --node-breaker-threshold 0", "--node-breaker-threshold 0: the minimum is 1; --node-breaker false disables it"),
		usage("retry-policy settings --format csv", "csv is for lists: add --history"),
		usage("retry-policy default infra --built-in", "give a name or --built-in, not both"),
		clitest.Case{Args: "retry-policy default", Routes: routes("{}"), Want: clitest.Result{
			Stdout: "The default is the built-in policy\n", Requests: []string{get}}},
		clitest.Case{Args: "retry-policy default infra", Routes: routes("{}"), Want: clitest.Result{
			Stdout: "The default is the retry policy infra\n", Requests: []string{get, `PUT /retry_settings {"default_policy":"infra"}`}}},
		clitest.Case{Args: "retry-policy default --built-in", Routes: routes(`{"default_policy":"infra"}`), Want: clitest.Result{
			Stdout: "The default is the built-in policy\n", Requests: []string{get, `PUT /retry_settings {}`}}},
	)
}

func TestSimulate(t *testing.T) {
	files := map[string]string{"infra.yaml": infraFile}
	usage := func(args, message string) clitest.Case {
		return clitest.Case{Args: args, Files: files, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
	}
	day := clitest.Now.AddDate(0, 0, -2).UnixMilli()
	clitest.Check(t, New,
		usage("retry-policy simulate -f $DIR/infra.yaml", "at least one of the flags in the group [workflow since] is required"),
		usage("retry-policy simulate -w 12", "give the file with the policies: -f FILE"),
		usage("retry-policy simulate -f $DIR/infra.yaml --since soon", `--since "soon" is not a duration such as 7d, 12h or P7D`),
		clitest.Case{
			Args: "retry-policy simulate -f $DIR/infra.yaml --since 2d", Files: files,
			Routes: clitest.Routes{"POST /retry_simulations": {Body: `{"sequences":4,"recorded":{"retries":{"counted":5},"core_hours":2.5,"delay_seconds":60},
				"simulated":{"retries":{"counted":3,"free":1},"core_hours":1,"delay_seconds":30},
				"rules":[{"rule":"infra/node","recorded":{},"simulated":{"counted":3,"free":1}}],"breakers":[],"breakers_opened":0,"notes":["a\nnote"]}`}},
			Want: clitest.Result{Stdout: `Sequences of attempts: 4
╭──────────────────────────────┬──────────┬───────────┬────────────╮
│                              │ Recorded │ Simulated │ Difference │
├──────────────────────────────┼──────────┼───────────┼────────────┤
│ Retries, counted             │ 5        │ 3         │ -2         │
│ Retries, free                │ 0        │ 1         │ +1         │
│ Attempts                     │ 0        │ 0         │ +0         │
│ Core-hours                   │ 2.5      │ 1.0       │ -1.5       │
│ Delays before retries        │ 1m       │ 30s       │ -30s       │
│ Completed                    │ 0        │ 0         │ +0         │
│ Failed                       │ 0        │ 0         │ +0         │
│ Held                         │ 0        │ 0         │ +0         │
│ Canceled                     │ 0        │ 0         │ +0         │
│ Open                         │ 0        │ 0         │ +0         │
│ Tried again, outcome unknown │ 0        │ 0         │ +0         │
╰──────────────────────────────┴──────────┴───────────┴────────────╯
╭────────────────────┬──────────┬────────────╮
│ Retries granted by │ Recorded │ Simulated  │
├────────────────────┼──────────┼────────────┤
│ infra/node         │ 0        │ 3 + 1 free │
╰────────────────────┴──────────┴────────────╯
Note: a note
`, Requests: []string{fmt.Sprintf(`POST /retry_simulations {"policies":[%s],"since_ms":%d}`, infraJSON, day)}},
		},
	)
}
