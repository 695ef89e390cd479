package simulation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// operate does what people do to a workflow by hand: they take jobs away from their
// runners, and start new runs, also while jobs run.
func (w *world) operate() {
	c := w.seed.of("operator")
	for range oneOf(c, 0, 0, 1, 3) {
		if sleep(w.life, c.spread(10*time.Second, 30*time.Minute)) != nil {
			return
		}
		if c.is(0.6) {
			w.takeJobAway(c)
		} else {
			w.beginRun(c.is(0.3))
		}
	}
}

// takeJobAway makes a job ready that some runner has, or one that has ended, if all have.
func (w *world) takeJobAway(c chance) {
	d := w.present()
	if d == nil {
		return
	}
	var jobs []int64
	which := `status IN (3, 4)`
	if w.complete() && w.cancelAfter == 0 {
		which = `status IN (5, 6, 8)`
	}
	w.queryFile(d.path, `SELECT id FROM job WHERE `+which+` ORDER BY id`, func(scan func(...any)) {
		var id int64
		scan(&id)
		jobs = append(jobs, id)
	})
	if len(jobs) == 0 {
		return
	}
	job := oneOf(c, jobs...)
	w.ps.excuse(job)
	if w.ask(http.MethodPut, fmt.Sprintf("/jobs/%d/manage_status_change/%s/%d", job, workflow.Ready, w.runID())) {
		w.note("job %d is taken away", job)
	}
}

// beginRun starts another run with the failed jobs, or with all.
func (w *world) beginRun(all bool) {
	if w.cancelAfter > 0 {
		return // that would undo it
	}
	w.note("a new run begins, with all jobs: %v", all)
	steps := []string{
		"/reset_status?force=true", fmt.Sprintf("/reset_job_status?failed_only=%v", !all), "/initialize_jobs?only_uninitialized=true",
	}
	w.begun++
	for _, step := range steps {
		w.ps.excuse(w.ids...)
		if w.cluster != nil {
			w.cluster.forgetAsked()
		}
		for !w.ask(http.MethodPost, fmt.Sprintf("/workflows/%d%s", w.workflow, step)) && w.life.Err() == nil {
			_ = sleep(w.life, 20*time.Second)
		}
	}
}

// releaseClaims repeatedly releases the claims of a workflow that max_failures holds.
func (w *world) releaseClaims() {
	c := w.seed.of("release")
	for w.life.Err() == nil && !w.isDone() {
		if sleep(w.life, c.spread(time.Minute, 30*time.Minute)) != nil {
			return
		}
		path := fmt.Sprintf("/workflows/%d/release_claims", w.workflow)
		answer, err := w.serve(w.life, http.MethodPost, token, path, []byte(`{"kind": "max_failures"}`), time.Millisecond)
		if err == nil {
			w.note("POST %s: %d %s", path, answer.Code, answer.Body)
		}
	}
}

// ask sends a request as the owner and reports whether it was carried out.
func (w *world) ask(method, path string) bool {
	answer, err := w.serve(w.life, method, token, path, nil, time.Millisecond)
	if err != nil {
		w.note("%s %s: %v", method, path, err)
		return false
	}
	w.note("%s %s: %d %s", method, path, answer.Code, answer.Body)
	return answer.Code == http.StatusOK
}

// runID returns the current run; 0 if nobody can say.
func (w *world) runID() int64 {
	d := w.present()
	if d == nil {
		return 0
	}
	flow, err := d.Store().Workflows.Get(context.Background(), w.workflow)
	if err != nil {
		return 0
	}
	return flow.RunID
}

// excuse allows the processes of jobs to live on beside others of the same jobs: a person
// has taken the jobs away, and they have yet to be ended.
func (ps *processes) excuse(jobs ...int64) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.order.forget()
	for _, job := range jobs {
		for _, p := range ps.of[job] {
			p.excused = true
		}
	}
}
