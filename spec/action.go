package spec

import (
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// buildActions reads the actions. It needs the expanded jobs.
func (b *builder) buildActions() {
	for _, a := range b.doc.Actions {
		d := workflow.ActionDefinition{
			TriggerType: a.TriggerType, ActionType: a.ActionType, Commands: a.Commands, Scheduler: a.Scheduler, SchedulerType: a.SchedulerType,
			NumAllocations: 1, StartOneWorkerPerNode: a.StartOneWorkerPerNode, MaxParallelJobs: a.MaxParallelJobs, Persistent: a.Persistent,
		}
		if a.NumAllocations != nil {
			d.NumAllocations = *a.NumAllocations
		}
		b.selectJobs(a, &d)
		switch a.ActionType {
		case "run_commands":
			b.checkRunCommands(a)
		case "schedule_nodes":
			b.checkScheduleNodes(a)
		}
		b.def.Actions = append(b.def.Actions, d)
	}
}

// selectJobs finds the jobs that a trigger waits for.
func (b *builder) selectJobs(a *Action, d *workflow.ActionDefinition) {
	selects := len(a.Jobs) > 0 || len(a.JobNameRegexes) > 0
	switch {
	case !strings.HasPrefix(a.TriggerType, "on_jobs_"):
		if selects {
			b.warn(a.at.get("jobs"), "remove the selection or use on_jobs_ready or on_jobs_complete", "%s does not look at jobs", a.TriggerType)
		}
		return
	case !selects:
		b.fail(a.at.get("trigger_type"), "add jobs or job_name_regexes", "%s needs jobs to wait for", a.TriggerType)
		return
	}
	s := b.selectionOf(b.jobs, a.at, nil, listing{key: "jobs", names: a.Jobs, regexKey: "job_name_regexes", regexes: a.JobNameRegexes, lenient: true})
	if d.Jobs = s.all; len(s.all) == 0 && len(a.Jobs) == 0 {
		b.fail(a.at.get("trigger_type"), "name a job, or let a regex match one", "%s selects no job", a.TriggerType)
	}
}

func (b *builder) checkRunCommands(a *Action) {
	if len(a.Commands) == 0 {
		b.fail(a.at.get("commands"), "add commands: [...]", "run_commands needs commands")
	}
	for _, key := range []string{"scheduler", "scheduler_type", "num_allocations", "start_one_worker_per_node", "max_parallel_jobs"} {
		if c := a.at.child(key); c != nil && c.kind != kindNull {
			b.warnKey(c, "remove it", "%s has no effect for run_commands", key)
		}
	}
}

func (b *builder) checkScheduleNodes(a *Action) {
	if len(a.Commands) > 0 {
		b.warn(a.at.get("commands"), "remove them or use run_commands", "schedule_nodes runs no commands")
	}
	if a.SchedulerType == "" {
		b.fail(a.at.get("scheduler_type"), "add scheduler_type: slurm", "schedule_nodes needs a scheduler_type")
	}
	switch {
	case a.Scheduler == "":
		b.fail(a.at.get("scheduler"), "name one of the slurm_schedulers", "schedule_nodes needs a scheduler")
	case a.SchedulerType == "slurm":
		b.check(b.schedulers, a.at.get("scheduler"), a.Scheduler)
	case a.SchedulerType != "":
		b.warn(a.at.get("scheduler_type"), "use slurm", "nobody carries out an action of the scheduler type %s", clip(a.SchedulerType))
	}
}

// hasScheduleNodes reports whether any action asks for allocations.
func (b *builder) hasScheduleNodes() bool {
	return slices.ContainsFunc(b.doc.Actions, func(a *Action) bool { return a.ActionType == "schedule_nodes" })
}
