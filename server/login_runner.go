package server

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// LoginProcess is a runner that the daemon has started on its own host. It continues when
// the daemon ends.
type LoginProcess interface {
	// Ended reports whether the process has ended, and why it failed. It does not wait.
	Ended() (ended bool, failure error)
}

// Intervals of the runners on this host.
const (
	loginInterval   = 5 * time.Second // between checks, if nothing happens
	firstLoginPause = time.Second     // after a failed runner, doubled each time
	lastLoginPause  = 2 * time.Minute
)

// loginRunners starts runners on this host for the jobs that run only here, one for each
// workflow. The goroutine of Run owns the fields; mu guards those that others read.
type loginRunners struct {
	store *store.Store
	start func(store.LoginWork) (LoginProcess, error)
	woken <-chan struct{} // jobs are ready, or a runner has registered or left
	log   *slog.Logger

	running map[int64]LoginProcess // by workflow
	mu      sync.Mutex
	failed  map[int64]loginFailure
}

// loginFailure is why a runner of a workflow could not work here.
type loginFailure struct {
	why   string
	pause time.Duration
	until time.Time // when the next one is started
}

func newLoginRunners(s *Server, woken <-chan struct{}, start func(store.LoginWork) (LoginProcess, error)) *loginRunners {
	l := &loginRunners{store: s.Store, start: start, woken: woken, log: s.Log, running: map[int64]LoginProcess{}, failed: map[int64]loginFailure{}}
	s.logins = l
	return l
}

// Run starts runners until ctx ends. Those already started keep running.
func (l *loginRunners) Run(ctx context.Context) {
	tick := time.NewTicker(loginInterval)
	defer tick.Stop()
	for {
		if err := l.startNeeded(ctx, time.Now()); err != nil && ctx.Err() == nil {
			l.log.Error("cannot list jobs of this host", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.woken:
		}
	}
}

// startNeeded starts the runners that are needed now.
func (l *loginRunners) startNeeded(ctx context.Context, now time.Time) error {
	for id, p := range l.running {
		ended, failure := p.Ended()
		if !ended {
			continue
		}
		delete(l.running, id)
		l.note(id, failure, now)
	}
	work, err := l.store.Runners.LoginWork(ctx)
	if err != nil {
		return err
	}
	for _, w := range work {
		if l.running[w.WorkflowID] != nil || now.Before(l.failure(w.WorkflowID).until) {
			continue
		}
		p, err := l.start(w)
		if err != nil {
			l.note(w.WorkflowID, err, now)
			continue
		}
		l.running[w.WorkflowID] = p
		l.log.Info("started a runner on this host", "workflow_id", w.WorkflowID, "output_dir", w.OutputDir)
	}
	return nil
}

// note records how the last runner of a workflow ended.
func (l *loginRunners) note(workflowID int64, failure error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if failure == nil {
		delete(l.failed, workflowID)
		return
	}
	pause := min(max(firstLoginPause, 2*l.failed[workflowID].pause), lastLoginPause)
	l.failed[workflowID] = loginFailure{why: failure.Error(), pause: pause, until: now.Add(pause)}
	l.log.Error("a runner on this host failed", "workflow_id", workflowID, "error", failure, "again_in_s", pause.Seconds())
}

func (l *loginRunners) failure(workflowID int64) loginFailure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[workflowID]
}

// loginPart returns a runner's part in the jobs that run only on this host: runners that
// users start here run them, too.
func (s *Server) loginPart(r *lease.RegisterRequest) (placement.LoginPart, error) {
	host, err := os.Hostname()
	here := err == nil && r.Hostname == host && r.BootID == BootID() && r.NodeType == compute.SchedulerLocal && r.Allocation == nil
	switch {
	case r.OnlyLogin && !here:
		return 0, workflow.Errorf(workflow.CodeConflict, "a runner for jobs of the daemon's host is on %s, the daemon on %s", r.Hostname, host)
	case r.OnlyLogin:
		return placement.LoginOnly, nil
	case here:
		return placement.LoginAlso, nil
	}
	return placement.LoginNone, nil
}

// loginFacts says which runners run the jobs of a workflow that run only on this host.
func (s *Server) loginFacts(workflowID int64) explain.LoginFacts {
	host, _ := os.Hostname() // empty where there is none
	f := explain.LoginFacts{Host: host}
	if s.logins != nil {
		f.Starts, f.Failure = true, s.logins.failure(workflowID).why
	}
	return f
}
