package results

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// result is a result of workflow 12.
func result(id, job, code, status string) string {
	return `{"id":` + id + `,"job_id":` + job + `,"workflow_id":12,"run_id":1,"attempt_id":1,"compute_node_id":9,"return_code":` + code +
		`,"exec_time_minutes":0,"completion_time":"2026-03-14T11:00:00Z","status":"` + status + `","job_name":"sim"}`
}

func TestList(t *testing.T) {
	list := func(items string) clitest.Routes {
		return clitest.Routes{"GET /results": {Body: `{"items":[` + items + `],"has_more":false}`}}
	}
	all := result("1", "41", "0", "completed") + "," + result("2", "42", "1", "failed") + "," + result("3", "43", "2", "failed") + "," + result("4", "44", "3", "failed")
	wrong := func(args, message string) clitest.Case {
		return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
	}
	clitest.Check(t, New,
		wrong("results list 12 --failed --return-code 1", "if any flags in the group [failed return-code] are set none of the others can be; [failed return-code] were all set"),
		wrong("results list 12 --failed -s failed", "if any flags in the group [failed status] are set none of the others can be; [failed status] were all set"),
		wrong("results list 12 --sort-by x --limit -1", "--limit -1: it cannot be negative"),
		wrong("results list twelve", `"twelve" is not the id of a workflow: ids are numbers from 1`),
		clitest.Case{Args: "results list 12 -s failed --return-code 0 -j 42 -r 2 --compute-node 9 -f json", Routes: list(""), Want: clitest.Result{
			Stdout:   "{\n  \"items\": []\n}\n",
			Requests: []string{"GET /results?all_runs=true&attempts=true&compute_node_id=9&job_id=42&return_code=0&run_id=2&status=failed&workflow_id=12"}}},
		clitest.Case{Args: "results list 12", Routes: list(result("1", "41", "0", "completed")), Want: clitest.Result{
			Stdout: `╭────┬────────┬──────────┬─────────────┬───────────┬──────────┬────────────┬──────────────────────┬───────────┬───────╮
│ ID │ Job ID │ Job Name │ Return Code │ Exec Time │ Peak Mem │ Peak CPU % │ Completion Time      │ Status    │ Cause │
├────┼────────┼──────────┼─────────────┼───────────┼──────────┼────────────┼──────────────────────┼───────────┼───────┤
│ 1  │ 41     │ sim      │ 0           │ 0.0s      │          │            │ 2026-03-14T11:00:00Z │ completed │       │
╰────┴────────┴──────────┴─────────────┴───────────┴──────────┴────────────┴──────────────────────┴───────────┴───────╯
Total: 1 results
`, Requests: []string{"GET /results?attempts=true&workflow_id=12"}}},
		// The server cannot choose those that failed: the page is cut here.
		clitest.Case{Args: "results list 12 --failed --offset 1 -l 1 --all-runs", Routes: list(all), Want: clitest.Result{
			Stdout: `╭────┬────────┬──────────┬────────┬─────────┬─────────────┬───────────┬──────────┬────────────┬──────────────────────┬────────┬───────╮
│ ID │ Job ID │ Job Name │ Run ID │ Attempt │ Return Code │ Exec Time │ Peak Mem │ Peak CPU % │ Completion Time      │ Status │ Cause │
├────┼────────┼──────────┼────────┼─────────┼─────────────┼───────────┼──────────┼────────────┼──────────────────────┼────────┼───────┤
│ 3  │ 43     │ sim      │ 1      │ 1       │ 2           │ 0.0s      │          │            │ 2026-03-14T11:00:00Z │ failed │       │
╰────┴────────┴──────────┴────────┴─────────┴─────────────┴───────────┴──────────┴────────────┴──────────────────────┴────────┴───────╯
Total: 1 results
`, Requests: []string{"GET /results?all_runs=true&attempts=true&workflow_id=12"}}},
	)
}

func TestDelete(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{Args: "results delete 31", Routes: clitest.Routes{"DELETE /results/31": {Body: result("31", "41", "0", "completed")}}, Want: clitest.Result{
			Stdout: "Deleted result 31\n", Requests: []string{"DELETE /results/31"}}},
		clitest.Case{Args: "results delete -- -1", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: \"-1\" is not the id of a result: ids are numbers from 1\n"}},
	)
}
