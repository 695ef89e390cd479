package simulation

import (
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// checkStages checks the ends and compensations of the runs by their recorded attempts.
func (w *world) checkStages() {
	if place, ok := w.endOf(0); ok {
		w.checkEnds(w.idOf(place))
	}
	for i := range w.def.Jobs {
		if w.kindOf(int32(i)) == workflow.StageCompensation {
			w.checkOnce(w.idOf(int32(i)))
		}
	}
	if stage.CompensationOf(w.def) > 0 {
		w.checkCompensations()
	}
}

// finished counts the ends of a job by run, without the attempts that were followed by
// another one.
func (w *world) finished(job int64, condition string) map[int64]int64 {
	ends := map[int64]int64{}
	w.query(`SELECT job_id, run_id FROM attempt WHERE action NOT IN ('retry', 'recover') AND `+condition, func(scan func(...any)) {
		var of, run int64
		if scan(&of, &run); of == job {
			ends[run]++
		}
	})
	return ends
}

// checkEnds checks that the end job ran to its end, once for each verdict of a run that
// was not canceled (P11).
func (w *world) checkEnds(job int64) {
	ended := "true"
	if w.ps.people() {
		ended = "cause != 'canceled_user'" // taken away from its runner, it did not run to its end
	}
	ends := w.finished(job, ended)
	w.query(`SELECT run_id, COUNT(*) FILTER (WHERE type != 'workflow_canceled') FROM verdict GROUP BY run_id`, func(scan func(...any)) {
		var run, verdicts int64
		if scan(&run, &verdicts); ends[run] != verdicts {
			w.violated("P11: the end job has ended %d times in run %d, which has %d verdicts", ends[run], run, verdicts)
		}
	})
}

// checkOnce checks that a job of a compensation is successful at most once in a run
// (P11).
func (w *world) checkOnce(job int64) {
	if w.ps.people() {
		return // they may have had it repeated
	}
	for run, n := range w.finished(job, "status = 5") {
		if n > 1 {
			w.violated("P11: job %d of a compensation was successful %d times in run %d", job, n, run)
		}
	}
}

// people reports whether people intervened.
func (ps *processes) people() bool { return ps.order.people != time.Time{} }

// checkCompensations checks that a run that must be undone is undone once, and that
// exactly what had begun is undone (P11).
func (w *world) checkCompensations() {
	type compensation struct{ began, ended int64 }
	all := map[int64]*compensation{}
	of := func(run int64) *compensation {
		if all[run] == nil {
			all[run] = &compensation{}
		}
		return all[run]
	}
	w.query(`SELECT type, json_extract(data, '$.run_id') FROM event WHERE type LIKE 'compensation_%'`, func(scan func(...any)) {
		var what string
		var run int64
		if scan(&what, &run); what == string(workflow.EventCompensationStarted) {
			of(run).began++
		} else {
			of(run).ended++
		}
	})
	for run, c := range all {
		if c.began != 1 || c.ended != 1 {
			w.violated("P11: %d compensations of run %d began, %d ended", c.began, run, c.ended)
		}
	}
	w.query(`SELECT DISTINCT run_id, type FROM verdict`, func(scan func(...any)) {
		var run int64
		var verdict workflow.EventType
		scan(&run, &verdict)
		if _, wanted := w.def.Policy.Compensates(verdict); wanted && all[run] == nil && w.cleansUp() {
			w.violated("P11: run %d has the verdict %s and was not undone", run, verdict)
		}
	})
	w.checkUndone()
}

// cleansUp reports whether a compensation has jobs that do not depend on what has begun.
func (w *world) cleansUp() bool {
	for i := range w.def.Jobs {
		if w.kindOf(int32(i)) == workflow.StageCompensation && w.def.Jobs[i].Undoes == 0 {
			return true
		}
	}
	return false
}

// checkUndone compares what a complete compensation undid with what had processes.
func (w *world) checkUndone() {
	if w.ps.people() {
		return
	}
	whole := false
	w.query(`SELECT reason = '' FROM compensation`, func(scan func(...any)) { scan(&whole) })
	ended, canceled := map[int64]bool{}, map[int64]bool{}
	w.query(`SELECT job_id FROM attempt WHERE cause != 'launch'`, func(scan func(...any)) {
		var job int64
		scan(&job)
		ended[job] = true
	})
	w.query(`SELECT id FROM job WHERE status = 7`, func(scan func(...any)) {
		var job int64
		scan(&job)
		canceled[job] = true
	})
	for i := range w.def.Jobs {
		undoes := w.def.Jobs[i].Undoes - 1
		if undoes < 0 || !whole {
			continue
		}
		undo, job := w.idOf(int32(i)), w.idOf(undoes)
		undone, began := len(w.ps.of[undo]) > 0, len(w.ps.of[job]) > 0
		switch {
		case undone && !began && !canceled[job]:
			w.violated("P11: job %d undid job %d, which never began", undo, job)
		case !undone && began && ended[job] && !w.failedToStart(undo):
			w.violated("P11: job %d began and was not undone", job)
		}
	}
}

// failedToStart reports whether the processes of a job could not be started.
func (w *world) failedToStart(job int64) bool { return len(w.finished(job, "cause = 'launch'")) > 0 }
