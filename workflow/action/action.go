// Package action decides when the actions of a workflow are triggered, and checks their
// settings.
package action

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The trigger types. Other types can be stored, but are never triggered.
const (
	TriggerWorkflowStart    = "on_workflow_start"
	TriggerWorkflowComplete = "on_workflow_complete"
	TriggerJobsReady        = "on_jobs_ready"
	TriggerJobsComplete     = "on_jobs_complete"
	TriggerWorkerStart      = "on_worker_start"
	TriggerWorkerComplete   = "on_worker_complete"
)

// TriggerTypes returns all trigger types.
func TriggerTypes() []string {
	return []string{TriggerWorkflowStart, TriggerWorkflowComplete, TriggerJobsReady, TriggerJobsComplete,
		TriggerWorkerStart, TriggerWorkerComplete, TriggerAutoSchedule}
}

// The action types. Other types can be stored, but runners ignore them.
const (
	RunCommands   = "run_commands"
	ScheduleNodes = "schedule_nodes"
)

// Record is a stored action: something to do when its trigger is reached.
type Record struct {
	ID               int64
	WorkflowID       int64
	TriggerType      string
	ActionType       string
	Config           json.RawMessage // an object
	JobIDs           []int64         // nil: not given
	TriggerCount     int64
	RequiredTriggers int64
	Executed         bool
	ExecutedAt       *string // RFC 3339
	ExecutedBy       *int64  // compute node
	Persistent       bool    // each runner may claim it, so that it is never finally executed
	IsRecovery       bool    // created by a recovery; removed at the next initialization
	// TakenMS is when the daemon began to carry it out; 0 if it is not doing so.
	TakenMS int64
}

// Status is how far an action is.
type Status string

// The statuses of an action.
const (
	StatusAutomatic Status = "automatic" // the daemon executes it as long as the run lasts
	StatusWaiting   Status = "waiting"   // not triggered yet
	StatusPending   Status = "pending"   // triggered, and not claimed
	StatusExecuted  Status = "executed"
)

// Status returns how far the action is.
func (a *Record) Status() Status {
	switch {
	case a.IsAutoSchedule():
		return StatusAutomatic
	case a.Executed:
		return StatusExecuted
	case a.TriggerCount >= a.RequiredTriggers:
		return StatusPending
	}
	return StatusWaiting
}

// IsPending reports whether the action is triggered and not claimed.
func (a *Record) IsPending() bool { return a.Status() == StatusPending }

// IsJobTrigger reports whether a trigger counts jobs.
func IsJobTrigger(trigger string) bool {
	return trigger == TriggerJobsReady || trigger == TriggerJobsComplete
}

// RequiredTriggers returns how often a trigger must count before its action is pending:
// once for each of its jobs, otherwise once. A job trigger without jobs never counts.
func RequiredTriggers(trigger string, jobIDs []int64) int64 {
	if IsJobTrigger(trigger) && jobIDs != nil {
		return int64(len(jobIDs))
	}
	return 1
}

// TriggerReached reports whether a job with this status satisfies a job trigger: it is
// ready or later for TriggerJobsReady, or complete for TriggerJobsComplete.
func TriggerReached(trigger string, s workflow.JobStatus) bool {
	switch trigger {
	case TriggerJobsReady:
		return s != workflow.Uninitialized && s != workflow.Blocked
	case TriggerJobsComplete:
		return s.IsComplete()
	}
	return false
}

// TriggerCounts reports whether a change of a job's status counts for a job trigger. A job
// that becomes ready again after a failed attempt does not count twice.
func TriggerCounts(trigger string, from, to workflow.JobStatus) bool {
	return TriggerReached(trigger, to) && !TriggerReached(trigger, from)
}

// Reset returns the action as it is after an initialization, and whether it still exists.
// The statuses are those of its jobs after the initialization.
func Reset(a Record, onlyUninitialized bool, statuses []workflow.JobStatus) (Record, bool) {
	if a.IsRecovery {
		return a, false
	}
	if !onlyUninitialized || !keepsExecuted(a.TriggerType, statuses) {
		a.Executed, a.ExecutedAt, a.ExecutedBy, a.TakenMS = false, nil, nil, 0
	}
	a.TriggerCount = 0
	switch a.TriggerType {
	case TriggerJobsReady, TriggerJobsComplete:
		for _, s := range statuses {
			if TriggerReached(a.TriggerType, s) {
				a.TriggerCount++
			}
		}
	case TriggerWorkflowStart:
		a.TriggerCount = 1
	case TriggerWorkerStart, TriggerWorkerComplete:
		a.TriggerCount = a.RequiredTriggers
	}
	return a, true
}

// keepsExecuted reports whether an executed action stays executed when only some jobs are
// initialized: that of the workflow's start, and that of jobs that all stay complete.
func keepsExecuted(trigger string, statuses []workflow.JobStatus) bool {
	switch trigger {
	case TriggerWorkflowStart:
		return true
	case TriggerJobsReady, TriggerJobsComplete:
		return !slices.ContainsFunc(statuses, func(s workflow.JobStatus) bool { return !s.IsComplete() })
	}
	return false
}

// MergeConfig returns the config of an action, overridden by the keys of patch. It returns
// an error of CodeInvalid if the patch is empty or the result is not valid.
func MergeConfig(trigger, actionType string, config, patch json.RawMessage) (json.RawMessage, error) {
	changes, err := decodeObject(patch)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return nil, invalidConfig("nothing to change")
	}
	merged, err := decodeObject(config)
	if err != nil {
		return nil, err
	}
	maps.Copy(merged, changes)
	text, err := json.Marshal(merged)
	if err != nil {
		return nil, invalidConfig("%v", err)
	}
	return text, ValidateConfig(trigger, actionType, text)
}

// ValidateConfig returns an error of CodeInvalid if the config of an action is not valid.
// For types other than run_commands and schedule_nodes it only has to be an object.
func ValidateConfig(trigger, actionType string, config json.RawMessage) error {
	fields, err := decodeObject(config)
	if err != nil {
		return err
	}
	switch {
	case trigger == TriggerAutoSchedule && actionType != ScheduleNodes:
		return workflow.Errorf(workflow.CodeInvalid, "trigger %s needs the action type schedule_nodes, not %s", trigger, actionType)
	case trigger == TriggerAutoSchedule:
		return validateKeys(fields, autoScheduleKeys, trigger)
	case actionType == RunCommands:
		return validateRunCommands(fields)
	case actionType == ScheduleNodes:
		return validateKeys(fields, scheduleNodesKeys, actionType)
	}
	return nil
}

func validateRunCommands(fields map[string]json.RawMessage) error {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != "commands" {
			return invalidConfig("run_commands has only the key commands, not %s", key)
		}
	}
	var commands []*string
	text, there := fields["commands"]
	if err := json.Unmarshal(text, &commands); !there || err != nil || slices.Contains(commands, nil) {
		return invalidConfig("commands must be a list of strings")
	}
	if len(commands) == 0 {
		return invalidConfig("commands must not be empty")
	}
	return nil
}

// What the value of a key must be, as text for errors.
const (
	isInteger  = "an integer"
	isPositive = "an integer above 0"
	isText     = "a string"
	isFlag     = "true or false"
	isDuration = "an ISO 8601 duration of a second or more, such as PT5M"
)

// isPreference is what the value of prefer must be, as text for errors.
var isPreference = "one of " + strings.Join(workflow.Preferences(), ", ")

// scheduleNodesKeys has the keys of schedule_nodes and what their values must be.
var scheduleNodesKeys = map[string]string{
	"scheduler_id":              isInteger,
	"scheduler_type":            isText,
	"num_allocations":           isInteger,
	"start_one_worker_per_node": isFlag,
	"max_parallel_jobs":         isInteger,
}

// autoScheduleKeys has the keys of an action that requests as many allocations as are
// needed.
var autoScheduleKeys = map[string]string{
	"scheduler_id":          isInteger,
	"scheduler_type":        isText,
	"max_parallel_jobs":     isInteger,
	"min_ready_jobs":        isPositive,
	"max_ready_age":         isDuration,
	"max_allocations":       isPositive,
	"max_submit_per_minute": isPositive,
	"idle_timeout":          isDuration,
	"give_up_after":         isPositive,
	"prefer":                isPreference,
}

func validateKeys(fields map[string]json.RawMessage, keys map[string]string, what string) error {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		want, known := keys[key]
		if !known {
			return invalidConfig("%s has no key %s; the keys are %s", what, key, strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
		}
		if !isValid(want, fields[key]) {
			return invalidConfig("%s must be %s", key, want)
		}
	}
	return nil
}

// isValid reports whether a JSON value is what it must be.
func isValid(want string, value json.RawMessage) bool {
	switch want {
	case isInteger:
		return decodes[int64](value)
	case isPositive:
		var n int64
		return json.Unmarshal(value, &n) == nil && n > 0
	case isText:
		return decodes[string](value)
	case isFlag:
		return decodes[bool](value)
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return false
	}
	if want == isPreference {
		return slices.Contains(workflow.Preferences(), text)
	}
	seconds, err := workflow.ParseRuntime(text)
	return err == nil && seconds > 0
}

// decodes reports whether a JSON value is a T. null is not.
func decodes[T any](text json.RawMessage) bool {
	var v *T
	return json.Unmarshal(text, &v) == nil && v != nil
}

func decodeObject(text json.RawMessage) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimSpace(text), &fields); err != nil || fields == nil {
		return nil, invalidConfig("it must be a JSON object")
	}
	return fields, nil
}

func invalidConfig(format string, args ...any) *workflow.Error {
	return workflow.Errorf(workflow.CodeInvalid, "Invalid action_config: "+format, args...)
}
