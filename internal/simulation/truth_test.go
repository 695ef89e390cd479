package simulation

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
)

// recorded is an attempt in the database whose end its runner observed.
type recorded struct {
	job, run, attempt, fence, startMS, endMS int64
	code, signal                             int
}

// leaseKey is common to the key of a process and the row of an attempt.
type leaseKey struct{ job, fence int64 }

// checkTruth compares the records with the processes: an attempt ended as its own process
// did (P1), and an end that a runner observed is recorded, late, or in a spool file (P4).
func (w *world) checkTruth(spooled []check.SpooledReport) {
	began := map[leaseKey]*execution{}
	for _, all := range w.ps.of {
		for _, p := range all {
			if !p.repair {
				began[leaseKey{p.job, p.fence}] = p
			}
		}
	}
	kept := map[leaseKey]bool{}
	for _, r := range spooled {
		kept[leaseKey{r.JobID, r.Fence}] = true
	}
	for _, r := range w.recorded() {
		kept[leaseKey{r.job, r.fence}] = true
		if wrong := r.differs(began[leaseKey{r.job, r.fence}]); wrong != "" {
			w.violated("P1: job %d: attempt %d of run %d, fence %d: %s", r.job, r.attempt, r.run, r.fence, wrong)
		}
	}
	w.checkLost(began)
	// An attempt that was taken from its runner was recorded then, and need not be
	// reported.
	w.query(`SELECT job_id, fence FROM late_report UNION SELECT job_id, fence FROM attempt WHERE evidence IS NULL`, func(scan func(...any)) {
		var l leaseKey
		scan(&l.job, &l.fence)
		kept[l] = true
	})
	for l, p := range began {
		if p.wasObserved(w.over) && !kept[l] {
			w.violated("P4: job %d: attempt %d, fence %d ended on %s at %s, which is not recorded", p.job, p.attempt, p.fence, p.node, p.end.Sub(w.began))
		}
	}
}

// checkLost checks that no runner is considered dead that could be asked (P5). What
// becomes of runners in allocations is for Slurm to say.
func (w *world) checkLost(began map[leaseKey]*execution) {
	w.query(`SELECT job_id, fence, end_ms FROM attempt WHERE json_extract(evidence, '$.lost_runner') = 1 AND json_extract(evidence, '$.slurm') IS NULL`,
		func(scan func(...any)) {
			var l leaseKey
			var lostMS int64
			scan(&l.job, &l.fence, &lostMS)
			if p := began[l]; p != nil && !p.excused && !w.jumps && p.end.After(time.UnixMilli(lostMS+1)) {
				w.violated("P5: job %d was considered lost, but still runs on %s", l.job, p.node)
			}
		})
}

// wasObserved reports whether the runner of a process has had the time to record how it
// ended. If Slurm has sent a signal, the runner asks Slurm first. The end of a process
// whose lease was taken away is not reported.
func (p *execution) wasObserved(over time.Time) bool {
	const writing = time.Minute
	died := p.machine.died
	return p.reported && !p.signaled && over.Sub(p.end) > writing && (died.IsZero() || died.Sub(p.end) > writing)
}

// recorded reads the attempts whose ends their runners observed.
func (w *world) recorded() (all []recorded) {
	w.query(`SELECT job_id, run_id, attempt_id, fence, COALESCE(start_ms, 0), end_ms,
			COALESCE(json_extract(evidence, '$.exit_code'), 0), COALESCE(json_extract(evidence, '$.signal'), 0)
		FROM attempt WHERE evidence IS NOT NULL
			AND json_extract(evidence, '$.lost_runner') IS NULL AND json_extract(evidence, '$.spawn_error') IS NULL`, func(scan func(...any)) {
		var r recorded
		scan(&r.job, &r.run, &r.attempt, &r.fence, &r.startMS, &r.endMS, &r.code, &r.signal)
		all = append(all, r)
	})
	return all
}

// differs says how an attempt differs from its process.
func (r *recorded) differs(p *execution) string {
	switch {
	case p == nil:
		return "it ended, but never began"
	case p.attempt != r.attempt || p.run > r.run: // a running job continues in the next run
		return "its process was another attempt's"
	case p.begin.UnixMilli() != r.startMS || p.end.UnixMilli() != r.endMS:
		return "its process began or ended at another time"
	case p.exit.Code != r.code || p.exit.Signal != r.signal:
		return "its process ended differently"
	}
	return ""
}

// checkBudgets counts the retries of each rule itself (P7, P8).
func (w *world) checkBudgets() {
	if w.begun > 0 {
		return // jobs that are reset start to count anew
	}
	w.query(`SELECT job_id, rule, counted, COUNT(*), SUM(counted AND cause = 'preempted') FROM attempt
		WHERE action IN ('retry', 'recover') GROUP BY job_id, rule, counted`, func(scan func(...any)) {
		var job, retries, preempted int64
		var rule string
		var counted bool
		scan(&job, &rule, &counted, &retries, &preempted)
		if limit := w.limitOf(job, rule, counted); retries > limit && (w.job(job).Stage == 0 || !w.ps.people()) {
			w.violated("P7: job %d: rule %s granted %d retries, at most %d are allowed", job, rule, retries, limit)
		}
		if preempted > 0 {
			w.violated("P8: job %d: %d preempted attempts count", job, preempted)
		}
	})
}

// limitOf returns how many retries of a job a rule may grant.
func (w *world) limitOf(job int64, rule string, counted bool) int64 {
	for _, h := range w.def.FailureHandlers {
		for i, r := range h.Rules {
			if rule == fmt.Sprintf("handler:%s/%d", h.Name, i+1) {
				return r.MaxRetries - 1 // it is the number of attempts
			}
		}
	}
	switch {
	case rule == "end_job/default_action":
		return *w.job(job).Policy.RetryPolicies[0].Policy.RetryLimit
	case rule == "compensation/attempts":
		return w.def.Policy.OnFailure.Attempts() - 1
	case counted:
		return 3
	}
	return 50
}

// query reads the final database.
func (w *world) query(text string, each func(scan func(...any))) { w.queryFile(w.path, text, each) }

func (w *world) queryFile(path, text string, each func(scan func(...any))) {
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		w.violated("query: %v", err)
		return
	}
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), text)
	if err != nil {
		w.violated("query: %v", err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		each(func(values ...any) {
			if err := rows.Scan(values...); err != nil {
				w.violated("query: %v", err)
			}
		})
	}
	if err := rows.Err(); err != nil {
		w.violated("query: %v", err)
	}
}
