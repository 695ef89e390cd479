package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobClass is a class of jobs with the name of its requirements.
type jobClass struct {
	workflow.Class
	requirements string
}

const selectClasses = `SELECT c.id, c.priority, c.scheduler_id, c.labels, c.login, q.name, q.num_cpus, q.num_gpus, q.num_nodes, q.memory_bytes, q.runtime_s
	FROM claim_class c JOIN resource_requirements q ON q.id = c.requirements_id `

func scanClass(r rowScanner) (c jobClass, err error) {
	var scheduler int64
	var labels string
	err = r.Scan(&c.ID, &c.Priority, &scheduler, &labels, &c.Login, &c.requirements, &c.CPUs, &c.GPUs, &c.Nodes, &c.MemoryBytes, &c.RuntimeSeconds)
	if err != nil {
		return c, err
	}
	if scheduler != 0 {
		c.SchedulerID = &scheduler
	}
	c.Labels, err = workflow.ParseLabels(labels)
	return c, err
}

// readyClasses returns the classes of a workflow in which a job may be claimed
// now.
func (tx *Tx) readyClasses(workflowID int64) ([]jobClass, error) {
	return tx.classesWhere(workflowID, `WHERE c.workflow_id = ?1 AND EXISTS (SELECT 1 FROM job WHERE class_id = c.id AND status = 2 AND not_before_ms <= ?2)`,
		workflowID, tx.nowMS)
}

func (tx *Tx) classesWhere(workflowID int64, condition string, args ...any) ([]jobClass, error) {
	rows, err := tx.query(selectClasses+condition+` ORDER BY c.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read the claim classes of workflow %d: %w", workflowID, err)
	}
	classes, err := collect(rows, scanClass)
	if err != nil {
		return nil, fmt.Errorf("read the claim classes of workflow %d: %w", workflowID, err)
	}
	return classes, nil
}

// class reads a class.
func (tx *Tx) class(id int64) (jobClass, error) {
	return getOne(tx, "claim_class", id, selectClasses+`WHERE c.id = ?`, scanClass)
}
