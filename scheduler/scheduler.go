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
)

// Submitter asks Slurm for allocations.
type Submitter interface {
	Submit(ctx context.Context, want allocation.Want) (workflow.Allocation, error)
}

// Options are what a Scheduler works with. Store and Submitter are needed.
type Options struct {
	Store     *store.Store
	Submitter Submitter
	// Site tells what the cluster offers; nil where nobody knows.
	Site func(ctx context.Context) (*siteconfigs.Site, error)
	// Silence is for how long nothing was heard of a runner; nil: all are heard.
	Silence func(runnerID int64) time.Duration
	// Look has somebody look at Slurm's queue soon, and Eligible is when Slurm may
	// start a job of it at the earliest, by the last look; zero if it may now or
	// nobody knows. Both may be nil.
	Look     func()
	Eligible func(slurmJobID int64) time.Time
	// Widen lets a waiting job of Slurm start in any of some partitions; nil:
	// that cannot be done.
	Widen    func(ctx context.Context, slurmJobID int64, partitions []string) error
	Settings Settings // the margins are those of each workflow
	// Tick is the time between two looks when nothing happens, default 1 min,
	// and Least that between two looks when much does, default 1 s.
	Tick, Least time.Duration
	// Lead is how long before the end of its delay a job counts as ready,
	// default 1 min; Silent how long a runner may say nothing before its
	// allocation is not counted on, default 2 min.
	Lead, Silent time.Duration
	// Woken says that something has changed; nil: nobody says it.
	Woken <-chan struct{}
	Now   func() time.Time // time.Now if nil
	Log   *slog.Logger     // slog.Default() if nil
}

// Scheduler asks for the allocations of submitted workflows. Whoever has it
// look at workflows waits for a turn, so that there is one look at a time.
type Scheduler struct {
	Options
	turn chan struct{} // holds one token: the right to look

	memory map[int64]*memory // by workflow; of whoever has the turn

	mu    sync.Mutex
	views map[int64]*view // of the latest look at each workflow
}

// view is what a look leaves for whoever asks how things stand before the next.
// It does not change.
type view struct {
	memory memory
	site   knownSite
	pools  pools
}

// memory is what is known of a workflow and not worth being stored: after a
// restart it begins anew.
type memory struct {
	since  map[demandID]time.Time // when ready jobs were first seen without a place
	noted  map[string]bool        // events that were written
	left   map[int64]time.Time    // when allocations were first seen without their runners
	narrow map[int64]bool         // allocations that Slurm does not start elsewhere
	stall  *Hold                  // why nothing could be asked for, though not by Slurm's word
	tries  int
}

// demandID names a Demand.
type demandID struct {
	class int64
	avoid string
}

// New makes a scheduler. Run has it work.
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

// Run looks after submitted workflows until ctx ends.
func (s *Scheduler) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.Woken:
			// Whatever else happens now is part of the same look.
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
			s.Log.Error("cannot look after submitted workflows", "error", err)
		}
		timer.Reset(next)
	}
}

// runOnce looks at all workflows and returns when to look again.
func (s *Scheduler) runOnce(ctx context.Context) (next time.Duration, err error) {
	ids, err := s.Store.Scheduled(ctx)
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
			// The others are not to wait for this one.
			s.Log.Error("cannot look after a submitted workflow", "workflow_id", id, "error", err)
			continue
		}
		if report.Next.Before(until) {
			until = report.Next
		}
	}
	return max(until.Sub(s.Now()), s.Least), nil
}

// forget drops what is known of workflows that need nothing any more.
func (s *Scheduler) forget(ctx context.Context, keep []int64) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.giveBack()
	maps.DeleteFunc(s.memory, func(id int64, _ *memory) bool { return !slices.Contains(keep, id) })
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.views, func(id int64, _ *view) bool { return !slices.Contains(keep, id) })
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

// Schedule looks at a workflow and asks for the allocations that it needs. A
// workflow that is not submitted gets none.
func (s *Scheduler) Schedule(ctx context.Context, workflowID int64) (*Report, error) {
	return s.Submit(ctx, workflowID, func() error { return nil })
}

// Submit is Schedule once something has been recorded, in one turn: what is asked
// for because of that is in the report of nobody else.
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
		m = &memory{since: map[demandID]time.Time{}, noted: map[string]bool{}, narrow: map[int64]bool{}}
		s.memory[workflowID] = m
	}
	l := &look{Scheduler: s, memory: m, id: workflowID, now: s.Now()}
	if err := l.read(ctx); err != nil {
		return nil, fmt.Errorf("schedule workflow %d: %w", workflowID, err)
	}
	if err := l.carryOut(ctx); err != nil {
		return nil, fmt.Errorf("schedule workflow %d: %w", workflowID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[workflowID] = &view{memory: *m, site: l.site, pools: *l.pools}
	return l.report, nil
}

// Apart has something done while nobody looks at workflows: requests of
// somebody else, so that the next look counts them.
func (s *Scheduler) Apart(ctx context.Context, do func() error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.giveBack()
	return do()
}

// Plan says what Schedule would do if the workflow were submitted with these
// options and limits. Nothing is changed.
func (s *Scheduler) Plan(ctx context.Context, workflowID int64, o workflow.SubmitOptions, limits *workflow.AutoSchedule) (*Report, error) {
	if limits != nil {
		if err := limits.Validate(); err != nil {
			return nil, err
		}
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.giveBack()
	l := &look{Scheduler: s, memory: &memory{}, id: workflowID, now: s.Now(), dry: true, limits: limits}
	l.submission = &workflow.Submission{WorkflowID: workflowID, Options: o, SubmittedMS: s.Now().UnixMilli()}
	if err := l.read(ctx); err != nil {
		return nil, fmt.Errorf("plan the allocations of workflow %d: %w", workflowID, err)
	}
	l.foresee()
	return l.report, nil
}

// Elsewhere reports whether jobs of a class that avoid a node get allocations
// without it, as far as the latest look at their workflow knows. It asks nobody.
func (s *Scheduler) Elsewhere(workflowID int64, c workflow.Class, node string) bool {
	d := &Demand{Class: c, Avoid: []string{node}}
	p := s.known(workflowID)
	if p == nil {
		return false
	}
	names, _ := p.find(d)
	if len(names) == 0 {
		return false
	}
	pool := p.targets[names[0]]
	if seen := p.seen[names[0]]; seen != nil {
		pool = seen
	}
	excluded, _ := pool.exclude(d)
	return slices.Contains(excluded, node) || pool.Hosts != nil && !slices.Contains(pool.Hosts, node)
}

// known is what the latest look at a workflow knew of where its allocations may
// be; nil if there was none, or it is not asked for any.
func (s *Scheduler) known(workflowID int64) *knownPools {
	s.mu.Lock()
	v := s.views[workflowID]
	s.mu.Unlock()
	if v == nil || len(v.pools.actions) == 0 {
		return nil
	}
	p := &knownPools{pools: v.pools, seen: v.pools.targets}
	p.targets = map[string]*target{}
	return p
}

// knownPools are those of an earlier look, with what had come of requests there.
type knownPools struct {
	pools
	seen map[string]*target
}

// Unplaced says why no allocation that may be asked for could take a job of a
// class, as far as the latest look at its workflow knows; empty if one could, or
// nobody knows. It asks nobody.
func (s *Scheduler) Unplaced(workflowID int64, c workflow.Class) string {
	p := s.known(workflowID)
	if p == nil || p.site == nil {
		return ""
	}
	_, why := p.find(&Demand{Class: c})
	return why
}

// Review says where the ready jobs of a workflow stand now, without asking Slurm
// or changing anything; nil if nobody looks after it, or nobody has yet.
func (s *Scheduler) Review(ctx context.Context, workflowID int64) (*Report, error) {
	s.mu.Lock()
	v := s.views[workflowID]
	s.mu.Unlock()
	if v == nil {
		return nil, nil
	}
	m := v.memory
	l := &look{Scheduler: s, memory: &m, id: workflowID, now: s.Now(), site: v.site, seen: true}
	if err := l.read(ctx); err != nil {
		return nil, fmt.Errorf("review the allocations of workflow %d: %w", workflowID, err)
	}
	l.foresee()
	return l.report, nil
}
