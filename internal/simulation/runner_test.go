package simulation

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/torc-slurm/torc-slurm/runner"
)

// keepRunner runs runners on a host outside of Slurm, one after the other, until the
// workflow is complete.
func (w *world) keepRunner(host string) {
	c := w.seed.of("host", host)
	_ = sleep(w.life, c.between(0, time.Minute))
	for number := 1; w.life.Err() == nil && !w.isDone(); number++ {
		w.runOnHost(host, number)
		_ = sleep(w.life, c.spread(time.Second, time.Minute))
	}
}

func (w *world) runOnHost(host string, number int) {
	name := fmt.Sprintf("%s.%d", host, number)
	c := w.seed.of("runner", name)
	m := &machine{processes: w.ps, name: name}
	r, err := runner.New(runner.Options{
		Client:     &link{world: w, runner: name, node: host, secret: token},
		WorkflowID: w.workflow, OutputDir: filepath.Join(w.dir, host), Database: databaseName, Hostname: host, Key: name,
		Resources: runner.Resources{CPUs: 4, MemoryBytes: 4 << 30}, Random: c.Float64, Environ: []string{}, Executor: m, Log: w.log.With("runner", name),
	})
	if err != nil {
		w.violated("%s: %v", name, err)
		return
	}
	if w.faulty() && c.is(0.3) {
		timer := time.AfterFunc(c.spread(time.Second, 10*time.Minute), func() {
			if w.faulty() {
				w.note("%s is killed", name)
				m.kill()
				r.Abandon()
			}
		})
		defer timer.Stop()
	}
	ctx, cancel := context.WithCancel(w.life)
	defer cancel()
	_, err = r.Run(ctx)
	w.note("%s has ended: %v", name, err)
}
