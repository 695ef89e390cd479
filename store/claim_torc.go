package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/fleet"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// maxClaimNodes limits the nodes of one claim.
const maxClaimNodes = 100_000

// ClaimNext leases ready jobs of a workflow to a torc client, by priority and id, whatever
// they need. The leases do not expire.
func (s Jobs) ClaimNext(ctx context.Context, workflowID, limit int64, labels []string) ([]workflow.Job, error) {
	if limit < 0 {
		return nil, workflow.Errorf(workflow.CodeInvalid, "limit must not be negative, but is %d", limit)
	}
	jobs, _, err := s.claimForClient(ctx, workflowID, placement.Offer{Slots: limit, Labels: labels, IgnoreResources: true})
	return jobs, err
}

// Resources are the free resources of a torc client, per node.
type Resources struct {
	CPUs              int64
	MemoryBytes       int64
	GPUs              int64
	Nodes             int64
	TimeLimitSeconds  *int64 // nil: no limit
	SchedulerConfigID *int64
	Labels            []string
}

// ClaimByResources leases at most limit ready jobs of a workflow that fit to a torc client.
// The leases do not expire. The reason says why there are none, unless no job fits.
func (s Jobs) ClaimByResources(ctx context.Context, workflowID, limit int64, r Resources, strict bool) (jobs []workflow.Job, reason string, err error) {
	if r.Nodes > maxClaimNodes {
		return nil, "", workflow.Errorf(workflow.CodeInvalid, "num_nodes must be at most %d, but is %d", maxClaimNodes, r.Nodes)
	}
	node := placement.FreeNode{CPUs: r.CPUs, MemoryBytes: r.MemoryBytes, GPUs: r.GPUs}
	return s.claimForClient(ctx, workflowID, placement.Offer{
		Nodes: slices.Repeat([]placement.FreeNode{node}, int(max(r.Nodes, 0))), Slots: limit, TimeLeftSeconds: r.TimeLimitSeconds,
		Labels: r.Labels, SchedulerConfigID: r.SchedulerConfigID, StrictScheduler: strict,
	})
}

func (s Jobs) claimForClient(_ context.Context, workflowID int64, o placement.Offer) (jobs []workflow.Job, reason string, err error) {
	if o.Labels, err = workflow.NormalizeLabels(o.Labels); err != nil {
		return nil, "", err
	}
	err = s.shared.Do("claim jobs", func(tx *core.Tx) error {
		jobs, reason = nil, ""
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		if r.Canceled {
			reason = "Workflow is canceled"
			return nil
		}
		held, err := fleet.ClaimsHeld(tx, r)
		if reason = held.Reason(); err != nil || reason != "" {
			return err
		}
		c := fleet.NewClaim(tx, workflowID, o)
		if err := c.Choose(); err != nil {
			return err
		}
		if err := c.Take(r.RunID, nil); err != nil {
			return err
		}
		jobs, err = claimedJobs(tx, fleet.JobsOf(c.Picked))
		return err
	})
	return jobs, reason, err
}

// claimedJobs reads jobs as torc's claims return them: with outputs, but without inputs,
// dependencies and scheduler.
func claimedJobs(tx *core.Tx, ids []int64) ([]workflow.Job, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	jobs, err := sqlite.Select(tx, new(view.JobScanner).Scan, `SELECT `+view.JobColumns+` FROM json_each(?) k CROSS JOIN `+view.JobTables+` WHERE j.id = k.value ORDER BY k.key`, sqlite.IDList(ids))
	if err != nil {
		return nil, fmt.Errorf("read %d claimed jobs: %w", len(ids), err)
	}
	files, err := view.Related(tx.Query, `SELECT job_id, file_id FROM job_output_file
		WHERE job_id IN (SELECT value FROM json_each(?)) ORDER BY job_id, file_id`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the output files of %d claimed jobs: %w", len(ids), err)
	}
	data, err := view.Related(tx.Query, `SELECT job_id, user_data_id FROM job_output_user_data
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
