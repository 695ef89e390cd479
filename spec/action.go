package spec

import (
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// actionReader reads the actions of a document.
type actionReader struct {
	*report
	jobs       *nameIndex
	schedulers *names
	selector   *selector
	auto       *bool // auto_schedule of the document
}

// read reads the actions. It needs the expanded jobs.
func (r *actionReader) read(items []*Action) []workflow.ActionDefinition {
	var all []workflow.ActionDefinition
	for _, a := range items {
		d := workflow.ActionDefinition{
			TriggerType: a.TriggerType, ActionType: a.ActionType, Commands: a.Commands, Scheduler: a.Scheduler, SchedulerType: a.SchedulerType,
			NumAllocations: 1, StartOneWorkerPerNode: a.StartOneWorkerPerNode, MaxParallelJobs: a.MaxParallelJobs, Persistent: a.Persistent,
		}
		if a.NumAllocations != nil {
			d.NumAllocations = *a.NumAllocations
		}
		r.selectJobs(a, &d)
		switch {
		case a.TriggerType == action.TriggerAutoSchedule:
			r.autoSchedule(a, &d)
		case a.ActionType == "":
			r.failAt(a.at.get("action_type"), a.at.spot(), "", "the key %q is missing", "action_type")
		case a.ActionType == action.RunCommands:
			checkRunCommands(r.report, a)
		case a.ActionType == action.ScheduleNodes:
			r.checkScheduleNodes(a)
		}
		if a.TriggerType != action.TriggerAutoSchedule {
			withoutEffect(r.report, a, a.TriggerType, "min_ready_jobs", "max_ready_age", "max_allocations", "max_submit_per_minute", "idle_timeout", "give_up_after", "prefer")
		}
		all = append(all, d)
	}
	return all
}

// selectJobs finds the jobs that a trigger waits for.
func (r *actionReader) selectJobs(a *Action, d *workflow.ActionDefinition) {
	selects := len(a.Jobs) > 0 || len(a.JobNameRegexes) > 0
	switch {
	case !strings.HasPrefix(a.TriggerType, "on_jobs_"):
		if selects {
			r.warn(a.at.get("jobs"), "remove the selection or use on_jobs_ready or on_jobs_complete", "%s does not depend on jobs", a.TriggerType)
		}
		return
	case !selects:
		r.fail(a.at.get("trigger_type"), "add jobs or job_name_regexes", "%s needs jobs to wait for", a.TriggerType)
		return
	}
	s := r.selector.prepare(r.jobs, a.at, nil, listing{key: "jobs", names: a.Jobs, regexKey: "job_name_regexes", regexes: a.JobNameRegexes, lenient: true})
	if d.Jobs = s.all; len(s.all) == 0 && len(a.Jobs) == 0 {
		r.fail(a.at.get("trigger_type"), "name a job, or let a regex match one", "%s selects no job", a.TriggerType)
	}
}

func checkRunCommands(r *report, a *Action) {
	if len(a.Commands) == 0 {
		r.fail(a.at.get("commands"), "add commands: [...]", "run_commands needs commands")
	}
	withoutEffect(r, a, a.ActionType, "scheduler", "scheduler_type", "num_allocations", "start_one_worker_per_node", "max_parallel_jobs")
}

// withoutEffect warns of keys that have no effect for a kind of action.
func withoutEffect(r *report, a *Action, kind string, keys ...string) {
	for _, key := range keys {
		if c := a.at.child(key); c != nil && c.kind != kindNull {
			r.warnKey(c, "remove it", "%s has no effect for %s", key, kind)
		}
	}
}

// autoSchedule reads the limits of auto_schedule_on_ready_jobs.
func (r *actionReader) autoSchedule(a *Action, d *workflow.ActionDefinition) {
	if off := r.auto; off != nil && !*off {
		r.fail(a.at.get("trigger_type"), "remove one of the two", "%s contradicts auto_schedule: false", a.TriggerType)
	}
	d.ActionType, d.SchedulerType = action.ScheduleNodes, compute.SchedulerSlurm
	if a.ActionType != "" && a.ActionType != action.ScheduleNodes {
		r.fail(a.at.get("action_type"), "remove it or use schedule_nodes", "%s cannot be combined with %s", a.TriggerType, a.ActionType)
	}
	if a.SchedulerType != "" && a.SchedulerType != compute.SchedulerSlurm {
		r.fail(a.at.get("scheduler_type"), "remove it or use slurm", "%s cannot be combined with the scheduler type %s", a.TriggerType, clip(a.SchedulerType))
	}
	if a.Scheduler != "" {
		r.schedulers.check(a.at.get("scheduler"), a.Scheduler)
	}
	withoutEffect(r.report, a, a.TriggerType, "commands", "num_allocations", "start_one_worker_per_node", "persistent")
	limits := &workflow.AutoSchedule{MaxReadyAge: period(r.report, a.at.get("max_ready_age"), a.MaxReadyAge), IdleTimeout: period(r.report, a.at.get("idle_timeout"), a.IdleTimeout), Prefer: a.Prefer}
	for field, value := range map[*int64]*int64{
		&limits.MinReadyJobs: a.MinReadyJobs, &limits.MaxAllocations: a.MaxAllocations,
		&limits.MaxSubmitPerMinute: a.MaxSubmitPerMinute, &limits.GiveUpAfter: a.GiveUpAfter,
	} {
		if value != nil {
			*field = *value
		}
	}
	d.AutoSchedule = limits
}

// period reads a duration of at least a second and returns it as ISO 8601; empty if there
// is none.
func period(r *report, n *node, text string) string {
	if text == "" {
		return ""
	}
	d, err := workflow.ParseDuration(text)
	r.failDomain(n, err)
	if err == nil && d < time.Second {
		r.fail(n, "the minimum is PT1S", "%s is too short", clip(text))
	}
	if err != nil {
		return ""
	}
	return workflow.FormatRuntime(int64(d / time.Second))
}

func (r *actionReader) checkScheduleNodes(a *Action) {
	if len(a.Commands) > 0 {
		r.warn(a.at.get("commands"), "remove them or use run_commands", "schedule_nodes runs no commands")
	}
	if a.SchedulerType == "" {
		r.fail(a.at.get("scheduler_type"), "add scheduler_type: slurm", "schedule_nodes needs a scheduler_type")
	}
	switch {
	case a.Scheduler == "":
		r.fail(a.at.get("scheduler"), "name one of the slurm_schedulers", "schedule_nodes needs a scheduler")
	case a.SchedulerType == "slurm":
		r.schedulers.check(a.at.get("scheduler"), a.Scheduler)
	case a.SchedulerType != "":
		r.warn(a.at.get("scheduler_type"), "use slurm", "actions of the scheduler type %s are not executed", clip(a.SchedulerType))
	}
}

// hasScheduleNodes reports whether any action requests allocations.
func hasScheduleNodes(actions []*Action) bool {
	return slices.ContainsFunc(actions, (*Action).SchedulesNodes)
}

// SchedulesNodes reports whether the action requests allocations.
func (a *Action) SchedulesNodes() bool {
	return a.ActionType == action.ScheduleNodes || a.TriggerType == action.TriggerAutoSchedule
}
