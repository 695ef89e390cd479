package main

import (
	"slices"
	"strings"
	"testing"

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
		if _, said := p.run(0, "sq"); !strings.Contains(said, "s ago; --fresh asks again.") {
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
	p.run(exitUnreachable, "slurm", "sacct", "1")
	p.run(0, "sq", "--fresh")
}
