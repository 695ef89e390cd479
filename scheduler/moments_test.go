package scheduler

import (
	"context"
	"testing"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
)

// TestANewRunBeginsDuringAPass: what is requested in one run is not requested in
// the next, which nobody has submitted; and that one does not wait for it.
func TestANewRunBeginsDuringAPass(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world){
		"a new run": func(*world) {},
		"canceled": func(w *world) {
			_, err := w.store.Workflows.Cancel(t.Context(), w.id)
			w.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.jobs(1, 1, "1g", "PT10M")
			newRun := func() {
				_, err := w.store.Workflows.Reset(t.Context(), w.id, true, "me")
				w.must(err)
			}
			w.before = func() {
				if meanwhile(w); name == "a new run" {
					newRun()
				}
			}
			if r := w.submit(nil); len(r.Asked) != 0 || len(r.Refused) != 1 {
				t.Errorf("asked %+v, refused %+v", r.Asked, r.Refused)
			}
			if live := w.allocations(true); len(live) != 0 {
				t.Fatalf("there are %+v", live)
			}
			if name != "a new run" {
				newRun()
			}
			w.must(w.store.Workflows.Initialize(t.Context(), w.id, store.InitializeOptions{}))
			if r := w.submit(nil); len(r.Asked) != 1 {
				t.Errorf("submitted: asked %+v, waits %+v", r.Asked, r.Waits)
			}
		})
	}
}

// TestCanceledWhileTheClusterIsAsked: the report is of the run as it is.
func TestCanceledWhileTheClusterIsAsked(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	site := w.scheduler.Site
	w.scheduler.Site = func(ctx context.Context) (*siteconfigs.Site, error) {
		_, err := w.store.Workflows.Cancel(ctx, w.id)
		w.must(err)
		return site(ctx)
	}
	if r := w.submit(nil); !r.Ended || len(r.Planned)+len(r.Refused) != 0 || w.asked != 0 {
		t.Errorf("%+v", r)
	}
}

// TestARunContinuesDuringAPass: it was over when the pass began, and is not when the
// jobs are counted.
func TestARunContinuesDuringAPass(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	first := w.submit(nil).Asked[0]
	w.now = w.now.Add(time.Second)
	l := &pass{Scheduler: w.scheduler, memory: w.scheduler.memory[w.id], id: w.id, now: w.now}
	w.must(l.read(t.Context()))
	l.workflow.Verdict = "workflow_failed" // as it was before somebody had the failed job repeated
	w.must(l.readJobs(t.Context()))
	w.must(l.carryOut(t.Context()))
	if a, err := w.store.Allocations.Get(t.Context(), first.ID); err != nil || a.CancelMS != 0 {
		t.Errorf("canceled: %+v, %v", a, err)
	}
}
