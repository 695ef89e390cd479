package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// TestCallsOfSlurmAreLimited: what people repeat by `watch` is no burden to
// Slurm, whichever processes ask it.
func TestCallsOfSlurmAreLimited(t *testing.T) {
	p := newPerson(t)
	p.environ = append(p.environ, "TORC_SERVER__SLURM__CALLS_PER_MINUTE=20")
	p.write("acting.yaml", acting)
	p.run(0, "submit", "acting.yaml")
	calls := func(programs ...string) (n int) {
		for _, c := range p.slurm.Calls() {
			if len(programs) == 0 && c.Program != slurm.Sbatch && c.Program != slurm.Scancel || slices.Contains(programs, c.Program) {
				n++
			}
		}
		return n
	}
	p.run(0, "sq", "--fresh")
	before := calls(slurm.Squeue)
	for range 10 {
		if _, said := p.run(0, "sq"); !strings.Contains(said, "s ago; --fresh polls it again.") {
			t.Fatalf("how old is it? %s", said)
		}
	}
	if n := calls(slurm.Squeue) - before; n > 1 {
		t.Errorf("ten sq made %d squeue", n)
	}

	// A command that asks Slurm by itself leaves half of the budget to the daemon.
	made := calls()
	for range 30 {
		out, err := p.command("slurm", "sacct", "1").CombinedOutput()
		if err != nil {
			if !strings.Contains(string(out), "at most 10 are allowed; again in ") {
				t.Errorf("%v\n%s", err, out)
			}
			break
		}
	}
	if n := calls(); n == made && made < 10 || n > max(made, 10)+2 { // the daemon may have looked meanwhile
		t.Errorf("%d calls, and %d before", n, made)
	}
	p.run(cli.ExitUnreachable, "slurm", "sacct", "1")
	p.run(0, "sq", "--fresh")
}

// TestDocumentedLimits: the page about calls of Slurm has the numbers of the
// code.
func TestDocumentedLimits(t *testing.T) {
	text, err := os.ReadFile("../../docs/slurm-calls.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{
		fmt.Sprintf("It is %d at least", cli.LeastCalls),
		fmt.Sprintf("commands stop at %d calls a minute", cli.CommandCalls/2),
		fmt.Sprintf("Each call has %d s.", int(slurm.DefaultTimeout.Seconds())),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/slurm-calls.md does not say %q", want)
		}
	}
}

// TestCallsOfAWorkflow: a short workflow costs few calls, those of a new daemon
// included.
func TestCallsOfAWorkflow(t *testing.T) {
	p := newPerson(t)
	p.write("short.yaml", `
name: short
resource_requirements: [{name: small, num_cpus: 1, memory: 50m, runtime: PT1M}]
jobs: [{name: 'j{i}', command: 'true', parameters: {i: '1:20'}, resource_requirements: small}]
`)
	began := time.Now()
	p.run(0, "submit", "short.yaml")
	p.run(0, "watch", "1", "-p", "0.2")
	looks := 1 + int(time.Since(began)/(3*time.Second)) // the daemon's, on a slow machine more
	made := map[string]int{}
	for _, c := range p.slurm.Calls() {
		made[c.Program]++
	}
	n := 0
	for _, calls := range made {
		n += calls
	}
	const nodes, survey, forecast = 4, 7, 2
	if made[slurm.Sbatch] < 1 || made[slurm.Sbatch] > nodes || n > survey+forecast+made[slurm.Sbatch]+1+2*looks {
		t.Errorf("%d calls: %v", n, made)
	}
}
