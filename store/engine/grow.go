package engine

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// grownMark marks the names of requirements that rules have created.
const grownMark = " (grown: "

// setMark marks the names of requirements that users have set for single jobs.
const setMark = " (set: "

// DerivedRequirements reports whether requirements with this name were derived from those
// with the name base, by a rule or a user.
func DerivedRequirements(name, base string) bool {
	return strings.HasPrefix(name, base+grownMark) || strings.HasPrefix(name, base+setMark)
}

// asks are the requirements of a job.
type asks struct {
	key          core.ClassKey
	requirements workflow.ResourceRequirements
	// The same as numbers.
	memoryBytes, runtimeSeconds int64
}

// class returns the claim class of jobs with these requirements.
func (a *asks) class() (c placement.Class, err error) {
	q := &a.requirements
	c = placement.Class{Priority: a.key.Priority, CPUs: q.NumCPUs, GPUs: q.NumGPUs, Nodes: q.NumNodes, Login: a.key.Login}
	if a.key.SchedulerID != 0 {
		c.SchedulerID = &a.key.SchedulerID
	}
	c.MemoryBytes, c.RuntimeSeconds = a.memoryBytes, a.runtimeSeconds
	c.Labels, err = workflow.ParseLabels(a.key.Labels)
	return c, err
}

// loadAsks reads the requirements of a job. byHand says that its runner is in no allocation
// of ours, and that no allocations are requested.
func loadAsks(tx *core.Tx, l *core.LeasedJob) (a asks, byHand bool, err error) {
	q := &a.requirements
	q.WorkflowID = l.WorkflowID
	err = tx.Row(`SELECT c.priority, c.scheduler_id, rtrim(c.labels, ','), c.login, c.held, q.name, q.num_cpus, q.num_gpus, q.num_nodes, q.memory, q.runtime,
			q.memory_bytes, q.runtime_s, EXISTS (SELECT 1 FROM compute_node WHERE id = ?2 AND compute_node_type = 'local' AND allocation_id IS NULL)
				AND NOT EXISTS (SELECT 1 FROM submission WHERE workflow_id = ?3)
				AND NOT EXISTS (SELECT 1 FROM allocation WHERE workflow_id = ?3 AND state != 'ended')
		FROM claim_class c JOIN resource_requirements q ON q.id = c.requirements_id WHERE c.id = ?1`, []any{l.ClassID, l.RunnerID, l.WorkflowID},
		&a.key.Priority, &a.key.SchedulerID, &a.key.Labels, &a.key.Login, &a.key.Held, &q.Name, &q.NumCPUs, &q.NumGPUs, &q.NumNodes, &q.Memory, &q.Runtime,
		&a.memoryBytes, &a.runtimeSeconds, &byHand)
	return a, byHand, sqlite.Wrap(err, "read the requirements of job %d", l.JobID)
}

// growRequirements changes the requirements of the next attempt of a job.
func growRequirements(tx *core.Tx, l *core.LeasedJob, a asks, q workflow.ResourceRequirements) (err error) {
	base, _, _ := strings.Cut(q.Name, grownMark)
	q.Name = base + grownMark + q.Memory + ", " + q.Runtime + ")"
	if a.key.RequirementsID, err = requirementsLike(tx, q); err != nil {
		return fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	class, err := core.ClassOf(tx, l.WorkflowID, a.key)
	if err != nil {
		return err
	}
	err = tx.ExecOne(`UPDATE job SET class_id = ? WHERE id = ?`, class, l.JobID)
	return sqlite.Wrap(err, "grow job %d", l.JobID)
}

// SetRequirements gives a job that no runner holds requirements of its own; a name, if not
// empty, is theirs. It returns CodeConflict for a job in another status, and if nothing is
// large enough for it, unless forced.
func SetRequirements(tx *core.Tx, l *core.LeasedJob, change func(workflow.ResourceRequirements) (workflow.ResourceRequirements, error), name string, force bool) error {
	if l.Status.IsLive() || l.Status == workflow.Completed || l.Status == workflow.Disabled {
		return workflow.Errorf(workflow.CodeConflict, "job %d (%s) is %s: its requirements cannot change now", l.JobID, l.Name, l.Status)
	}
	a, demand, err := demandOf(tx, l, true)
	if err != nil {
		return err
	}
	q, err := change(a.requirements)
	if err != nil {
		return err
	}
	if demand.Requirements.Enforced() && !force {
		if why := demand.Outgrown(q); why != "" {
			return workflow.Errorf(workflow.CodeConflict, "the new requirements of job %d (%s) fit nowhere: %s", l.JobID, l.Name, why).
				WithHint("lower them, or use --force (force in the API) if there is a place that the daemon does not know")
		}
	}
	base, _, _ := strings.Cut(q.Name, setMark)
	if base == workflow.DefaultRequirements {
		base = "own"
	}
	if q.Name = name; name == "" {
		q.Name = fmt.Sprintf("%s%s%s, %s, %d CPUs)", base, setMark, q.Memory, q.Runtime, q.NumCPUs)
	}
	if _, _, err := Measure(q); err != nil {
		return err
	}
	if a.key.RequirementsID, err = requirementsLike(tx, q); err != nil {
		return fmt.Errorf("set the requirements of job %d: %w", l.JobID, err)
	}
	class, err := core.ClassOf(tx, l.WorkflowID, a.key)
	if err != nil {
		return err
	}
	if err := tx.ExecOne(`UPDATE job SET class_id = ? WHERE id = ?`, class, l.JobID); err != nil {
		return fmt.Errorf("set the requirements of job %d: %w", l.JobID, err)
	}
	if l.Status == workflow.Ready {
		tx.Ready(l.WorkflowID)
	}
	return nil
}

// requirementsLike returns the id of requirements equal to q. It stores them if there are
// none.
func requirementsLike(tx *core.Tx, q workflow.ResourceRequirements) (id int64, err error) {
	err = tx.Row(`SELECT COALESCE(MIN(id), 0) FROM resource_requirements WHERE workflow_id = ? AND name = ? AND num_cpus = ? AND num_gpus = ?
		AND num_nodes = ? AND memory = ? AND runtime = ?`, []any{q.WorkflowID, q.Name, q.NumCPUs, q.NumGPUs, q.NumNodes, q.Memory, q.Runtime}, &id)
	if err != nil || id != 0 {
		return id, err
	}
	return InsertRequirements(tx, q)
}
