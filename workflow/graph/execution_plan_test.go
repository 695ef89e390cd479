package graph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// planDefinition: two roots, two jobs behind both, one behind these, one behind
// a file of the first root.
func planDefinition() *workflow.Definition {
	return &workflow.Definition{
		Files: []workflow.FileDefinition{{Name: "f", Path: "f"}},
		Jobs: []workflow.JobDefinition{
			{Name: "prep_1", OutputFiles: []int32{0}},
			{Name: "prep_2"},
			{Name: "work_1", DependsOn: []int32{0, 1}},
			{Name: "work_2", DependsOn: []int32{0, 1}},
			{Name: "merge", DependsOn: []int32{2, 3}},
			{Name: "look", InputFiles: []int32{0}},
		},
	}
}

type planLine struct {
	ID                   string
	Ready, Needs, Unlock []string
}

func planLines(d *workflow.Definition) []planLine {
	var lines []planLine
	for _, e := range graph.ExecutionPlan(d) {
		lines = append(lines, planLine{e.ID, e.JobsBecomingReady, e.DependsOnEvents, e.UnlocksEvents})
	}
	return lines
}

func TestExecutionPlan(t *testing.T) {
	want := []planLine{
		{"start", []string{"prep_1", "prep_2"}, []string{}, []string{"after_prep_jobs", "after_prep_1"}},
		{"after_prep_jobs", []string{"work_1", "work_2"}, []string{"start"}, []string{"after_work_jobs"}},
		{"after_prep_1", []string{"look"}, []string{"start"}, []string{}},
		{"after_work_jobs", []string{"merge"}, []string{"after_prep_jobs"}, []string{}},
	}
	if diff := cmp.Diff(want, planLines(planDefinition())); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestExecutionPlanNamesEventsApart(t *testing.T) {
	d := &workflow.Definition{Jobs: []workflow.JobDefinition{
		{Name: "prep_1"}, {Name: "prep_2"}, {Name: "prep_3"},
		{Name: "x", DependsOn: []int32{0, 1}},
		{Name: "y", DependsOn: []int32{1, 2}},
		{Name: "z", DependsOn: []int32{0, 3}},
	}}
	var ids []string
	for _, l := range planLines(d) {
		ids = append(ids, l.ID)
	}
	if diff := cmp.Diff([]string{"start", "after_prep_jobs", "after_prep_jobs_2", "after_prep_1_and_1_more"}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestExecutionPlanPlacesAllocations(t *testing.T) {
	schedule := func(trigger string, jobs ...int32) workflow.ActionDefinition {
		return workflow.ActionDefinition{
			TriggerType: trigger, ActionType: action.ScheduleNodes, Jobs: jobs,
			Scheduler: trigger, SchedulerType: "slurm", NumAllocations: 2,
		}
	}
	d := planDefinition()
	d.Actions = []workflow.ActionDefinition{
		schedule(action.TriggerWorkflowStart),
		schedule(action.TriggerJobsReady, 0, 2),
		schedule(action.TriggerJobsComplete, 2, 3),
		schedule(action.TriggerJobsComplete, 4, 5), // nothing waits for these
		schedule(action.TriggerWorkerStart),
		{TriggerType: action.TriggerWorkflowStart, ActionType: action.RunCommands},
	}
	got := make(map[string][]string)
	for _, e := range graph.ExecutionPlan(d) {
		for _, a := range e.SchedulerAllocations {
			got[e.ID] = append(got[e.ID], a.Scheduler)
		}
	}
	want := map[string][]string{
		"start":                  {action.TriggerWorkflowStart},
		"after_prep_jobs":        {action.TriggerJobsReady},
		"after_work_jobs":        {action.TriggerJobsComplete},
		"after_merge_and_1_more": {action.TriggerJobsComplete},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("allocations (-want +got):\n%s", diff)
	}
}
