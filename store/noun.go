package store

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/fleet"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// Workflows are the use cases of workflows, their runs and stages.
type Workflows struct {
	view.Workflows
	shared *core.Shared
}

// Jobs are the use cases of jobs and their dependencies.
type Jobs struct {
	view.Jobs
	shared *core.Shared
}

// Holds are the use cases of jobs held for classification.
type Holds struct {
	view.Holds
	shared *core.Shared
}

// ClaimHolds are the use cases of claim holds.
type ClaimHolds struct {
	view.ClaimHolds
	shared *core.Shared
}

// Classifiers are the use cases of agents that are asked about held jobs.
type Classifiers struct {
	view.Classifiers
	shared *core.Shared
}

// Proposals are the use cases of proposals.
type Proposals struct {
	view.Proposals
	shared *core.Shared
}

// Scheduling are the use cases of automatic scheduling.
type Scheduling struct {
	view.Scheduling
	shared *core.Shared
}

// Timeouts are the use cases of expired timeouts.
type Timeouts struct {
	view.Timeouts
	shared *core.Shared
}

func newStore(db *sqlite.DB, s *core.Shared) *Store {
	v := view.New(db)
	return &Store{
		Records: record.New(&v, s),
		Fleet:   fleet.New(&v, s),

		ClaimHolds:  ClaimHolds{v.ClaimHolds, s},
		Classifiers: Classifiers{v.Classifiers, s},
		Holds:       Holds{v.Holds, s},
		Jobs:        Jobs{v.Jobs, s},
		Proposals:   Proposals{v.Proposals, s},
		Scheduling:  Scheduling{v.Scheduling, s},
		Timeouts:    Timeouts{v.Timeouts, s},
		Workflows:   Workflows{v.Workflows, s},

		db: db, shared: s,
	}
}
