package simulation

import (
	"context"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// check checks what is left after a run.
func (w *world) check() {
	spooled := w.spooled()
	w.noteDatabase()
	w.checkTruth(spooled)
	w.checkBudgets()
	w.checkStages()
	if w.cluster != nil {
		w.cluster.checkAllocations()
	}
	findings, err := check.Deep(context.Background(), w.path, check.Witness{Acknowledged: w.acknowledged, Spooled: spooled})
	if err != nil {
		w.violated("check: %v", err)
	}
	for _, f := range findings {
		if w.jumps && strings.Contains(f.Text, " ms before ") { // P6, P7
			continue // by the clock of the node, which did not jump
		}
		w.violated("%s", f)
	}
	for _, p := range w.ps.live {
		w.violated("P13: job %d attempt %d still runs on %s", p.job, p.attempt, p.node)
	}
}

// noteDatabase adds a summary of the final database to the trace.
func (w *world) noteDatabase() {
	h := fnv.New64a()
	for _, table := range []string{
		`SELECT json_array(workflow_id, seq, timestamp_ms, type, json_remove(data, '$.pid')) FROM event ORDER BY id`,
		`SELECT json_array(job_id, run_id, attempt_id, fence, compute_node_id, start_ms, end_ms, cause, action, rule) FROM attempt`,
		`SELECT json_array(id, status, attempt_id, fence, compute_node_id, rule_counts) FROM job`,
		`SELECT json_array(id, slurm_job_id, restart_count, state, cause, end_ms) FROM allocation`,
	} {
		w.query(table, func(scan func(...any)) {
			var row string
			scan(&row)
			fmt.Fprintln(h, strings.ReplaceAll(row, w.dir, "DIR"))
		})
	}
	w.note("the database: %x", h.Sum64())
}

// spooled reads the spool files of runners.
func (w *world) spooled() (all []check.SpooledReport) {
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
				all = append(all, check.SpooledReport{
					RunID: c.Header.RunID, LeaseRef: lease.LeaseRef(r.LeaseRef), EndedMS: r.EndedMS, Answered: i < c.Answered,
				})
			}
		}
	}
	return all
}

// checkJobs compares how jobs ended with what was observed.
func (w *world) checkJobs(st *store.Store) {
	canceled, run := len(w.acknowledged.Canceled) > 0, w.runID()
	for _, id := range w.ids {
		j, err := st.Jobs.Get(context.Background(), id)
		switch {
		case err != nil:
			w.violated("job %d: %v", id, err)
		case !j.Status.IsComplete() && !canceled:
			w.violated("job %d is %s after the end", id, j.Status)
		case j.Status == workflow.Completed && !w.ps.didSucceed(int32(w.jobs[id]), run):
			w.violated("job %d is completed, but never ran to its end", id)
		}
	}
}
