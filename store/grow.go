package store

import (
	"fmt"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// grownMark is in the names of requirements that rules have made.
const grownMark = " (grown: "

// grow has the next attempt of a job ask for more, as a rule says, and notes in
// the decision what it asks for. The requirements that the job shares with others
// stay as they are; jobs that grow alike share the new ones.
func (f *finisher) grow(l *lease, e *ending, d *workflow.Decision) error {
	used := workflow.Usage{}
	if e.evidence != nil {
		used.PeakMemoryBytes = e.evidence.PeakMemoryBytes
	}
	if l.startMS.Valid {
		used.Elapsed = time.Duration(e.endMS-l.startMS.Int64) * time.Millisecond
	}
	said, err := f.tx.reask(l, func(q workflow.ResourceRequirements) (workflow.ResourceRequirements, string, error) {
		grown, said := d.Mutate.Apply(q, used)
		return grown, said, nil
	})
	if said == "" {
		said = "it asks for the same again"
	}
	d.Reason += "; " + said
	return err
}

// reask has the next attempt of a job ask for something else, and returns what
// change says of it; empty if nothing changes.
func (tx *Tx) reask(l *lease, change func(workflow.ResourceRequirements) (workflow.ResourceRequirements, string, error)) (said string, err error) {
	var key classKey
	q := workflow.ResourceRequirements{WorkflowID: l.workflowID}
	err = tx.row(`SELECT c.priority, c.scheduler_id, c.labels, q.name, q.num_cpus, q.num_gpus, q.num_nodes, q.memory, q.runtime
		FROM claim_class c JOIN resource_requirements q ON q.id = c.requirements_id WHERE c.id = ?`, []any{l.classID},
		&key.priority, &key.schedulerID, &key.labels, &q.Name, &q.NumCPUs, &q.NumGPUs, &q.NumNodes, &q.Memory, &q.Runtime)
	if err != nil {
		return "", fmt.Errorf("read what job %d asks for: %w", l.JobID, err)
	}
	q, said, err = change(q)
	if err != nil || said == "" {
		return "", err
	}
	base, _, _ := strings.Cut(q.Name, grownMark)
	q.Name = base + grownMark + q.Memory + ", " + q.Runtime + ")"
	if key.requirementsID, err = tx.requirementsLike(q); err != nil {
		return "", fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	class, err := tx.classOf(l.workflowID, key)
	if err != nil {
		return "", err
	}
	if err := tx.execOne(`UPDATE job SET class_id = ? WHERE id = ?`, class, l.JobID); err != nil {
		return "", fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	return said, nil
}

// requirementsLike returns the id of requirements, which it stores if there are
// none like them.
func (tx *Tx) requirementsLike(q workflow.ResourceRequirements) (id int64, err error) {
	err = tx.row(`SELECT COALESCE(MIN(id), 0) FROM resource_requirements WHERE workflow_id = ? AND name = ? AND num_cpus = ? AND num_gpus = ?
		AND num_nodes = ? AND memory = ? AND runtime = ?`, []any{q.WorkflowID, q.Name, q.NumCPUs, q.NumGPUs, q.NumNodes, q.Memory, q.Runtime}, &id)
	if err != nil || id != 0 {
		return id, err
	}
	return insertRequirements(tx, q)
}
