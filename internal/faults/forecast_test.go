package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// chosen are n jobs that run for so many seconds, in allocations of our choice.
func chosen(n, seconds int) string {
	return strings.NewReplacer("scheduler: s, ", "", "max_ready_age", "max_allocations: 4, max_ready_age").Replace(sweep(n, seconds, ""))
}

// TestForecastDaemonKilled: the daemon dies between its requests for the nodes that are free. The
// next one counts those that Slurm has, and no job runs twice.
func TestForecastDaemonKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t), "forecast=true")
	w.fault("sbatch", "sleep 1")
	id := w.submit(chosen(24, 4))
	w.eventually(time.Minute, "an allocation is requested", func() bool { return w.submissions() > 0 })
	w.killDaemon()
	w.endFault("sbatch")
	w.startDaemon()
	w.settle(id, nil)
	w.expectOneAttempt(id)
}

// TestForecastWithoutAnswers: Slurm does not say which nodes are free. Allocations are planned
// without it, and the plan says why.
func TestForecastWithoutAnswers(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{
		"Fails":   `echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1`,
		"Garbage": `echo 'NODELIST PARTITION'; echo 'n1'; exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, slurmtest.UseReal(t), "forecast=true")
			w.fault("sinfo", `case "$*" in *--Node*) `+how+`;; esac`)
			id := w.submit(chosen(8, 3))
			if out := w.run("slurm", "plan", text(id)); !strings.Contains(out, "Planned without a forecast: ") {
				t.Errorf("the plan does not say that there is no forecast:\n%s", out)
			}
			w.settle(id, nil)
			w.expectOneAttempt(id)
		})
	}
}

// TestForecastOfTakenNodes: what was free when the cluster was polled is taken by somebody else
// before the allocations are requested. They are pending, and all jobs run in the end.
func TestForecastOfTakenNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t), "forecast=true")
	w.fault("sbatch", `if mkdir DIR/taken 2>/dev/null; then sleep 3; fi`)
	w.write("spec.yaml", "name: "+w.name()+"\n"+chosen(16, 4), 0o644)
	submit := w.command("submit", "--skip-checks", "-o", w.path("out"), "spec.yaml")
	if err := submit.Start(); err != nil {
		t.Fatal(err)
	}
	w.eventually(time.Minute, "an allocation is being requested", func() bool { return w.submissions() > 0 })
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		w.preempt(node, 15)
	}
	if err := submit.Wait(); err != nil {
		t.Fatal(err)
	}
	const id = 1
	w.settle(id, nil)
}
