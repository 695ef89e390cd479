package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxClaimNodes bounds how many nodes one claim may offer.
const maxClaimNodes = 100_000

// ClaimNextJobs gives the first ready jobs of a workflow to a torc client,
// whatever they need, by priority and id. They have a lease that does not
// expire.
func (s *Store) ClaimNextJobs(ctx context.Context, workflowID, limit int64, labels []string) ([]workflow.Job, error) {
	if limit < 0 {
		return nil, workflow.Errorf(workflow.CodeInvalid, "limit must not be negative, but is %d", limit)
	}
	jobs, _, err := s.claimForClient(ctx, workflowID, workflow.Offer{Slots: limit, Labels: labels, IgnoreResources: true})
	return jobs, err
}

// Resources is what a torc client has free, per node.
type Resources struct {
	CPUs              int64
	MemoryBytes       int64
	GPUs              int64
	Nodes             int64
	TimeLimitSeconds  *int64 // nil: none
	SchedulerConfigID *int64
	Labels            []string
}

// ClaimJobsByResources gives ready jobs of a workflow that fit to a torc
// client, at most limit of them. They have a lease that does not expire. The
// reason says why there is none, where that is not for want of fitting jobs.
func (s *Store) ClaimJobsByResources(ctx context.Context, workflowID, limit int64, r Resources, strict bool) (jobs []workflow.Job, reason string, err error) {
	if r.Nodes > maxClaimNodes {
		return nil, "", workflow.Errorf(workflow.CodeInvalid, "num_nodes must be at most %d, but is %d", maxClaimNodes, r.Nodes)
	}
	node := workflow.OfferNode{CPUs: r.CPUs, MemoryBytes: r.MemoryBytes, GPUs: r.GPUs}
	return s.claimForClient(ctx, workflowID, workflow.Offer{
		Nodes: slices.Repeat([]workflow.OfferNode{node}, int(max(r.Nodes, 0))), Slots: limit, TimeLeftSeconds: r.TimeLimitSeconds,
		Labels: r.Labels, SchedulerConfigID: r.SchedulerConfigID, StrictScheduler: strict,
	})
}

func (s *Store) claimForClient(_ context.Context, workflowID int64, o workflow.Offer) (jobs []workflow.Job, reason string, err error) {
	if o.Labels, err = workflow.NormalizeLabels(o.Labels); err != nil {
		return nil, "", err
	}
	err = s.writer.do("claim jobs", func(tx *Tx) error {
		jobs, reason = nil, ""
		r, err := tx.run(workflowID)
		if err != nil {
			return err
		}
		if r.canceled {
			reason = "Workflow is canceled"
			return nil
		}
		held, err := tx.claimsHeld(r)
		if reason = held.Reason(); err != nil || reason != "" {
			return err
		}
		c := newClaim(tx, workflowID, o)
		if err := c.choose(); err != nil {
			return err
		}
		if err := c.take(r.runID, nil); err != nil {
			return err
		}
		jobs, err = tx.claimedJobs(jobsOf(c.picked))
		return err
	})
	return jobs, reason, err
}

// claimedJobs reads jobs as torc's claims return them: with their outputs, but
// without their inputs, dependencies and scheduler.
func (tx *Tx) claimedJobs(ids []int64) ([]workflow.Job, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.query(`SELECT `+jobColumns+` FROM json_each(?) k CROSS JOIN `+jobTables+` WHERE j.id = k.value ORDER BY k.key`, idList(ids))
	if err != nil {
		return nil, fmt.Errorf("read %d claimed jobs: %w", len(ids), err)
	}
	jobs, err := collect(rows, new(jobScanner).scan)
	if err != nil {
		return nil, fmt.Errorf("read %d claimed jobs: %w", len(ids), err)
	}
	files, err := related(tx.query, `SELECT job_id, file_id FROM job_output_file
		WHERE job_id IN (SELECT value FROM json_each(?)) ORDER BY job_id, file_id`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the output files of %d claimed jobs: %w", len(ids), err)
	}
	data, err := related(tx.query, `SELECT job_id, user_data_id FROM job_output_user_data
		WHERE job_id IN (SELECT value FROM json_each(?)) ORDER BY job_id, user_data_id`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the output user data of %d claimed jobs: %w", len(ids), err)
	}
	for i := range jobs {
		j := &jobs[i]
		j.SchedulerID, j.OutputFiles, j.OutputUserData = nil, files[j.ID], data[j.ID]
	}
	return jobs, nil
}
