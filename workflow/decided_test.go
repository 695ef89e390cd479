package workflow_test

import (
	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// decided is the decision about an attempt.
func decided(p retry.Policies, h History, f Failure) Decision {
	return retry.Decide(retry.Facts{Policies: p, History: h, Failure: f}).Decision
}
