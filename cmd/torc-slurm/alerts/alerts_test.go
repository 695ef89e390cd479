package alerts

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func TestList(t *testing.T) {
	const alerts = `{"items": [{"id": 3, "workflow_id": 12, "at_ms": 1700000000000, "kind": "test", "subject": "a test", "text": "nothing happened",
		"deliveries": [{"way": "mail", "address": "ann@x", "state": "sent"}, {"way": "webhook", "address": "http://h", "state": "failed", "tries": 5, "error": "refused"}]}],
		"count": 1, "total_count": 1}`
	at := time.UnixMilli(1_700_000_000_000).Format(time.DateTime)
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `-f csv alerts list 12`, Routes: clitest.Routes{"GET /alerts": {Body: alerts}},
			Want: clitest.Result{
				Stdout: "ID,Workflow,Time,Kind,Subject,Text,Messages\n" +
					"3,12," + at + ",test,a test,nothing happened,mail ann@x: sent; webhook http://h: failed after 5 tries (refused)\n",
				Requests: []string{"GET /alerts?workflow_id=12"},
			},
		},
		clitest.Case{
			Args: `alerts list -l 2`, Routes: clitest.Routes{"GET /alerts": {Body: `{"items": [], "count": 0, "total_count": 0}`}},
			Want: clitest.Result{
				Stdout: `╭────┬──────────┬──────┬──────┬─────────┬──────────╮
│ ID │ Workflow │ Time │ Kind │ Subject │ Messages │
├────┼──────────┼──────┼──────┼─────────┼──────────┤
╰────┴──────────┴──────┴──────┴─────────┴──────────╯
Total: 0 alerts
`,
				Requests: []string{"GET /alerts?limit=2"},
			},
		},
		clitest.Case{Args: `alerts list w`, Want: clitest.Result{Status: 2, Stderr: "error: \"w\" is not the id of a workflow: ids are numbers from 1\n"}},
	)
}

func TestTest(t *testing.T) {
	routes := clitest.Routes{"POST /workflows/12/test_alert": {Body: `{"alert_id": 4}`}}
	requests := []string{"POST /workflows/12/test_alert"}
	clitest.Check(
		t, New,
		clitest.Case{Args: `alerts test 12`, Routes: routes, Want: clitest.Result{Stdout: "Raised alert 4; see `torc-slurm alerts list 12`\n", Requests: requests}},
		clitest.Case{Args: `-f json alerts test 12`, Routes: routes, Want: clitest.Result{Stdout: "{\n  \"alert_id\": 4\n}\n", Requests: requests}},
		clitest.Case{Args: `alerts test`, Want: clitest.Result{Status: 2, Stderr: "error: accepts 1 arg(s), received 0; usage: torc-slurm alerts test WORKFLOW [flags]\n"}},
	)
}
