package fleet

import (
	"database/sql"
	"errors"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// tripFor returns the first open breaker that a run is subject to and that a
// function picks; nil if there is none.
func tripFor(tx *core.Tx, r *view.Run, pick func(t *workflow.BreakerTrip) bool) (*workflow.BreakerTrip, error) {
	trips, err := engine.TripsOf(tx, r)
	if err != nil {
		return nil, err
	}
	for i := range trips {
		if pick(&trips[i]) {
			return &trips[i], nil
		}
	}
	return nil, nil
}

// keptFrom returns the breaker that keeps a runner from jobs, because of the node
// that it is on; nil if none does. It gives way where there is no other node: to a
// runner in an allocation that was asked for since, for Slurm was told to leave the
// node out if it could, and elsewhere to the only runner.
func (c *Conversation) keptFrom() (*workflow.BreakerTrip, error) {
	ofNode := func(t *workflow.BreakerTrip) bool {
		return t.Action == workflow.BreakerExcludeNode && t.Subject == c.runner.Hostname
	}
	trip, err := tripFor(c.tx, c.run, ofNode)
	if err != nil || trip == nil {
		return nil, err
	}
	a, err := c.allocation()
	if err != nil {
		return nil, err
	}
	if a != nil {
		return tripFor(c.tx, c.run, func(t *workflow.BreakerTrip) bool { return ofNode(t) && a.AskedMS <= t.SinceMS })
	}
	var one int
	err = c.tx.Row(`SELECT 1 FROM compute_node WHERE workflow_id = ? AND is_active = 1 AND hostname != ? LIMIT 1`, []any{c.run.WorkflowID, c.runner.Hostname}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return trip, err
}
