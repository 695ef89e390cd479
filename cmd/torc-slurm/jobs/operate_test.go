package jobs

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func TestOperate(t *testing.T) {
	const cancel = "POST /workflows/12/cancel_jobs"
	usage := func(args, message string) clitest.Case {
		return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
	}
	clitest.Check(t, New,
		usage("jobs cancel -w 12", "choose the jobs: by name or id, --status, --cause, --group or --all"),
		usage("jobs cancel a --all -w 12", "--all chooses all jobs; leave it out to choose some"),
		usage("jobs prioritize a --priority -2 -w 12", "--priority -2: it must not be negative"),
		clitest.Case{Args: "jobs cancel a* --status running,ready --cause oom --group 3f9a -w 12 --dry-run --reason wrong", Routes: clitest.Routes{cancel: {Body: `{"workflow_id":12,"verb":"cancel","dry_run":true,
			"jobs":[{"job_id":1,"name":"a1","status":"ready","effect":"changed"},{"job_id":2,"name":"a2","status":"running","effect":"ending"},{"job_id":3,"name":"a3","status":"completed","effect":"rejected","reason":"it has ended: completed"}],
			"dependents":[{"job_id":4,"name":"b","status":"canceled"},{"job_id":5,"name":"c","status":"disabled"}],"cpu_seconds":1800,"ends_run":true}`}}, Want: clitest.Result{
			Stdout: `1 job would be canceled: a1
1 job would be ended by its runner: a2
1 job that depends on them is canceled with them: b
1 job is not needed then: c
Lost, unless the jobs save it: 0.5 CPU hours
The run ends with that: no other job is left
1 job rejected: a3: it has ended: completed
`,
			Requests: []string{cancel + ` {"jobs":["a*"],"statuses":["running","ready"],"causes":["oom"],"group":"3f9a","reason":"wrong","dry_run":true}`},
		}},
		clitest.Case{Args: "jobs hold a b -w 12", Routes: clitest.Routes{"POST /workflows/12/hold_jobs": {Body: `{"workflow_id":12,"jobs":[
			{"job_id":1,"name":"a","effect":"changed","named":true},{"job_id":2,"name":"b","effect":"rejected","reason":"it is running: end it","named":true}]}`}}, Want: clitest.Result{
			Status:   cli.ExitFailed,
			Stdout:   "1 job is held: a\n1 job rejected: b: it is running: end it\n",
			Requests: []string{`POST /workflows/12/hold_jobs {"jobs":["a","b"]}`},
		}},
		clitest.Case{Args: "jobs prioritize 7 --first", Routes: clitest.Routes{"GET /jobs/7": {Body: `{"id":7,"workflow_id":12}`},
			"POST /workflows/12/prioritize_jobs": {Body: `{"workflow_id":12,"priority":3,"jobs":[{"job_id":7,"name":"a","effect":"changed","named":true}]}`}}, Want: clitest.Result{
			Stdout:   "1 job is prioritized (3): a\n",
			Requests: []string{"GET /jobs/7", `POST /workflows/12/prioritize_jobs {"jobs":["7"],"first":true}`},
		}},
	)
}
