package allocation

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Spool holds reports that runners have written to disk and could not deliver.
type Spool interface {
	// Deliver stores the reports that these runners left behind. After an error the call
	// must be repeated: attempts of these runners must not be judged yet.
	Deliver(ctx context.Context, runners []store.AllocationRunner) error
}

// Options are what a Loop works with. Store, Slurm, Runners and Script are
// needed.
type Options struct {
	Store     *store.Store
	Slurm     Slurm
	Runners   Runners
	Script    Script
	Spool     Spool // may be nil
	SecretDir string
	Settings  Settings
	// NoAccounting says that the cluster has no accounting.
	NoAccounting bool
	Now          func() time.Time // time.Now if nil
	Random       io.Reader        // crypto/rand if nil
	Log          *slog.Logger     // slog.Default() if nil
}

// Loop follows all allocations of a daemon. The goroutine of Run owns its
// fields; others use Submitter, Wake, Poll and Seen.
type Loop struct {
	store        *store.Store
	slurm        Slurm
	calls        Runners
	spool        Spool
	submitter    *Submitter
	set          Settings
	noAccounting bool
	clock        func() time.Time
	log          *slog.Logger
	wake         chan struct{}
	snapshot     snapshots // safe for concurrent use

	memory           map[int64]*memory // by allocation
	queueOutage      outage
	accountingOutage outage
	commented        time.Time // when comments were set last
}

// memory is what is known of an allocation and is not stored.
type memory struct {
	runners       map[int64]time.Time // since when each is known here
	suspended     time.Time           // when it was seen suspended last
	withoutRunner time.Time           // since when it has been running without a runner
	neverStarts   time.Time           // since when Slurm has said that it will never start
	commented     time.Time
	// since when the spool files of its runners cannot be read
	undelivered time.Time
}

// New returns a loop, which works while Run runs.
func New(o Options) *Loop {
	l := &Loop{
		store: o.Store, slurm: o.Slurm, calls: o.Runners, spool: o.Spool, set: o.Settings.withDefaults(), noAccounting: o.NoAccounting,
		clock: o.Now, log: cmp.Or(o.Log, slog.Default()), wake: make(chan struct{}, 1), memory: map[int64]*memory{},
	}
	if l.clock == nil {
		l.clock = time.Now
	}
	random := o.Random
	if random == nil {
		random = rand.Reader
	}
	l.submitter = &Submitter{
		store: o.Store, slurm: o.Slurm, script: o.Script, secrets: &secrets{dir: o.SecretDir, random: random}, random: random,
		log: l.log, wake: l.Wake, inFlight: map[string]bool{},
	}
	return l
}

// Submitter returns the submitter of new allocations.
func (l *Loop) Submitter() *Submitter { return l.submitter }

// Wake makes the loop poll soon, because something has happened.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default: // it will poll anyway
	}
}

// Run polls Slurm and carries out the verdicts until ctx ends.
func (l *Loop) Run(ctx context.Context) error {
	l.sweep(ctx)
	defer l.snapshot.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
			// Further wakes are covered by the same poll.
			timer.Reset(l.set.Least)
			select {
			case <-ctx.Done():
				return nil
			case <-timer.C:
			}
		case <-timer.C:
		}
		waiting := l.snapshot.begin()
		next, err := l.runOnce(ctx)
		tell(waiting, err)
		if err != nil && ctx.Err() == nil {
			l.log.Error("cannot poll allocations", "error", err)
		}
		timer.Reset(next)
	}
}

// runOnce polls once and returns how long to wait before the next poll.
func (l *Loop) runOnce(ctx context.Context) (next time.Duration, err error) {
	p := &poll{Loop: l, now: l.clock(), shows: map[int64]*ShowAnswer{}}
	if err := p.read(ctx); err != nil {
		return l.set.Poll, err
	}
	maps.DeleteFunc(l.memory, func(id int64, _ *memory) bool {
		return !slices.ContainsFunc(p.live, func(a compute.Allocation) bool { return a.ID == id })
	})
	if len(p.live) == 0 {
		return l.set.Poll, nil // Slurm is not polled
	}
	if err := p.pollOnce(ctx); err != nil {
		return l.set.Poll, err
	}
	l.snapshot.keep(p)
	for _, step := range []func(context.Context) error{p.carryOut, p.sendCancels, p.comments} {
		if err := step(ctx); err != nil {
			return l.set.Poll, err
		}
	}
	return p.next(), nil
}

// next returns how long to wait before the next poll: while something is ending, a short
// interval, and less than the time for which Slurm remembers ended jobs; otherwise, and
// while Slurm does not answer, the normal interval.
func (p *poll) next() time.Duration {
	wait := p.set.Poll
	if p.noAccounting {
		wait = min(wait, p.set.MinJobAge/2) // only squeue tells how jobs ended
	}
	if p.queue == nil {
		return wait
	}
	for _, v := range p.verdicts {
		if v.Soon {
			return min(wait, p.set.Hurry, p.set.MinJobAge/2)
		}
	}
	return wait
}

// sweep removes secrets that were left behind by a crash.
func (l *Loop) sweep(ctx context.Context) {
	intents, err := l.submitter.secrets.list()
	if err != nil {
		l.log.Warn("cannot list secrets left behind", "error", err)
		return
	}
	live, err := l.store.Allocations.Live(ctx)
	if err != nil {
		return // the first poll logs it
	}
	keep := map[string]bool{}
	for i := range live {
		keep[live[i].IntentID] = true
	}
	for _, intent := range intents {
		if !keep[intent] && !l.submitter.isInFlight(intent) {
			l.submitter.forget(intent)
		}
	}
}

// outage is a time during which a program gives no information.
type outage struct {
	began time.Time
}

// note records the result of a call, and logs when an outage begins and ends.
func (o *outage) note(l *Loop, program string, err error) {
	now := l.clock()
	switch {
	case err == nil && !o.began.IsZero():
		l.log.Info(program+" answers again", "after", now.Sub(o.began).Round(time.Second))
		*o = outage{}
	case err != nil && o.began.IsZero():
		o.began = now
		l.log.Warn(program+" gives no information", "error", err)
	}
}

// since returns how long the outage has lasted; 0 if there is none.
func (o *outage) since(now time.Time) time.Duration {
	if o.began.IsZero() {
		return 0
	}
	return now.Sub(o.began)
}
