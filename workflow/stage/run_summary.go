package stage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// AttemptCounts counts the ended attempts of a run, including those without a process.
type AttemptCounts struct {
	Ended    int64                        `json:"ended"`
	ByCause  map[workflow.CauseKind]int64 `json:"by_cause,omitempty"` // without ok
	Retried  int64                        `json:"retried"`            // attempts that were followed by another one
	Repaired int64                        `json:"repaired"`           // jobs that completed after that
	// PoliciesOff counts those to which no retry policy applied, because policies are
	// switched off on the server.
	PoliciesOff int64 `json:"retry_policies_off,omitempty"`
}

// Causes returns the causes with their numbers: "1 exit, 2 oom".
func (c *AttemptCounts) Causes() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c.ByCause)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.ByCause[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// CanceledGroup is a group of jobs that were canceled because of the same job.
type CanceledGroup struct {
	workflow.Culprit
	Jobs    int64  `json:"jobs"`
	Example string `json:"example"` // the first of them
}

// ByDependency is the rule by which dependents of an unsuccessful job are canceled.
const ByDependency = "dependency"

// Line returns which jobs were canceled because of which job.
func (g CanceledGroup) Line() string {
	who := g.Example
	if g.Jobs > 1 {
		who = fmt.Sprintf("%s and %d more", g.Example, g.Jobs-1)
	}
	return who + ": canceled because of " + g.Culprit.String()
}
