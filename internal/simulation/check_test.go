package simulation

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// check looks at what is left after a run.
func (w *world) check() {
	findings, err := store.CheckDeep(context.Background(), w.path, store.Witness{Acknowledged: w.acknowledged, Spooled: w.spooled()})
	if err != nil {
		w.violated("check: %v", err)
	}
	for _, f := range findings {
		if w.jumps && f.Promise == "P7" && strings.Contains(f.Text, "before its delay was over") {
			continue // by the clock of the node, which did not jump
		}
		w.violated("%s", f)
	}
	for _, p := range w.ps.live {
		w.violated("P13: job %d attempt %d still runs on %s", p.job, p.attempt, p.node)
	}
}

// spooled reads what runners have written down.
func (w *world) spooled() (all []store.SpooledReport) {
	dirs, err := filepath.Glob(filepath.Join(w.dir, "*", "spool"))
	if err != nil {
		w.violated("spool: %v", err)
	}
	for _, dir := range dirs {
		paths, err := spool.Files(dir)
		if err != nil {
			w.violated("spool: %v", err)
		}
		for _, path := range paths {
			c, err := spool.Read(path)
			if err != nil {
				w.violated("spool: %v", err)
				continue
			}
			for i, r := range c.Reports {
				all = append(all, store.SpooledReport{
					RunID: c.Header.RunID, LeaseRef: store.LeaseRef(r.LeaseRef), EndedMS: r.EndedMS, Answered: i < c.Answered,
				})
			}
		}
	}
	return all
}

// checkJobs compares how jobs ended with what was seen of them.
func (w *world) checkJobs(st *store.Store) {
	canceled := len(w.acknowledged.Canceled) > 0
	for _, id := range w.ids {
		j, err := st.Job(context.Background(), id)
		switch {
		case err != nil:
			w.violated("job %d: %v", id, err)
		case !j.Status.IsComplete() && !canceled:
			w.violated("job %d is %s after the end", id, j.Status)
		case j.Status == workflow.Completed && !w.ps.succeeded(id):
			w.violated("job %d is completed, but never ran to its end", id)
		}
	}
}
