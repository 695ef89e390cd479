package simulation

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store"
)

// check looks at what is left after a run.
func (w *world) check() {
	findings, err := store.CheckDeep(context.Background(), w.path, store.Witness{Acknowledged: w.acknowledged})
	if err != nil {
		w.violated("check: %v", err)
	}
	for _, f := range findings {
		w.violated("%s", f)
	}
	for _, p := range w.ps.live {
		w.violated("P13: job %d attempt %d still runs on %s", p.job, p.attempt, p.node)
	}
}
