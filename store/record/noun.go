// Package record has the use cases of nouns that have little effect on others: files,
// resource requirements, schedulers, results, policies and the like.
package record

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// Files are the use cases of files.
type Files struct {
	view.Files
	shared *core.Shared
}

// UserData are the use cases of user data.
type UserData struct {
	view.UserData
	shared *core.Shared
}

// Requirements are the use cases of resource requirements.
type Requirements struct {
	view.Requirements
	shared *core.Shared
}

// Results are the use cases of results.
type Results struct{ shared *core.Shared }

// Events are the use cases of events.
type Events struct{ shared *core.Shared }

// ComputeNodes are the use cases of compute nodes.
type ComputeNodes struct{ shared *core.Shared }

// ScheduledComputeNodes are the use cases of scheduled compute nodes.
type ScheduledComputeNodes struct{ shared *core.Shared }

// LocalSchedulers are the use cases of local schedulers.
type LocalSchedulers struct{ shared *core.Shared }

// SlurmSchedulers are the use cases of Slurm schedulers.
type SlurmSchedulers struct{ shared *core.Shared }

// FailureHandlers are the use cases of failure handlers.
type FailureHandlers struct{ shared *core.Shared }

// SlurmStats are the use cases of Slurm's accounting of attempts.
type SlurmStats struct {
	view.SlurmStats
	shared *core.Shared
}

// RemoteWorkers are the use cases of remote workers.
type RemoteWorkers struct{ shared *core.Shared }

// Actions are the use cases of actions.
type Actions struct {
	view.Actions
	shared *core.Shared
}

// Alerts are the use cases of alerts and their notifications.
type Alerts struct{ shared *core.Shared }

// Policies are the use cases of retry policies, their queues and settings.
type Policies struct {
	view.Policies
	shared *core.Shared
}

// Breakers are the use cases of circuit breakers.
type Breakers struct {
	view.Breakers
	shared *core.Shared
}

// Tasks are the use cases of tasks.
type Tasks struct{ shared *core.Shared }

// Records has the nouns of this package.
type Records struct {
	Actions               Actions
	Alerts                Alerts
	Audit                 Audit
	Breakers              Breakers
	ComputeNodes          ComputeNodes
	Events                Events
	FailureHandlers       FailureHandlers
	Files                 Files
	LocalSchedulers       LocalSchedulers
	Policies              Policies
	RemoteWorkers         RemoteWorkers
	Requirements          Requirements
	Results               Results
	ScheduledComputeNodes ScheduledComputeNodes
	SlurmSchedulers       SlurmSchedulers
	SlurmStats            SlurmStats
	Tasks                 Tasks
	UserData              UserData
}

// New returns the nouns, given the reads and what all use cases share.
func New(v *view.Views, s *core.Shared) Records {
	return Records{
		Actions:               Actions{v.Actions, s},
		Alerts:                Alerts{s},
		Audit:                 Audit{s},
		Breakers:              Breakers{v.Breakers, s},
		ComputeNodes:          ComputeNodes{s},
		Events:                Events{s},
		FailureHandlers:       FailureHandlers{s},
		Files:                 Files{v.Files, s},
		LocalSchedulers:       LocalSchedulers{s},
		Policies:              Policies{v.Policies, s},
		RemoteWorkers:         RemoteWorkers{s},
		Requirements:          Requirements{v.Requirements, s},
		Results:               Results{s},
		ScheduledComputeNodes: ScheduledComputeNodes{s},
		SlurmSchedulers:       SlurmSchedulers{s},
		SlurmStats:            SlurmStats{v.SlurmStats, s},
		Tasks:                 Tasks{s},
		UserData:              UserData{v.UserData, s},
	}
}
