package spec

import (
	"reflect"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// advice is an error text with what would be right.
type advice struct{ message, hint string }

// reserve says that a key has a meaning in store but none yet.
func reserve(key, instead string) advice {
	return advice{key + " is reserved: this version does not evaluate it yet", instead}
}

// reservedKeys are keys that are kept for later versions or have been replaced.
// Using one is an error: ignoring it would run another workflow than the one
// that was written.
var reservedKeys = map[reflect.Type]map[string]advice{
	reflect.TypeFor[Document](): {
		"slurm_config":       {"slurm_config has been replaced by execution_config", "write its keys under execution_config"},
		"max_failures":       reserve("max_failures", "remove it"),
		"failure_categories": reserve("failure_categories", "remove it or use a retry policy"),
		"circuit_breakers":   reserve("circuit_breakers", "remove it"),
		"deadline":           reserve("deadline", "remove it or bound jobs by timeouts.run"),
		"on_failure":         reserve("on_failure", "remove it or use an action with on_workflow_complete"),
		"classify_timeout":   reserve("classify_timeout", "remove it"),
	},
	reflect.TypeFor[Job](): {
		"undo":     reserve("undo", "remove it"),
		"workflow": reserve("workflow", "write a command"),
	},
	reflect.TypeFor[workflow.SiblingRule](): {
		"category": reserve("category", "use cause or label"),
	},
	reflect.TypeFor[workflow.EndPolicy](): {
		"job": reserve("end.job", "remove it or use an action with on_workflow_complete"),
	},
	reflect.TypeFor[Timeouts](): {
		"queue":     reserve("timeouts.queue", "remove it or use timeouts.run"),
		"total":     reserve("timeouts.total", "remove it or use timeouts.run"),
		"heartbeat": reserve("timeouts.heartbeat", "remove it or use timeouts.run"),
	},
}

// reservedValues are values of enumerations that are kept for later versions,
// by key.
var reservedValues = map[string]map[string]advice{
	"policy": {
		"fail":          reserve("the policy fail", "use retry: without a failure_handler a job that was timed out fails"),
		"fail_workflow": reserve("the policy fail_workflow", "use retry"),
		"alert":         reserve("the policy alert", "use retry"),
	},
}

// droppedKeys had a meaning in older versions of torc; they are accepted.
var droppedKeys = map[reflect.Type]map[string]string{
	reflect.TypeFor[Document](): {
		"jobs_sort_method": "use the priority of jobs to order them",
	},
}
