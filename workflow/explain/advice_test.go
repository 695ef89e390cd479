package explain

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// TestAdviceAgreesWithRecover checks, for each cause, that the advice names recover if and
// only if recover runs such a job again.
func TestAdviceAgreesWithRecover(t *testing.T) {
	for cause, advice := range adviceByCause {
		job := usage.FailedJob{Cause: cause}
		if recovers := job.Group() != usage.GroupUnknown; recovers != advice.Recover || advice.Text == "" {
			t.Errorf("%s: recover takes it: %t, the advice is %+v", cause, recovers, advice)
		}
	}
	for _, cause := range workflow.CauseKinds() {
		if _, known := adviceByCause[cause]; !known && cause != workflow.CauseOK {
			t.Errorf("no advice for %s", cause)
		}
	}
}
