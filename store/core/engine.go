package core

import (
	"cmp"
	"errors"
	"log/slog"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Shared is what all use cases share: their settings, and what is kept of the
// database from one to the next. All but its settings belongs to the writer's
// goroutine.
type Shared struct {
	DB        *sqlite.DB
	Log       *slog.Logger
	onCommit  func(Changes)
	Notify    *workflow.NotifyPolicy // where a workflow does not say it
	HoldLimit func() workflow.HoldLimitSource
	Places    places

	Patterns  map[int64]*Patterns    // of workflows; nil after a change of policies
	Breakers  []workflow.BreakerTrip // those that are open; nil after a change
	HostWaits hostWaits
	Fairness  Fairness
}

// Settings are those of all use cases; Options says what they mean.
type Settings struct {
	Log       *slog.Logger
	OnCommit  func(Changes)
	Notify    *workflow.NotifyPolicy
	HoldLimit func() workflow.HoldLimitSource
}

// NewShared returns what the use cases of one database share. Its DB is set when that
// is open.
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

// Do runs a use case and returns after its commit. fn may run twice; only the
// effects of one run remain, so it must set its results afresh. A use case must
// not start another one.
func (e *Shared) Do(name string, fn func(*Tx) error) error {
	return e.DB.Do(name, func(raw *sqlite.Tx) error {
		tx := &Tx{Tx: raw, Shared: e}
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

// errUndo has a use case undone that was carried out to see what comes of it.
var errUndo = errors.New("a proposal")

// Propose runs a use case and undoes it: fn keeps what the proposal says. It returns why
// the use case would be refused.
func (e *Shared) Propose(name string, fn func(*Tx) error) error {
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

// Committed tells what the use cases of one commit changed.
func (e *Shared) Committed(announced []any) {
	var all Changes
	for _, one := range announced {
		all.merge(one.(*Changes))
	}
	e.onCommit(all)
}

// Forget drops what was read from the database and kept: it may be from changes
// that are undone.
func (e *Shared) Forget() { e.Patterns, e.Breakers = nil, nil }
