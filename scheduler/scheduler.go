package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Submitter requests allocations from Slurm.
type Submitter interface {
	Submit(ctx context.Context, want allocation.Want) (compute.Allocation, error)
}

// Options are what a Scheduler works with. Store and Submitter are needed.
type Options struct {
	Store     *store.Store
	Submitter Submitter
	// Site returns what the cluster offers; nil if that is not known.
	Site func(ctx context.Context) (*siteconfigs.Site, error)
	// Silence returns for how long a runner has been silent; nil: none is.
	Silence func(runnerID int64) time.Duration
	// Poll causes a poll of Slurm soon. Eligible returns the earliest start of a Slurm job
	// according to the last poll; zero if it may start now or it is not known. Both may be
	// nil.
	Poll     func()
	Eligible func(slurmJobID int64) time.Time
	// Expected returns when Slurm expected at the last poll to start a pending job; zero if it
	// did not say. May be nil.
	Expected func(slurmJobID int64) time.Time
	// Outlook has what plans know of the cluster; nil: they are made without a forecast.
	Outlook Outlook
	// Widen lets a pending Slurm job start in any of several partitions; nil: this is not
	// possible.
	Widen func(ctx context.Context, slurmJobID int64, partitions []string) error
	// Shorten lowers the time limit of a pending Slurm job; nil: this is not possible.
	Shorten  func(ctx context.Context, slurmJobID int64, limit time.Duration) error
	Settings Settings // the margins are those of each workflow
	// Tick is the time between two passes if nothing happens, default 1 min,
	// and Least the minimum between two passes, default 1 s.
	Tick, Least time.Duration
	// Lead is how long before the end of its delay a job counts as ready,
	// default 1 min; Silent how long a runner may be silent before its
	// allocation no longer counts as supply, default 2 min.
	Lead, Silent time.Duration
	// Woken signals that something has changed; may be nil.
	Woken <-chan struct{}
	Now   func() time.Time // time.Now if nil
	Log   *slog.Logger     // slog.Default() if nil
}

// Scheduler requests the allocations of submitted workflows. Callers wait for their
// turn, so that there is one pass at a time.
type Scheduler struct {
	Options
	turn chan struct{} // holds one token: the right to make a pass

	memory map[int64]*memory // by workflow; owned by the holder of the turn

	mu    sync.Mutex
	views map[int64]*view // of the latest pass over each workflow
}

// view is the result of a pass, for callers that ask before the next one. It does not
// change.
type view struct {
	memory memory
	site   knownSite
	pools  pools
}

// memory is what is known of a workflow and need not be stored: it is lost by a
// restart.
type memory struct {
	since  map[demandID]time.Time // when ready jobs were first seen without a place
	noted  map[string]bool        // events that were written
	left   map[int64]time.Time    // when allocations were first seen without their runners
	narrow map[int64]bool         // allocations that Slurm does not start in another partition
	fixed  map[int64]bool         // allocations that Slurm does not shorten
	// shortened is when allocations were shortened last.
	shortened map[int64]time.Time
	facts     facts
	stall     *Hold // the error of our own that prevents requests
	tries     int
}

// demandID names a Demand.
type demandID struct {
	class int64
	avoid string
}

// New returns a scheduler, which works by itself while Run runs.
func New(o Options) *Scheduler {
	o.Tick, o.Least = cmp.Or(o.Tick, time.Minute), cmp.Or(o.Least, time.Second)
	o.Lead, o.Silent = cmp.Or(o.Lead, time.Minute), cmp.Or(o.Silent, 2*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	s := &Scheduler{
		Options: o, turn: make(chan struct{}, 1), memory: map[int64]*memory{}, views: map[int64]*view{},
	}
	s.turn <- struct{}{}
	return s
}

// Over returns a scheduler that plans the workflows of another database with what this one
// knows of the cluster. Their passes take turns. It must not request anything.
func (s *Scheduler) Over(st *store.Store) *Scheduler {
	o := s.Options
	o.Store, o.Submitter = st, nil
	over := New(o)
	over.turn = s.turn
	return over
}

// Run makes passes over all submitted workflows until ctx ends.
func (s *Scheduler) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.Woken:
			// Further changes are covered by the same pass.
			timer.Reset(s.Least)
			select {
			case <-ctx.Done():
				return nil
			case <-timer.C:
			}
		case <-timer.C:
		}
		next, err := s.runOnce(ctx)
		if err != nil && ctx.Err() == nil {
			s.Log.Error("cannot schedule submitted workflows", "error", err)
		}
		timer.Reset(next)
	}
}

// runOnce makes a pass over all workflows and returns when the next one is due.
func (s *Scheduler) runOnce(ctx context.Context) (next time.Duration, err error) {
	ids, err := s.Store.Scheduling.Workflows(ctx)
	if err != nil {
		return s.Tick, err
	}
	if err := s.forget(ctx, ids); err != nil {
		return s.Tick, err
	}
	until := s.Now().Add(s.Tick)
	for _, id := range ids {
		report, err := s.Schedule(ctx, id)
		if ctx.Err() != nil {
			return s.Tick, err
		}
		if err != nil {
			// This does not affect the other workflows.
			s.Log.Error("cannot schedule a submitted workflow", "workflow_id", id, "error", err)
			continue
		}
		if report.Next.Before(until) {
			until = report.Next
		}
	}
	return max(until.Sub(s.Now()), s.Least), nil
}

// forget removes the memory of workflows that need nothing any more.
func (s *Scheduler) forget(ctx context.Context, keep []int64) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.giveBack()
	maps.DeleteFunc(s.memory, func(id int64, _ *memory) bool { return !slices.Contains(keep, id) })
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.views, func(id int64, _ *view) bool {
		gone := !slices.Contains(keep, id)
		if gone {
			s.Store.Scheduling.PublishPlaces(id, nil)
		}
		return gone
	})
	return nil
}

func (s *Scheduler) take(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Scheduler) giveBack() { s.turn <- struct{}{} }

// Schedule makes a pass over a workflow and requests the allocations that it needs. A
// workflow that is not submitted gets none.
func (s *Scheduler) Schedule(ctx context.Context, workflowID int64) (*Report, error) {
	return s.Submit(ctx, workflowID, func() error { return nil })
}

// Submit records something and then does the same as Schedule, in one turn, so that the
// resulting requests are in this report and in no other.
func (s *Scheduler) Submit(ctx context.Context, workflowID int64, record func() error) (*Report, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.giveBack()
	if err := record(); err != nil {
		return nil, err
	}
	m := s.memory[workflowID]
	if m == nil {
		m = &memory{since: map[demandID]time.Time{}, noted: map[string]bool{}, narrow: map[int64]bool{}, fixed: map[int64]bool{}, shortened: map[int64]time.Time{}}
		s.memory[workflowID] = m
	}
	l := &pass{Scheduler: s, memory: m, id: workflowID, now: s.Now()}
	if err := l.read(ctx); err != nil {
		return nil, fmt.Errorf("schedule workflow %d: %w", workflowID, err)
	}
	if err := l.carryOut(ctx); err != nil {
		return nil, fmt.Errorf("schedule workflow %d: %w", workflowID, err)
	}
	v := &view{memory: *m, site: l.site, pools: *l.pools}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[workflowID] = v
	s.Store.Scheduling.PublishPlaces(workflowID, v.published())
	return l.report, nil
}

// Apart runs a function between passes: the next pass counts the requests that it
// makes.
func (s *Scheduler) Apart(ctx context.Context, do func() error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.giveBack()
	return do()
}

// Plan returns what Schedule would do if the workflow were submitted with these
// options and limits. It changes nothing.
func (s *Scheduler) Plan(ctx context.Context, workflowID int64, o compute.SubmitOptions, limits *workflow.AutoSchedule) (*Report, error) {
	if limits != nil {
		if err := action.ValidateAutoSchedule(limits); err != nil {
			return nil, err
		}
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.giveBack()
	l := &pass{Scheduler: s, memory: &memory{}, id: workflowID, now: s.Now(), dry: true, limits: limits}
	l.submission = &compute.Submission{WorkflowID: workflowID, Options: o, SubmittedMS: s.Now().UnixMilli()}
	if err := l.read(ctx); err != nil {
		return nil, fmt.Errorf("plan the allocations of workflow %d: %w", workflowID, err)
	}
	if err := l.foresee(ctx); err != nil {
		return nil, fmt.Errorf("plan the allocations of workflow %d: %w", workflowID, err)
	}
	return l.report, nil
}

// Review returns where the ready jobs of a workflow can run, without calling Slurm
// or changing anything; nil if the workflow is not submitted, or there was no pass yet.
func (s *Scheduler) Review(ctx context.Context, workflowID int64) (*Report, error) {
	s.mu.Lock()
	v := s.views[workflowID]
	s.mu.Unlock()
	if v == nil {
		return nil, nil
	}
	m := v.memory
	l := &pass{Scheduler: s, memory: &m, id: workflowID, now: s.Now(), site: v.site, seen: true}
	if err := l.read(ctx); err != nil {
		return nil, fmt.Errorf("review the allocations of workflow %d: %w", workflowID, err)
	}
	if err := l.foresee(ctx); err != nil {
		return nil, fmt.Errorf("plan the allocations of workflow %d: %w", workflowID, err)
	}
	return l.report, nil
}
