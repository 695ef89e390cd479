// Package fleet has the use cases of allocations, their runners, and the turns in which
// runners report and are granted jobs.
package fleet

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// Allocations are the use cases of allocations.
type Allocations struct {
	view.Allocations
	shared *core.Shared
}

// Runners are the use cases of runners and their turns.
type Runners struct {
	view.Runners
	shared *core.Shared
}

// Fleet has the nouns of this package.
type Fleet struct {
	Allocations Allocations
	Runners     Runners
}

// New returns the nouns, given the reads and what all use cases share.
func New(v *view.Views, s *core.Shared) Fleet {
	return Fleet{Allocations: Allocations{v.Allocations, s}, Runners: Runners{v.Runners, s}}
}
