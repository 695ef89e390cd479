package main

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const once = `
name: once
jobs:
  - {name: flaky, command: test -e there}
`

// TestRepeatedWhileAQuestionWaits: what somebody else has repeated successfully
// while a question waited for its answer, or a hook ran, is not reset.
func TestRepeatedWhileAQuestionWaits(t *testing.T) {
	p := newPerson(t)
	p.write("once.yaml", once)
	p.run(1, "run", "once.yaml")
	repeated := func() {
		t.Helper()
		p.write("there", "")
		p.run(0, "jobs", "retry", "1")
		p.run(0, "run", "1")
	}
	completed := func() {
		t.Helper()
		var j api.Job
		if p.decode(&j, "jobs", "get", "1"); *j.Status != workflow.Completed {
			t.Errorf("the job is %s", *j.Status)
		}
	}
	first := p.talk("jobs", "reset-status", "1")
	first.expect("Reset 1 job?", "")
	second := p.talk("recover", "1", "--retry-unknown")
	second.expect("[r]etry, [s]kip [r]: ", "\n")
	second.expect("Repeat 1 job?", "")
	repeated()
	first.expect("", "y\n")
	if all := first.exits(cli.ExitRefused); !strings.Contains(all, "is now completed; nothing was reset") {
		t.Error(all)
	}
	completed()
	second.expect("", "y\n")
	if all := second.exits(cli.ExitRefused); !strings.Contains(all, "is now completed; no job is reset") {
		t.Error(all)
	}
	completed()
}
