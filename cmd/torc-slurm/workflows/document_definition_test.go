package workflows

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// Ids of a document are arbitrary; only what they tie together counts.
func TestDocumentDefinition(t *testing.T) {
	const text = `{
		"export_version": "1.0",
		"workflow": {"name": "w", "user": "me", "env": {"A": "1"}, "use_pending_failed": true},
		"files": [{"id": 70, "workflow_id": 9, "name": "f", "path": "f.txt"}],
		"user_data": [{"id": 80, "workflow_id": 9, "name": "u", "is_ephemeral": true, "data": 5}],
		"resource_requirements": [
			{"id": 60, "workflow_id": 9, "name": "default", "num_cpus": 1, "num_gpus": 0, "num_nodes": 1, "memory": "1m", "runtime": "PT1M"},
			{"id": 61, "workflow_id": 9, "name": "big", "num_cpus": 8, "num_gpus": 1, "num_nodes": 2, "memory": "8g", "runtime": "PT1H"}],
		"slurm_schedulers": [{"id": 50, "workflow_id": 9, "account": "a", "nodes": 1, "walltime": "01:00:00"}],
		"failure_handlers": [{"id": 40, "workflow_id": 9, "name": "h", "rules": "[{\"exit_codes\":[3],\"match_all_exit_codes\":false,\"max_retries\":2}]"}],
		"jobs": [
			{"id": 30, "workflow_id": 9, "name": "a", "command": "true", "env": {"A": "1", "B": "2"}, "status": "completed",
			 "output_file_ids": [70], "output_user_data_ids": [80], "resource_requirements_id": 60, "labels": ["x"], "priority": 4},
			{"id": 33, "workflow_id": 9, "name": "b", "command": "true", "env": {"A": "1"}, "cancel_on_blocking_job_failure": false,
			 "depends_on_job_ids": [30], "input_file_ids": [70], "input_user_data_ids": [80], "resource_requirements_id": 61,
			 "failure_handler_id": 40, "scheduler_id": 50, "stdio": {"mode": "none"}, "run_timeout": {"after_seconds": 9, "grace_seconds": 1}}],
		"workflow_actions": [{"id": 20, "workflow_id": 9, "trigger_type": "on_jobs_ready", "action_type": "schedule_nodes", "job_ids": [33],
			"action_config": {"scheduler_id": 50, "scheduler_type": "slurm", "num_allocations": 3}, "executed": true}]
	}`
	var d workflowDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	got, err := d.definition()
	if err != nil {
		t.Fatal(err)
	}
	want := &workflow.Definition{
		Name: "w", User: "me", Env: map[string]string{"A": "1"}, UsePendingFailed: true,
		Files:        []workflow.FileDefinition{{Name: "f", Path: "f.txt"}},
		UserData:     []workflow.UserDataDefinition{{Name: "u", IsEphemeral: true, Data: json.RawMessage("5")}},
		Requirements: []workflow.ResourceRequirements{{Name: "big", NumCPUs: 8, NumGPUs: 1, NumNodes: 2, Memory: "8g", Runtime: "PT1H"}},
		FailureHandlers: []workflow.FailureHandlerDefinition{{
			Name: "h", Rules: []workflow.FailureRule{{ExitCodes: []int64{3}, MaxRetries: 2}},
		}},
		SlurmSchedulers: []workflow.SlurmSchedulerDefinition{{Name: "scheduler_50", Account: "a", Nodes: 1, Walltime: "01:00:00"}},
		Jobs: []workflow.JobDefinition{
			{Name: "a", Command: "true", Env: map[string]string{"B": "2"}, Priority: 4, Labels: []string{"x"}, OutputFiles: []int32{0}, OutputUserData: []int32{0}},
			{
				Name: "b", Command: "true", Requirements: "big", FailureHandler: "h", Scheduler: "scheduler_50", RunIf: workflow.RunIfAlways,
				DependsOn: []int32{0}, InputFiles: []int32{0}, InputUserData: []int32{0},
				JobOptions: workflow.JobOptions{Stdio: &workflow.StdioConfig{Mode: workflow.StdioNone}, RunTimeout: &workflow.RunTimeout{AfterSeconds: 9, GraceSeconds: 1}},
			},
		},
		Actions: []workflow.ActionDefinition{{
			TriggerType: action.TriggerJobsReady, ActionType: action.ScheduleNodes, Jobs: []int32{1},
			Scheduler: "scheduler_50", SchedulerType: "slurm", NumAllocations: 3,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func TestDocumentWithDanglingIDs(t *testing.T) {
	for what, text := range map[string]string{
		"job 7":                  `{"jobs": [{"name": "a", "depends_on_job_ids": [7]}]}`,
		"file 7":                 `{"jobs": [{"name": "a", "input_file_ids": [7]}]}`,
		"user data record 7":     `{"jobs": [{"name": "a", "output_user_data_ids": [7]}]}`,
		"failure handler 7":      `{"jobs": [{"name": "a", "failure_handler_id": 7}]}`,
		"scheduler 7":            `{"workflow_actions": [{"action_config": {"scheduler_id": 7}}]}`,
		"rules of failure":       `{"failure_handlers": [{"name": "h", "rules": "7"}]}`,
		"configuration of actio": `{"workflow_actions": [{"action_config": {"commands": 7}}]}`,
	} {
		var d workflowDocument
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if _, err := d.definition(); err == nil || !strings.Contains(err.Error(), what) || workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: error %v", what, err)
		}
	}
}
