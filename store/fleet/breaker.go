package fleet

import (
	"database/sql"
	"errors"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// tripFor returns the first open breaker that affects a run and for which pick returns
// true; nil if there is none.
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

// excludedBy returns the breaker that excludes the node of a runner; nil if there is none. It
// makes an exception where there is no other node: for an allocation that was requested
// later, since Slurm was asked to avoid the node, and for the only runner.
func (c *Conversation) excludedBy() (*workflow.BreakerTrip, error) {
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
