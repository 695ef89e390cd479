package server

import (
	"errors"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestWhoIsDead(t *testing.T) {
	w := &watchdog{host: "here", bootID: "now"}
	const nobody = 1 << 30 // no process has this id
	for _, tc := range []struct {
		name   string
		runner store.LiveRunner
		silent time.Duration
		dead   bool
	}{
		{"gone from this host", store.LiveRunner{Hostname: "here", BootID: "now", PID: nobody}, time.Second, true},
		{"of an earlier boot", store.LiveRunner{Hostname: "here", BootID: "before", PID: 1}, time.Second, true},
		{"an existing process", store.LiveRunner{Hostname: "here", BootID: "now", PID: 1}, time.Hour, false},
		{"elsewhere, for a while", store.LiveRunner{Hostname: "there", PID: 1}, time.Minute, false},
		{"elsewhere, for long", store.LiveRunner{Hostname: "there", PID: 1}, time.Hour, true},
		{"in an allocation, for long", store.LiveRunner{Hostname: "there", PID: 1, AllocationID: 1}, time.Hour, false},
		{"in an allocation, gone from this host", store.LiveRunner{Hostname: "here", BootID: "now", PID: nobody, AllocationID: 1}, time.Hour, false},
	} {
		if why, dead := w.isDead(tc.runner, tc.silent, heartbeatTimeout); dead != tc.dead {
			t.Errorf("%s: dead is %t (%s), want %t", tc.name, dead, why, tc.dead)
		}
	}
}

// TestSpoolOfADeadRunner: the reports that a runner of this host spooled before it died
// count; only the other jobs are lost. The daemon waits for an unreadable file, but not
// forever.
func TestSpoolOfADeadRunner(t *testing.T) {
	for name, tc := range map[string]struct {
		unreadable time.Duration // for this long
		want       workflow.JobStatus
	}{
		"readable":            {0, workflow.Completed},
		"readable later":      {spoolPatience - time.Second, workflow.Completed},
		"readable much later": {spoolPatience + time.Second, workflow.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			wf := a.workflow()
			a.jobs(wf, 2)
			r := a.runner(wf, "k1", noSuchPID)
			grants := r.turn(func(req *lease.TurnRequest) { req.Free.Slots = 2 }).Grants
			r.turn(func(req *lease.TurnRequest) {
				req.Held = []lease.Held{{LeaseRef: grants[0].LeaseRef, StartedMS: 1}, {LeaseRef: grants[1].LeaseRef, StartedMS: 1}}
			})
			live, err := a.Store.Runners.Live(t.Context())
			if err != nil || len(live) != 1 {
				t.Fatalf("live: %+v, %v", live, err)
			}
			w, _ := a.watch("boot")
			began := time.Now()
			now := began
			w.now = func() time.Time { return now }
			removed := false
			w.spool.read = func(dir, _ string, runner int64) ([]Spooled, error) {
				switch {
				case now.Sub(began) < tc.unreadable:
					return nil, errors.New("stale file handle")
				case dir != live[0].OutputDir || runner != r.id || removed:
					return nil, nil
				}
				return []Spooled{{RunID: r.run, Delivered: func() error { removed = true; return nil }, Reports: []lease.Report{{
					LeaseRef: grants[0].LeaseRef, StartedMS: 1, EndedMS: 2, Evidence: ok(),
				}}}}, nil
			}
			a.leases.suspect(r.id)
			for ; a.leases.any() && now.Sub(began) < time.Hour; now = now.Add(watchInterval) {
				w.checkRunners(t.Context())
			}
			if waited := now.Sub(began) - watchInterval; a.leases.any() || waited > min(tc.unreadable, spoolPatience)+watchInterval {
				t.Errorf("expired: %t, after %s", !a.leases.any(), waited)
			}
			for i, want := range []workflow.JobStatus{tc.want, workflow.Ready} {
				j, err := a.Store.Jobs.Get(t.Context(), grants[i].JobID)
				if err != nil || j.Status != want {
					t.Errorf("job %d is %s, want %s (%v)", i, j.Status, want, err)
				}
			}
		})
	}
}
