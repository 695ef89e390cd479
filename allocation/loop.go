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
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Spool holds reports that runners have written down and nobody has received.
type Spool interface {
	// Deliver stores the reports that these runners left behind. An error says
	// that the attempt is to be repeated: what they ran must not be judged yet.
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
	// NoAccounting says that the cluster keeps no accounts.
	NoAccounting bool
	Now          func() time.Time // time.Now if nil
	Random       io.Reader        // crypto/rand if nil
	Log          *slog.Logger     // slog.Default() if nil
}

// Loop looks after all allocations of a daemon. The goroutine of Run owns its
// fields; others use Submitter and Wake.
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
	sight        sight // others may ask it

	memory           map[int64]*memory // by allocation
	queueOutage      outage
	accountingOutage outage
	commented        time.Time // when comments were set last
}

// memory is what is known of an allocation and not worth being stored.
type memory struct {
	runners   map[int64]time.Time // since when each is known here
	suspended time.Time           // when it was seen suspended last
	alone     time.Time           // since when it runs without a runner
	never     time.Time           // since when Slurm has said that it can never start it
	commented time.Time
	// since when what its runners have written down cannot be read
	undelivered time.Time
}

// New makes a loop. Run has it work.
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

// Submitter returns what asks Slurm for allocations.
func (l *Loop) Submitter() *Submitter { return l.submitter }

// Wake has the loop look soon: something has happened that it should know of.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Run looks after allocations until ctx ends.
func (l *Loop) Run(ctx context.Context) error {
	l.sweep(ctx)
	defer l.sight.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
			// Whatever else happens now is part of the same look.
			timer.Reset(l.set.Least)
			select {
			case <-ctx.Done():
				return nil
			case <-timer.C:
			}
		case <-timer.C:
		}
		waiting := l.sight.begin()
		next, err := l.runOnce(ctx)
		tell(waiting, err)
		if err != nil && ctx.Err() == nil {
			l.log.Error("cannot look after allocations", "error", err)
		}
		timer.Reset(next)
	}
}

// runOnce looks once and returns when to look again.
func (l *Loop) runOnce(ctx context.Context) (next time.Duration, err error) {
	p := &poll{Loop: l, now: l.clock(), shows: map[int64]*ShowLook{}}
	if err := p.read(ctx); err != nil {
		return l.set.Poll, err
	}
	maps.DeleteFunc(l.memory, func(id int64, _ *memory) bool {
		return !slices.ContainsFunc(p.live, func(a workflow.Allocation) bool { return a.ID == id })
	})
	if len(p.live) == 0 {
		return l.set.Poll, nil // Slurm is not asked
	}
	if err := p.look(ctx); err != nil {
		return l.set.Poll, err
	}
	l.sight.keep(p)
	for _, step := range []func(context.Context) error{p.carryOut, p.sendCancels, p.comments} {
		if err := step(ctx); err != nil {
			return l.set.Poll, err
		}
	}
	return p.next(), nil
}

// next is when to look again: soon, and before Slurm forgets, while something
// is ending; at leisure otherwise, and while Slurm does not answer.
func (p *poll) next() time.Duration {
	wait := p.set.Poll
	if p.noAccounting {
		wait = min(wait, p.set.MinJobAge/2) // squeue alone tells how things ended
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

// sweep removes secrets that a crash has left behind.
func (l *Loop) sweep(ctx context.Context) {
	intents, err := l.submitter.secrets.list()
	if err != nil {
		l.log.Warn("cannot look for secrets left behind", "error", err)
		return
	}
	live, err := l.store.LiveAllocations(ctx)
	if err != nil {
		return // the first look says it
	}
	keep := map[string]bool{}
	for i := range live {
		keep[live[i].IntentID] = true
	}
	for _, intent := range intents {
		if !keep[intent] && !l.submitter.isFlying(intent) {
			l.submitter.forget(intent)
		}
	}
}

// outage is a time during which a program gives no information.
type outage struct {
	began time.Time
}

// note takes in how a call went, and says when an outage begins and ends.
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

// since is for how long it has lasted; 0 if there is none.
func (o *outage) since(now time.Time) time.Duration {
	if o.began.IsZero() {
		return 0
	}
	return now.Sub(o.began)
}
