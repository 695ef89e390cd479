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
// the decision what it asks for. If that fits nowhere, there is no next attempt.
// The requirements that the job shares with others stay as they are; jobs that
// grow alike share the new ones.
func (f *finisher) grow(l *lease, e *ending, d *workflow.Decision) error {
	used := workflow.Usage{}
	if e.evidence != nil {
		used.PeakMemoryBytes = e.evidence.PeakMemoryBytes
	}
	if l.startMS.Valid {
		used.Elapsed = time.Duration(e.endMS-l.startMS.Int64) * time.Millisecond
	}
	asks, err := f.tx.asks(l)
	if err != nil {
		return err
	}
	grown, said := d.Mutate.Apply(asks.requirements, used)
	if grown == asks.requirements {
		d.Reason += "; it asks for the same again"
		if said != "" {
			d.Reason += ": " + said
		}
		return nil
	}
	switch why, err := f.outgrown(l, asks, grown); {
	case err != nil:
		return err
	case why != "":
		*d = d.Outgrown(said, why)
		return nil
	}
	d.Reason += "; " + said
	return f.tx.ask(l, asks, grown)
}

// asks is what a job asks for.
type asks struct {
	key          classKey
	requirements workflow.ResourceRequirements
}

// class is that of jobs that ask so.
func (a *asks) class() (c workflow.Class, err error) {
	q := &a.requirements
	c = workflow.Class{Priority: a.key.priority, CPUs: q.NumCPUs, GPUs: q.NumGPUs, Nodes: q.NumNodes, Login: a.key.login}
	if a.key.schedulerID != 0 {
		c.SchedulerID = &a.key.schedulerID
	}
	if c.MemoryBytes, c.RuntimeSeconds, err = measure(*q); err != nil {
		return c, err
	}
	c.Labels, err = workflow.ParseLabels(a.key.labels)
	return c, err
}

// asks reads what a job asks for.
func (tx *Tx) asks(l *lease) (a asks, err error) {
	q := &a.requirements
	q.WorkflowID = l.workflowID
	err = tx.row(`SELECT c.priority, c.scheduler_id, c.labels, c.login, q.name, q.num_cpus, q.num_gpus, q.num_nodes, q.memory, q.runtime
		FROM claim_class c JOIN resource_requirements q ON q.id = c.requirements_id WHERE c.id = ?`, []any{l.classID},
		&a.key.priority, &a.key.schedulerID, &a.key.labels, &a.key.login, &q.Name, &q.NumCPUs, &q.NumGPUs, &q.NumNodes, &q.Memory, &q.Runtime)
	if err != nil {
		return a, fmt.Errorf("read what job %d asks for: %w", l.JobID, err)
	}
	return a, nil
}

// reask has the next attempt of a held job ask for what a classification says, and
// returns what changes; empty if nothing does. More than there is anywhere is
// refused, unless it is forced.
func (f *finisher) reask(l *lease, w *workflow.Classification, force bool) (said string, err error) {
	a, err := f.tx.asks(l)
	if err != nil {
		return "", err
	}
	q, said, err := w.Apply(a.requirements)
	if err != nil || said == "" {
		return "", err
	}
	if !force {
		why, err := f.outgrown(l, a, q)
		if err != nil {
			return "", err
		}
		if why != "" {
			return "", workflow.Errorf(workflow.CodeConflict, "what it would ask for (%s) fits nowhere: %s", said, why).
				WithHint("ask for less; --force (force in the API) is for a place that is not known here")
		}
	}
	return said, f.tx.ask(l, a, q)
}

// ask has the next attempt of a job ask for other requirements.
func (tx *Tx) ask(l *lease, a asks, q workflow.ResourceRequirements) (err error) {
	base, _, _ := strings.Cut(q.Name, grownMark)
	q.Name = base + grownMark + q.Memory + ", " + q.Runtime + ")"
	if a.key.requirementsID, err = tx.requirementsLike(q); err != nil {
		return fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	class, err := tx.classOf(l.workflowID, a.key)
	if err != nil {
		return err
	}
	if err := tx.execOne(`UPDATE job SET class_id = ? WHERE id = ?`, class, l.JobID); err != nil {
		return fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	return nil
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
