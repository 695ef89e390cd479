package stage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// AttemptCounts are the attempts of a run that have ended, wherever they ran, those
// without a process among them.
type AttemptCounts struct {
	Ended    int64                        `json:"ended"`
	ByCause  map[workflow.CauseKind]int64 `json:"by_cause,omitempty"` // without ok
	Retried  int64                        `json:"retried"`            // that were followed by another one
	Repaired int64                        `json:"repaired"`           // jobs that completed after that
	// PoliciesOff counts those for which no retry policy was asked, as policies are
	// switched off on the server.
	PoliciesOff int64 `json:"retry_policies_off,omitempty"`
}

// Causes lists the causes with their numbers: "1 exit, 2 oom".
func (c *AttemptCounts) Causes() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c.ByCause)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.ByCause[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// CanceledGroup are canceled jobs for which the same job is to blame.
type CanceledGroup struct {
	workflow.Culprit
	Jobs    int64  `json:"jobs"`
	Example string `json:"example"` // the first of them
}

// ByDependency is the rule by which jobs are canceled behind one that was not
// successful.
const ByDependency = "dependency"

// Line says which jobs are canceled because of which.
func (g CanceledGroup) Line() string {
	who := g.Example
	if g.Jobs > 1 {
		who = fmt.Sprintf("%s and %d more", g.Example, g.Jobs-1)
	}
	return who + ": canceled because of " + g.Culprit.String()
}
