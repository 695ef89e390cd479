package clusterfacts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// How often Slurm is asked, and how long its answers count.
const (
	LoadsEvery        = 30 * time.Second
	ReservationsEvery = 10 * time.Minute
	AgainAfterFailure = 2 * time.Minute // of asking for reservations
	ProbesPerPlan     = 3
	ProbeLifetime     = 5 * time.Minute

	// staleReservations is for how long reservations count if Slurm does not say anew.
	staleReservations = time.Hour
)

// Slurm is what a Source calls of Slurm; *slurm.Client implements it.
type Slurm interface {
	NodeLoads(ctx context.Context) (slurm.NodeLoads, error)
	Reservations(ctx context.Context) ([]slurm.Reservation, error)
	Estimate(ctx context.Context, s slurm.Submission) (time.Time, error)
}

// Options are what a Source works with. Slurm is needed.
type Options struct {
	Slurm Slurm
	// Reserved returns the nodes that reserve CPUs or memory for the system, without
	// calling Slurm; nil: none does.
	Reserved func() []slurm.NodeRecord
	Now      func() time.Time // nil: time.Now
}

// Source asks Slurm for the facts of a forecast when they are needed, for all workflows
// together. It is safe for concurrent use: callers wait for a call that another makes.
type Source struct {
	options Options
	turn    chan struct{} // holds one token: the right to call Slurm, and all below up to mu

	loads        answer[slurm.NodeLoads]
	reservations answer[[]slurm.Reservation]

	mu     sync.Mutex
	probes map[string]probed // by the arguments of sbatch
}

// answer is what Slurm said last.
type answer[T any] struct {
	asked time.Time // when it was called last; zero: never
	err   error     // of the last call
	known time.Time // when value is from; zero: never
	value T
}

// probed is an answer of sbatch --test-only.
type probed struct {
	request forecast.Request
	at      time.Time
	start   time.Time
	err     error
}

func (p *probed) answer(r forecast.Request) (forecast.Probe, error) {
	if p.err != nil {
		return forecast.Probe{}, p.err
	}
	return forecast.Probe{Request: r, At: p.at, Start: p.start}, nil
}

// NewSource returns a source that knows nothing yet.
func NewSource(o Options) *Source {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Source{options: o, turn: make(chan struct{}, 1), probes: map[string]probed{}}
	s.turn <- struct{}{}
	return s
}

// Cluster returns what the cluster is like, at most LoadsEvery ago. It calls sinfo, and
// scontrol for the reservations, if what it knows is older. The error says why nothing is
// known: the call failed, or was withheld because the budget of calls is spent. A failure
// is returned for as long as an answer would be.
func (s *Source) Cluster(ctx context.Context) (*forecast.Cluster, error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { s.turn <- struct{}{} }()

	loads, err := s.loads.get(ctx, s.options.Now, policy{every: LoadsEvery, again: LoadsEvery}, s.options.Slurm.NodeLoads)
	if err != nil {
		return nil, fmt.Errorf("which nodes are free is not known: %w", err)
	}
	reservations, err := s.reservations.get(ctx, s.options.Now,
		policy{every: ReservationsEvery, again: AgainAfterFailure, stale: staleReservations}, s.options.Slurm.Reservations)
	if err != nil {
		return nil, fmt.Errorf("which nodes are reserved is not known: %w", err)
	}
	nodes := loads.Nodes
	if s.options.Reserved != nil {
		nodes = slurm.WithoutReservedLoad(nodes, s.options.Reserved())
	}
	c := Of(nodes, reservations, loads.At)
	return &c, nil
}

// policy says how often to ask, after an answer and after a failure, and for how long an
// answer counts if the next one is a failure.
type policy struct{ every, again, stale time.Duration }

// get returns the answer, and asks for it if the last one is too old.
func (a *answer[T]) get(ctx context.Context, now func() time.Time, p policy, ask func(context.Context) (T, error)) (T, error) {
	at, every := now(), p.every
	if a.err != nil {
		every = p.again
	}
	if a.asked.IsZero() || !within(at, a.asked, every) {
		value, err := ask(ctx)
		switch {
		case err == nil:
			a.asked, a.known, a.value, a.err = at, at, value, nil
		case slurm.ClassOf(err) == slurm.Withheld || ctx.Err() != nil: // Slurm was not called, or we did not wait for it
			return a.orStale(at, p, err)
		default:
			a.asked, a.err = at, err
		}
	}
	if a.err != nil {
		return a.orStale(at, p, a.err)
	}
	return a.value, nil
}

// orStale returns an older answer, or the error.
func (a *answer[T]) orStale(at time.Time, p policy, err error) (T, error) {
	if !a.known.IsZero() && within(at, a.known, p.stale) {
		return a.value, nil
	}
	var none T
	return none, err
}

// within reports whether a time is less than d ago. A time in the future, from before the
// clock was set back, is not.
func within(now, then time.Time, d time.Duration) bool {
	age := now.Sub(then)
	return age >= 0 && age < d
}

// Prober returns a Prober for one plan.
func (s *Source) Prober() *Prober { return &Prober{source: s, left: ProbesPerPlan} }

// Prober asks Slurm when it would start an allocation, a few times.
type Prober struct {
	source *Source
	left   int
}

// Probe returns when Slurm would start a request, which has these arguments of sbatch. An
// answer, or a refusal, is remembered for ProbeLifetime. The error is a *slurm.Error; of
// class Withheld if no call was made, because this plan has made enough of them or the
// budget is half spent.
func (p *Prober) Probe(ctx context.Context, r forecast.Request, args []string) (forecast.Probe, error) {
	key := strings.Join(args, "\x00")
	if known, ok := p.source.remembered(key); ok {
		return known.answer(r)
	}
	if p.left <= 0 {
		return forecast.Probe{}, &slurm.Error{Program: slurm.Sbatch, Class: slurm.Withheld, Text: fmt.Sprintf("withheld: a plan makes at most %d estimates", ProbesPerPlan)}
	}
	out := probed{request: r, at: p.source.options.Now()}
	out.start, out.err = p.source.options.Slurm.Estimate(ctx, slurm.Submission{Script: []byte("#!/bin/sh\n"), Args: args})
	if slurm.ClassOf(out.err) == slurm.Withheld {
		p.left = 0 // the next one would be, too
		return out.answer(r)
	}
	p.left--
	if ctx.Err() == nil {
		p.source.remember(key, out)
	}
	return out.answer(r)
}

// Probes returns the answers that still count, oldest first.
func (s *Source) Probes() []forecast.Probe {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	var all []forecast.Probe
	for _, key := range slices.SortedFunc(maps.Keys(s.probes), func(a, b string) int {
		return cmp.Or(s.probes[a].at.Compare(s.probes[b].at), cmp.Compare(a, b))
	}) {
		known := s.probes[key]
		if probe, err := known.answer(known.request); err == nil {
			all = append(all, probe)
		}
	}
	return all
}

func (s *Source) remembered(key string) (probed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	known, ok := s.probes[key]
	return known, ok
}

func (s *Source) remember(key string, p probed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probes[key] = p
}

// forget removes answers that are too old. The caller holds the lock.
func (s *Source) forget() {
	now := s.options.Now()
	maps.DeleteFunc(s.probes, func(_ string, p probed) bool { return !within(now, p.at, ProbeLifetime) })
}
