// Package action has what a workflow does at points of its life: its triggers, when they
// are reached, and the settings of its actions.
package action

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The points of a workflow's life at which an action is triggered. Others can
// be stored; nothing ever triggers them.
const (
	TriggerWorkflowStart    = "on_workflow_start"
	TriggerWorkflowComplete = "on_workflow_complete"
	TriggerJobsReady        = "on_jobs_ready"
	TriggerJobsComplete     = "on_jobs_complete"
	TriggerWorkerStart      = "on_worker_start"
	TriggerWorkerComplete   = "on_worker_complete"
)

// TriggerTypes lists them.
func TriggerTypes() []string {
	return []string{TriggerWorkflowStart, TriggerWorkflowComplete, TriggerJobsReady, TriggerJobsComplete,
		TriggerWorkerStart, TriggerWorkerComplete, TriggerAutoSchedule}
}

// The types of an action. Others can be stored; runners leave them alone.
const (
	RunCommands   = "run_commands"
	ScheduleNodes = "schedule_nodes"
)

// Record is something to do at a point of a workflow's life.
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
	Persistent       bool    // never executed for good: each runner may claim it
	IsRecovery       bool    // made by a recovery; gone at the next initialisation
	// TakenMS is since when the daemon carries it out; 0 if it does not.
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

// RequiredTriggers is how often a trigger must count before its action is
// pending: once for each of its jobs, else once. Without jobs a job trigger
// never counts.
func RequiredTriggers(trigger string, jobIDs []int64) int64 {
	if IsJobTrigger(trigger) && jobIDs != nil {
		return int64(len(jobIDs))
	}
	return 1
}

// TriggerReached reports whether a job in a status has satisfied a job trigger:
// it has been ready at some time, or it is complete.
func TriggerReached(trigger string, s workflow.JobStatus) bool {
	switch trigger {
	case TriggerJobsReady:
		return s != workflow.Uninitialized && s != workflow.Blocked
	case TriggerJobsComplete:
		return s.IsComplete()
	}
	return false
}

// TriggerCounts reports whether a change of a listed job's status counts for a
// job trigger. A job that is ready once more after a failed attempt does not
// count again.
func TriggerCounts(trigger string, from, to workflow.JobStatus) bool {
	return TriggerReached(trigger, to) && !TriggerReached(trigger, from)
}

// Reset is what initialising does to an action: statuses are those of its
// jobs afterwards. It says whether the action stays at all.
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

// keepsExecuted: what the workflow's start did is not repeated for a part of
// it, nor what was done for jobs that all stay complete.
func keepsExecuted(trigger string, statuses []workflow.JobStatus) bool {
	switch trigger {
	case TriggerWorkflowStart:
		return true
	case TriggerJobsReady, TriggerJobsComplete:
		return !slices.ContainsFunc(statuses, func(s workflow.JobStatus) bool { return !s.IsComplete() })
	}
	return false
}

// MergeConfig overlays an action's config by the keys of patch and checks
// the result.
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

// ValidateConfig checks the config of run_commands and schedule_nodes; of
// other types only that it is an object.
func ValidateConfig(trigger, actionType string, config json.RawMessage) error {
	fields, err := decodeObject(config)
	if err != nil {
		return err
	}
	switch {
	case trigger == TriggerAutoSchedule && actionType != ScheduleNodes:
		return workflow.Errorf(workflow.CodeInvalid, "%s is for schedule_nodes, not for %s", trigger, actionType)
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
			return invalidConfig("run_commands has the key commands alone, not %s", key)
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

// What the value of a key must be, in words.
const (
	isInteger  = "an integer"
	isPositive = "an integer above 0"
	isText     = "a string"
	isFlag     = "true or false"
	isDuration = "an ISO 8601 duration of a second or more, such as PT5M"
)

// isPreference is what the value of prefer must be, in words.
var isPreference = "one of " + strings.Join(workflow.Preferences(), ", ")

// scheduleNodesKeys says of each key what its value must be.
var scheduleNodesKeys = map[string]string{
	"scheduler_id":              isInteger,
	"scheduler_type":            isText,
	"num_allocations":           isInteger,
	"start_one_worker_per_node": isFlag,
	"max_parallel_jobs":         isInteger,
}

// autoScheduleKeys are those of an action that asks for as many allocations as
// are needed.
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
			return invalidConfig("%s has no key %s; it has %s", what, key, strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
		}
		if !isOf(want, fields[key]) {
			return invalidConfig("%s must be %s", key, want)
		}
	}
	return nil
}

// isOf reports whether a JSON value is what is wanted.
func isOf(want string, value json.RawMessage) bool {
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

// decodes reports whether a JSON value is a T; null is none.
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
