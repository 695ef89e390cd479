package holds

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// wrong is a case of wrong usage that asks the server for nothing.
func wrong(args, message string) clitest.Case {
	return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
}

func TestList(t *testing.T) {
	const group = `{"workflow_id":12,"fingerprint":"3f9a","count":2,"example_id":42,"example_name":"sim","cause":"oom","return_code":137,"category":"memory",
		"last_lines":["Killed\u001b[2J"],"reason":"rule io/ask","job_ids":[42,43],
		"earlier":[{"id":1,"workflow_id":9,"fingerprint":"3f9a","at_ms":1,"state":"decided","action":"retry","author":"bob","door":"mcp","reason":"flaky","jobs":6,"succeeded":6,"memory":"2g","outcome":"6 of 6 retries succeeded"}],
		"experience":{"retried":6,"succeeded":6,"failed":0}}`
	clitest.Check(t, New,
		clitest.Case{Args: "holds list 12", Routes: clitest.Routes{"GET /holds": {Body: `{"groups":[` + group + `]}`}}, Want: clitest.Result{
			Stdout: `╭──────────┬─────────────┬──────┬──────────┬─────────────┬────────────┬──────────┬──────────────╮
│ Workflow │ Fingerprint │ Jobs │ Example  │ Failure     │ Held since │ Deadline │ Held because │
├──────────┼─────────────┼──────┼──────────┼─────────────┼────────────┼──────────┼──────────────┤
│ 12       │ 3f9a        │ 2    │ sim (42) │ memory: oom │            │          │ rule io/ask  │
╰──────────┴─────────────┴──────┴──────────┴─────────────┴────────────┴──────────┴──────────────╯
Total: 1 groups of held jobs

3f9a, last lines of the stderr of sim:
  Killed·[2J

3f9a before: 6 of 6 retries succeeded; latest: retry with memory 2g by bob (mcp) 20526d12h ago in workflow 9: flaky (6 of 6 retries succeeded)
`, Requests: []string{"GET /holds?workflow_id=12"}}},
		clitest.Case{Args: "holds list -f csv", Routes: clitest.Routes{"GET /holds": {Body: `{"groups":[]}`}}, Want: clitest.Result{
			Stdout: "Workflow,Fingerprint,Jobs,Example,Failure,Held since,Deadline,Held because,Last lines,Before\n", Requests: []string{"GET /holds"}}},
		wrong("holds list 0", `"0" is not the id of a workflow: ids are numbers from 1`),
	)
}

func TestResolve(t *testing.T) {
	const post = "POST /workflows/12/resolve_holds"
	routes := clitest.Routes{
		"GET /jobs":                {Body: `{"items":[{"id":42,"workflow_id":12,"name":"sim","command":"x"}],"has_more":false}`},
		post:                       {Body: `{"outcomes":[{"job_id":42,"job_name":"sim","resolved":true,"status":"ready","attempt":2,"asks":"16g"}]}`},
		"GET /workflows/12/status": {Body: `{"active_compute_nodes":0}`},
	}
	const table = "ID,Name,Status,Outcome\n42,sim,ready,\"ready for attempt 2, 16g\"\n"
	clitest.Check(t, New,
		wrong("holds resolve 12 --retry --reason x", "at least one of the flags in the group [job fingerprint all file] is required"),
		wrong("holds resolve 12 --all --reason x", "at least one of the flags in the group [retry fail file] is required"),
		wrong("holds resolve 12 --all --retry=false --reason x", "decide about the jobs: --retry or --fail"),
		wrong("holds resolve 12 --all --retry", "say why: --reason"),
		wrong("holds resolve 12 --fingerprint '' --retry --reason x", "select the jobs: --job, --fingerprint or --all"),
		wrong("holds resolve 12 --all --retry --memory 16g -f csv", "if any flags in the group [file memory] are set none of the others can be; [file memory] were all set"),
		clitest.Case{Args: "holds resolve 12 --job sim --retry --memory 16g --num-cpus 4 --reason 'needs more' --format csv", Routes: routes, Want: clitest.Result{
			Stdout: table, Requests: []string{"GET /jobs?name=sim&workflow_id=12",
				post + ` {"job_ids":[42],"status":"ready","author":"ann","reason":"needs more","memory":"16g","num_cpus":4}`}}},
		clitest.Case{Args: "holds resolve 12 --all --retry --reason x --author bob --dry-run --format csv", Routes: routes, Want: clitest.Result{
			Stdout: table, Stderr: "Nothing was changed. Without --dry-run the outcome is:\n",
			Requests: []string{post + ` {"all":true,"dry_run":true,"status":"ready","author":"bob","reason":"x"}`}}},
		clitest.Case{Args: "holds resolve 12 --all --retry --reason x", Routes: routes, Want: clitest.Result{
			Stdout: `╭────┬──────┬────────┬──────────────────────────╮
│ ID │ Name │ Status │ Outcome                  │
├────┼──────┼────────┼──────────────────────────┤
│ 42 │ sim  │ ready  │ ready for attempt 2, 16g │
╰────┴──────┴────────┴──────────────────────────╯
Total: 1 jobs
`, Stderr: "Next: torc-slurm run 12\n",
			Requests: []string{post + ` {"all":true,"status":"ready","author":"ann","reason":"x"}`, "GET /workflows/12/status"}}},
		clitest.Case{
			Args:   "holds resolve 12 --fingerprint 3f9a --fail --reason x --format csv",
			Routes: clitest.Routes{post: {Body: `{"outcomes":[{"job_id":42,"job_name":"sim","resolved":false,"error":"it is ready","hint":"wait"},{"job_id":43,"job_name":"b","resolved":true,"status":"failed"}]}`}},
			Want: clitest.Result{Status: cli.ExitFailed, Stdout: "ID,Name,Status,Outcome\n42,sim,,not resolved: it is ready (wait)\n43,b,failed,has failed\n",
				Requests: []string{post + ` {"fingerprint":"3f9a","status":"failed","author":"ann","reason":"x"}`}},
		},
	)
}

func TestVerdicts(t *testing.T) {
	const post = "POST /workflows/12/hold_verdicts"
	const verdicts = "- {job: sim, action: retry, reason: again}\n- {fingerprint: 3f9a, action: fail, reason: broken, author: bob}\n"
	clitest.Check(t, New, clitest.Case{
		Args: "holds resolve 12 -f - --format csv", Stdin: verdicts,
		Routes: clitest.Routes{post: {Body: `{"outcomes":[{"entry":0,"resolved":true,"jobs":[{"job_id":42,"job_name":"sim","resolved":true,"status":"ready","attempt":2}]},
			{"entry":1,"resolved":false,"jobs":[],"error":"there is no group 3f9a"}]}`}},
		Want: clitest.Result{Status: cli.ExitFailed, Stdout: "Entry,ID,Name,Status,Outcome\n<stdin>:1:3,42,sim,ready,ready for attempt 2\n<stdin>:2:3,,,,not resolved: there is no group 3f9a\n",
			Requests: []string{post + ` {"verdicts":[{"job":"sim","action":"retry","reason":"again","author":"ann"},{"fingerprint":"3f9a","action":"fail","reason":"broken","author":"bob"}]}`}},
	})
}
