package core

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// Shared is what all use cases share: their settings, and what they cache of the database.
// All but the settings belongs to the writer's goroutine.
type Shared struct {
	DB        *sqlite.DB
	Log       *slog.Logger
	onCommit  func(Changes)
	Notify    *workflow.NotifyPolicy // the default for workflows
	HoldLimit func() workflow.HoldLimitSource
	Places    places

	Patterns  map[int64]*Patterns    // of workflows; nil after a change of policies
	Breakers  []workflow.BreakerTrip // open ones; nil after a change
	HostWaits hostWaits
	Fairness  Fairness
}

// Settings configure all use cases; see Options.
type Settings struct {
	Log       *slog.Logger
	OnCommit  func(Changes)
	Notify    *workflow.NotifyPolicy
	HoldLimit func() workflow.HoldLimitSource
}

// NewShared returns a Shared without its DB, which is set when that is open.
func NewShared(o Settings) *Shared {
	e := &Shared{
		Log: cmp.Or(o.Log, slog.Default()), onCommit: o.OnCommit, Notify: o.Notify, HoldLimit: o.HoldLimit,
		HostWaits: hostWaits{By: map[int64]*HostWait{}},
	}
	if e.onCommit == nil {
		e.onCommit = func(Changes) {}
	}
	if e.HoldLimit == nil {
		e.HoldLimit = func() (none workflow.HoldLimitSource) { return none }
	}
	return e
}

// Do runs a use case and returns after its commit. fn may run twice, and only the effects
// of one run remain, so it must reset its results. A use case must not start another one.
func (e *Shared) Do(name string, fn func(*Tx) error) error {
	return e.By(context.Background()).Do(name, fn)
}

// By returns what runs use cases of somebody who came in by the door of ctx, as the log of
// events will say. The context does not end them.
func (e *Shared) By(ctx context.Context) Entrance {
	return Entrance{e, audit.UserOf(ctx), audit.DoorOf(ctx)}
}

// Entrance runs use cases that came in by a door.
type Entrance struct {
	shared *Shared
	user   string
	door   audit.Door
}

// Do is Shared.Do.
func (e Entrance) Do(name string, fn func(*Tx) error) error {
	return e.shared.DB.Do(name, func(raw *sqlite.Tx) error {
		tx := &Tx{Tx: raw, Shared: e.shared, User: e.user, Door: e.door}
		if err := fn(tx); err != nil {
			return err
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		if !tx.Changes.empty() {
			raw.Announce(&tx.Changes)
		}
		return nil
	})
}

// errUndo makes a use case roll back that was run to see its effects.
var errUndo = errors.New("a proposal")

// Propose runs a use case and rolls it back; fn keeps the proposal. It returns the error
// with which the use case would be rejected.
func (e *Shared) Propose(name string, fn func(*Tx) error) error {
	return e.By(context.Background()).Propose(name, fn)
}

// Propose is Shared.Propose.
func (e Entrance) Propose(name string, fn func(*Tx) error) error {
	err := e.Do(name, func(tx *Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

// Committed publishes what the use cases of one commit changed.
func (e *Shared) Committed(announced []any) {
	var all Changes
	for _, one := range announced {
		all.merge(one.(*Changes))
	}
	e.onCommit(all)
}

// Forget drops what was cached of the database, since it may come from a rolled back
// change.
func (e *Shared) Forget() { e.Patterns, e.Breakers = nil, nil }
