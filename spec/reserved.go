package spec

import "reflect"

// advice is an error message with a hint.
type advice struct{ message, hint string }

// reservedKeys are keys that have been replaced. They are errors, since ignoring them would
// run a different workflow.
var reservedKeys = map[reflect.Type]map[string]advice{
	reflect.TypeFor[Document](): {
		"slurm_config": {"slurm_config has been replaced by execution_config", "write its keys under execution_config"},
	},
}

// droppedKeys are accepted keys of older versions of torc, without effect.
var droppedKeys = map[reflect.Type]map[string]string{
	reflect.TypeFor[Document](): {
		"jobs_sort_method": "use the priority of jobs to order them",
	},
}
