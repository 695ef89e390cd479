// Package view reads the job database: lists, summaries, the demand for allocations, and
// the facts for explanations. It changes nothing.
package view

import "github.com/torc-slurm/torc-slurm/store/sqlite"

// database is what all reads share.
type database struct{ DB *sqlite.DB }

type (
	// Actions reads actions.
	Actions struct{ database }
	// Allocations reads allocations.
	Allocations struct{ database }
	// Breakers reads circuit breakers.
	Breakers struct{ database }
	// ClaimHolds reads claim holds.
	ClaimHolds struct{ database }
	// Classifiers reads calls of agents that are asked about held jobs.
	Classifiers struct{ database }
	// Files reads files.
	Files struct{ database }
	// Holds reads jobs held for classification.
	Holds struct{ database }
	// Jobs reads jobs.
	Jobs struct{ database }
	// Policies reads retry policies.
	Policies struct{ database }
	// Proposals reads proposals.
	Proposals struct{ database }
	// Requirements reads resource requirements.
	Requirements struct{ database }
	// Runners reads runners.
	Runners struct{ database }
	// Scheduling reads the state of automatic scheduling.
	Scheduling struct{ database }
	// SlurmStats reads Slurm's accounting of attempts.
	SlurmStats struct{ database }
	// Timeouts reads expired timeouts.
	Timeouts struct{ database }
	// UserData reads user data.
	UserData struct{ database }
	// Workflows reads workflows.
	Workflows struct{ database }
)

// Views has the reads of all nouns.
type Views struct {
	Actions      Actions
	Allocations  Allocations
	Breakers     Breakers
	ClaimHolds   ClaimHolds
	Classifiers  Classifiers
	Files        Files
	Holds        Holds
	Jobs         Jobs
	Policies     Policies
	Proposals    Proposals
	Requirements Requirements
	Runners      Runners
	Scheduling   Scheduling
	SlurmStats   SlurmStats
	Timeouts     Timeouts
	UserData     UserData
	Workflows    Workflows
}

// New returns the reads of a database.
func New(db *sqlite.DB) Views {
	d := database{db}
	return Views{
		Actions:      Actions{d},
		Allocations:  Allocations{d},
		Breakers:     Breakers{d},
		ClaimHolds:   ClaimHolds{d},
		Classifiers:  Classifiers{d},
		Files:        Files{d},
		Holds:        Holds{d},
		Jobs:         Jobs{d},
		Policies:     Policies{d},
		Proposals:    Proposals{d},
		Requirements: Requirements{d},
		Runners:      Runners{d},
		Scheduling:   Scheduling{d},
		SlurmStats:   SlurmStats{d},
		Timeouts:     Timeouts{d},
		UserData:     UserData{d},
		Workflows:    Workflows{d},
	}
}
