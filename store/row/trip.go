package row

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TripColumns are the columns of breaker_trip that ScanTrip reads.
const TripColumns = `id, COALESCE(workflow_id, 0), run_id, trip, since_ms, until_ms, ended_ms, ended_why`

// ScanTrip reads TripColumns.
func ScanTrip(r sqlite.Scanner) (t workflow.BreakerTrip, err error) {
	var id, workflowID, runID, since, until, ended int64
	var text, why string
	if err := r.Scan(&id, &workflowID, &runID, &text, &since, &until, &ended, &why); err != nil {
		return t, err
	}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, fmt.Errorf("read trip %d of a circuit breaker: %w", id, err)
	}
	t.ID, t.WorkflowID, t.RunID, t.SinceMS, t.UntilMS, t.EndedMS, t.EndedWhy = id, workflowID, runID, since, until, ended, why
	return t, nil
}

// MaxTripAttempts limits how many attempts of a trip are named.
const MaxTripAttempts = 10
