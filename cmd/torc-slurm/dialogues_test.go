package main

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

const failing = `
name: failing
resource_requirements: [{name: small, num_cpus: 1, memory: 50m, runtime: PT1M}]
jobs:
  - {name: hungry, command: 'python3 -c "import time; x = bytearray(200 << 20); time.sleep(5)"', resource_requirements: small}
  - {name: wrong, command: exit 3, resource_requirements: small}
`

// TestRecoverOnATerminal: recover asks about each kind of failure.
func TestRecoverOnATerminal(t *testing.T) {
	p := newPerson(t)
	p.write("failing.yaml", failing)
	p.run(1, "run", "failing.yaml")
	// untouched checks that a dialogue has changed nothing.
	untouched := func() {
		t.Helper()
		var w api.Workflow
		p.decode(&w, "workflows", "get", "1")
		if *w.RunID != 1 {
			t.Fatalf("run %d has begun", *w.RunID)
		}
	}

	d := p.talk("recover", "1")
	d.expect("Out of memory: 1 job", "")
	d.expect("hungry: ", "")
	d.expect("[r]etry with 1.5x memory, another <factor>, [s]kip [r]: ", "0.5\n")
	d.expect(`"0.5" is not a valid answer`, "")
	d.expect("[s]kip [r]: ", "3\n")
	d.expect("Failed for other reasons: 1 job", "")
	d.expect("wrong: exit code 3", "")
	d.expect("[r]etry, [s]kip [s]: ", "\n")
	d.expect("Repeat 1 job? [y/N] ", "n\n")
	if all := d.exits(0); !strings.Contains(all, "Nothing was done.") {
		t.Error(all)
	}
	untouched()

	for name, way := range map[string]struct {
		typed  string
		status int
	}{"end of input": {ctrlD, 0}, "Ctrl-C": {ctrlC, cli.ExitInterrupted}} {
		d := p.talk("recover", "1")
		d.expect("[s]kip [r]: ", way.typed)
		d.exits(way.status)
		d = p.talk("recover", "1")
		d.expect("[s]kip [r]: ", "\n")
		d.expect("[s]kip [s]: ", "\n")
		d.expect("Repeat 1 job? [y/N] ", way.typed)
		t.Log(name)
		d.exits(way.status)
		untouched()
	}

	d = p.talk("recover", "1")
	d.expect("[s]kip [r]: ", "3\n")
	d.expect("[s]kip [s]: ", "r\n")
	d.expect("Repeat 2 jobs? [y/N] ", "y\n")
	d.expect("Requirements small: Memory 50m -> ", "")
	d.expect("`torc-slurm run 1` runs them", "")
	d.exits(0)

	// Where nobody can be asked, and with --yes, nobody is.
	again := func() {
		t.Helper()
		if out, errs := p.run(1, "run", "1"); !strings.Contains(out, "Workflow 1 failed") {
			t.Fatalf("the run did not come to its end:\n%s%s", out, errs)
		}
	}
	again()
	if _, said := p.run(0, "recover", "1", "--retry-unknown"); strings.Contains(said, "[r]etry") {
		t.Error(said)
	}
	again()
	if all := p.talk("recover", "1", "--yes", "--retry-unknown").exits(0); strings.Contains(all, "[r]etry") {
		t.Error(all)
	}
}

const acting = `
name: acting
resource_requirements: [{name: small, num_cpus: 1, memory: 50m, runtime: PT2M}]
jobs: [{name: 'long{i}', command: sleep 600, parameters: {i: '1:2'}, resource_requirements: small, scheduler: s}]
slurm_schedulers: [{name: s, account: research, partition: debug, nodes: 1, walltime: '00:10:00', mem: 600M}]
actions:
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, scheduler_type: slurm, num_allocations: 2}
`

// TestSubmitOnATerminal: what a repeated submission asks for can be changed
// first.
func TestSubmitOnATerminal(t *testing.T) {
	p := newPerson(t)
	p.write("acting.yaml", acting)
	p.run(0, "create", "acting.yaml")
	p.run(0, "workflows", "init", "1")
	p.run(0, "workflows", "init", "1") // a second run
	const question = "[p]roceed, [d]isable <id>, [n]um <id> <count>, [c]ancel: "
	// untouched checks that the action still asks for two, and nothing was asked.
	untouched := func() {
		t.Helper()
		if n := len(p.slurm.Jobs()); n != 0 {
			t.Fatalf("Slurm was asked for %d allocations", n)
		}
		if out, _ := p.run(0, "-f", "csv", "workflows", "list-actions", "1"); !strings.Contains(out, "1,on_workflow_start,schedule_nodes,2,") {
			t.Fatal(out)
		}
	}

	for _, way := range []struct {
		typed  string
		status int
	}{{"c\n", 0}, {ctrlD, 0}, {ctrlC, cli.ExitInterrupted}} {
		d := p.talk("submit", "1")
		d.expect("Will submit now:", "")
		d.expect(question, "\n") // is asked again
		d.expect(question, "n 1 3\n")
		d.expect("│ 3 ", "")
		d.expect(question, "n 9 3\n")
		d.expect("action 9 is not one of those that submit now", "")
		d.expect(question, "x\n")
		d.expect(`unknown command "x"`, "")
		d.expect(question, way.typed)
		d.exits(way.status)
		untouched()
	}

	d := p.talk("submit", "1")
	d.expect(question, "n 1 1\n")
	d.expect(question, "p\n")
	d.expect("Successfully submitted workflow 1 (1 allocation)", "")
	d.exits(0)

	// --yes and no terminal take it as it is now; disabled, it asks for nothing.
	p.run(0, "cancel", "1", "--yes")
	p.run(0, "workflows", "init", "1", "--force")
	if all := p.talk("submit", "1", "--yes").exits(0); !strings.Contains(all, "(1 allocation)") || strings.Contains(all, "[p]roceed") {
		t.Error(all)
	}
	p.run(0, "cancel", "1", "--yes")
	p.run(0, "workflows", "init", "1", "--force")
	if out, _ := p.run(0, "submit", "1"); !strings.Contains(out, "(1 allocation)") {
		t.Error(out)
	}
	p.run(0, "cancel", "1", "--yes")
	p.run(0, "workflows", "init", "1", "--force")
	d = p.talk("submit", "1")
	d.expect(question, "d 1\n")
	d.expect(question, "p\n")
	if all := d.exits(1); !strings.Contains(all, "no allocation") {
		t.Error(all)
	}
}
