package action_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

func TestValidateConfig(t *testing.T) {
	tests := []struct {
		actionType, config, want string
	}{
		{action.RunCommands, `{"commands":["a","b"]}`, ""},
		{action.RunCommands, `{"commands":[]}`, "commands must not be empty"},
		{action.RunCommands, `{"commands":"a"}`, "commands must be a list of strings"},
		{action.RunCommands, `{"commands":["a",1]}`, "commands must be a list of strings"},
		{action.RunCommands, `{"commands":["a",null]}`, "commands must be a list of strings"},
		{action.RunCommands, `{"commands":null}`, "commands must not be empty"},
		{action.RunCommands, `{}`, "commands must be a list of strings"},
		{action.RunCommands, `{"commands":["a"],"shell":"zsh"}`, "run_commands has only the key commands, not shell"},
		{action.ScheduleNodes, `{}`, ""},
		{action.ScheduleNodes, `{"scheduler_id":1,"scheduler_type":"slurm","num_allocations":2,"start_one_worker_per_node":true,"max_parallel_jobs":3}`, ""},
		{action.ScheduleNodes, `{"scheduler_id":"1"}`, "scheduler_id must be an integer"},
		{action.ScheduleNodes, `{"scheduler_id":1.5}`, "scheduler_id must be an integer"},
		{action.ScheduleNodes, `{"scheduler_type":1}`, "scheduler_type must be a string"},
		{action.ScheduleNodes, `{"start_one_worker_per_node":"yes"}`, "start_one_worker_per_node must be true or false"},
		{action.ScheduleNodes, `{"max_parallel_jobs":null}`, "max_parallel_jobs must be an integer"},
		{action.ScheduleNodes, `{"nodes":1}`, "schedule_nodes has no key nodes; the keys are max_parallel_jobs, num_allocations, scheduler_id, scheduler_type, start_one_worker_per_node"},
		{"something_else", `{"any":["thing"]}`, ""},
		{"something_else", `[]`, "it must be a JSON object"},
		{"something_else", `null`, "it must be a JSON object"},
		{"something_else", `"{}"`, "it must be a JSON object"},
		{"something_else", ``, "it must be a JSON object"},
	}
	for _, tt := range tests {
		err := action.ValidateConfig(action.TriggerWorkflowStart, tt.actionType, json.RawMessage(tt.config))
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "Invalid action_config: ")
			if CodeOf(err) != CodeInvalid || got == err.Error() {
				t.Errorf("%s %s: %v", tt.actionType, tt.config, err)
			}
		}
		if got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.actionType, tt.config, got, tt.want)
		}
	}
}

func TestValidateAutoSchedule(t *testing.T) {
	for _, tt := range []struct{ config, want string }{
		{`{}`, ""},
		{`{"scheduler_id":1,"scheduler_type":"slurm","max_parallel_jobs":2,"min_ready_jobs":3,"max_ready_age":"PT2M","max_allocations":4,
			"max_submit_per_minute":5,"idle_timeout":"PT30S","give_up_after":6,"prefer":"cost"}`, ""},
		{`{"prefer":"cheap"}`, "prefer must be one of time, balanced, cost"},
		{`{"prefer":1}`, "prefer must be one of time, balanced, cost"},
		{`{"min_ready_jobs":0}`, "min_ready_jobs must be an integer above 0"},
		{`{"min_ready_jobs":null}`, "min_ready_jobs must be an integer above 0"},
		{`{"max_ready_age":"2m"}`, "max_ready_age must be an ISO 8601 duration of a second or more, such as PT5M"},
		{`{"idle_timeout":"PT0S"}`, "idle_timeout must be an ISO 8601 duration of a second or more, such as PT5M"},
		{`{"idle_timeout":30}`, "idle_timeout must be an ISO 8601 duration of a second or more, such as PT5M"},
		{`{"num_allocations":1}`, "auto_schedule_on_ready_jobs has no key num_allocations; the keys are give_up_after, idle_timeout, max_allocations, " +
			"max_parallel_jobs, max_ready_age, max_submit_per_minute, min_ready_jobs, prefer, scheduler_id, scheduler_type"},
	} {
		got := ""
		if err := action.ValidateConfig(action.TriggerAutoSchedule, action.ScheduleNodes, json.RawMessage(tt.config)); err != nil {
			got = strings.TrimPrefix(err.Error(), "Invalid action_config: ")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.config, got, tt.want)
		}
	}
	if err := action.ValidateConfig(action.TriggerAutoSchedule, action.RunCommands, json.RawMessage(`{"commands":["x"]}`)); CodeOf(err) != CodeInvalid {
		t.Errorf("commands: %v", err)
	}
	if err := action.ValidateConfig(action.TriggerJobsReady, action.ScheduleNodes, json.RawMessage(`{"min_ready_jobs":1}`)); CodeOf(err) != CodeInvalid {
		t.Errorf("limits of another trigger: %v", err)
	}
}

func TestStatus(t *testing.T) {
	for want, a := range map[action.Status]action.Record{
		action.StatusWaiting:   {TriggerType: action.TriggerJobsReady, TriggerCount: 1, RequiredTriggers: 2},
		action.StatusPending:   {TriggerType: action.TriggerJobsReady, TriggerCount: 2, RequiredTriggers: 2},
		action.StatusExecuted:  {TriggerType: action.TriggerJobsReady, RequiredTriggers: 2, Executed: true},
		action.StatusAutomatic: {TriggerType: action.TriggerAutoSchedule, TriggerCount: 1, RequiredTriggers: 1}, // never offered to runners
	} {
		if got := a.Status(); got != want || a.IsPending() != (want == action.StatusPending) {
			t.Errorf("%s, pending %v, want %s", got, a.IsPending(), want)
		}
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]int64{`{}`: 1, `{"num_allocations": 0}`: 1, `{"num_allocations": 4}`: 4} {
		a := action.Record{Config: json.RawMessage(text)}
		if c, err := a.ScheduleNodes(); err != nil || c.Count() != want {
			t.Errorf("%s: %d, %v, want %d", text, c.Count(), err, want)
		}
	}
}

func TestMergeConfig(t *testing.T) {
	got, err := action.MergeConfig(action.TriggerWorkflowStart, action.ScheduleNodes, json.RawMessage(`{"scheduler_id":1,"num_allocations":2}`), json.RawMessage(`{"num_allocations":5}`))
	if err != nil || string(got) != `{"num_allocations":5,"scheduler_id":1}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{`{}`, `[]`, `{"num_allocations":"many"}`} {
		if _, err := action.MergeConfig(action.TriggerWorkflowStart, action.ScheduleNodes, json.RawMessage(`{}`), json.RawMessage(bad)); CodeOf(err) != CodeInvalid {
			t.Errorf("patch %s: %v", bad, err)
		}
	}
	if _, err := action.MergeConfig(action.TriggerWorkflowStart, action.ScheduleNodes, nil, json.RawMessage(`{"scheduler_id":1}`)); CodeOf(err) != CodeInvalid {
		t.Errorf("config that is no object: %v", err)
	}
}

func TestRequiredTriggers(t *testing.T) {
	for _, tt := range []struct {
		trigger string
		jobs    []int64
		want    int64
	}{
		{action.TriggerJobsReady, []int64{1, 2, 3}, 3},
		{action.TriggerJobsComplete, nil, 1},
		{action.TriggerWorkflowStart, []int64{1, 2}, 1},
	} {
		if got := action.RequiredTriggers(tt.trigger, tt.jobs); got != tt.want {
			t.Errorf("%s %v: %d", tt.trigger, tt.jobs, got)
		}
	}
}

func TestTriggerCounts(t *testing.T) {
	tests := []struct {
		trigger  string
		from, to JobStatus
		want     bool
	}{
		{action.TriggerJobsReady, Blocked, Ready, true},
		{action.TriggerJobsReady, Blocked, Canceled, true},
		{action.TriggerJobsReady, Running, Ready, false},
		{action.TriggerJobsReady, Failed, Ready, false},
		{action.TriggerJobsReady, Uninitialized, Blocked, false},
		{action.TriggerJobsComplete, Running, Failed, true},
		{action.TriggerJobsComplete, Running, PendingFailed, false},
		{action.TriggerJobsComplete, PendingFailed, Failed, true},
		{action.TriggerJobsComplete, Completed, Disabled, false},
		{action.TriggerWorkflowStart, Blocked, Ready, false},
	}
	for _, tt := range tests {
		if got := action.TriggerCounts(tt.trigger, tt.from, tt.to); got != tt.want {
			t.Errorf("%s, %s -> %s: %v", tt.trigger, tt.from, tt.to, got)
		}
	}
}

func TestReset(t *testing.T) {
	at, by := "2026-01-01T00:00:00Z", int64(3)
	executed := func(trigger string, required int64) action.Record {
		return action.Record{TriggerType: trigger, TriggerCount: 9, RequiredTriggers: required, Executed: true,
			ExecutedAt: &at, ExecutedBy: &by}
	}
	tests := []struct {
		name         string
		action       action.Record
		onlyUninit   bool
		statuses     []JobStatus
		wantCount    int64
		wantExecuted bool
		wantPending  bool
	}{
		{"start, in full", executed(action.TriggerWorkflowStart, 1), false, nil, 1, false, true},
		{"start, in part", executed(action.TriggerWorkflowStart, 1), true, nil, 1, true, false},
		{"complete, in part", executed(action.TriggerWorkflowComplete, 1), true, nil, 0, false, false},
		{"worker start", executed(action.TriggerWorkerStart, 1), true, nil, 1, false, true},
		{"worker complete", executed(action.TriggerWorkerComplete, 2), false, nil, 2, false, true},
		{"jobs complete, all still are", executed(action.TriggerJobsComplete, 2), true, []JobStatus{Completed, Failed}, 2, true, false},
		{"jobs complete, one runs again", executed(action.TriggerJobsComplete, 2), true, []JobStatus{Completed, Ready}, 1, false, false},
		{"jobs complete, in full", executed(action.TriggerJobsComplete, 2), false, []JobStatus{Completed, Failed}, 2, false, true},
		{"jobs ready", executed(action.TriggerJobsReady, 2), false, []JobStatus{Ready, Blocked}, 1, false, false},
		{"jobs ready, both", executed(action.TriggerJobsReady, 2), true, []JobStatus{Ready, Completed}, 2, false, true},
		{"unknown trigger", executed("on_full_moon", 1), false, nil, 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, keep := action.Reset(tt.action, tt.onlyUninit, tt.statuses)
			if !keep || got.TriggerCount != tt.wantCount || got.Executed != tt.wantExecuted || got.IsPending() != tt.wantPending {
				t.Errorf("keep %v, pending %v, %+v", keep, got.IsPending(), got)
			}
			if (got.ExecutedAt != nil) != tt.wantExecuted || (got.ExecutedBy != nil) != tt.wantExecuted {
				t.Errorf("executed at %v by %v", got.ExecutedAt, got.ExecutedBy)
			}
		})
	}
	if _, keep := action.Reset(action.Record{IsRecovery: true}, false, nil); keep {
		t.Error("an action of a recovery is kept")
	}
}

func TestTriggerTypes(t *testing.T) {
	var ofJobs []string
	for _, trigger := range action.TriggerTypes() {
		if action.IsJobTrigger(trigger) {
			ofJobs = append(ofJobs, trigger)
		}
	}
	if diff := cmp.Diff([]string{action.TriggerJobsReady, action.TriggerJobsComplete}, ofJobs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
