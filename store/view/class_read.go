package view

import (
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// JobClass is a class of jobs with the name of its requirements.
type JobClass struct {
	placement.Class
	Requirements string
}

// SelectClasses selects what ScanClass reads; a condition follows.
const SelectClasses = `SELECT c.id, c.priority, c.scheduler_id, c.labels, c.login, c.held, q.name, q.num_cpus, q.num_gpus, q.num_nodes, q.memory_bytes, q.runtime_s
	FROM claim_class c JOIN resource_requirements q ON q.id = c.requirements_id `

// ScanClass reads a row of SelectClasses.
func ScanClass(r sqlite.Scanner) (c JobClass, err error) {
	var scheduler int64
	var labels string
	err = r.Scan(&c.ID, &c.Priority, &scheduler, &labels, &c.Login, &c.Held, &c.Requirements, &c.CPUs, &c.GPUs, &c.Nodes, &c.MemoryBytes, &c.RuntimeSeconds)
	if err != nil {
		return c, err
	}
	if scheduler != 0 {
		c.SchedulerID = &scheduler
	}
	c.Labels, err = workflow.ParseLabels(labels)
	return c, err
}
