package spec

import "reflect"

// advice is an error text with what would be right.
type advice struct{ message, hint string }

// reservedKeys are keys that have been replaced. Using one is an error: ignoring it
// would run another workflow than the one that was written.
var reservedKeys = map[reflect.Type]map[string]advice{
	reflect.TypeFor[Document](): {
		"slurm_config": {"slurm_config has been replaced by execution_config", "write its keys under execution_config"},
	},
}

// droppedKeys had a meaning in older versions of torc; they are accepted.
var droppedKeys = map[reflect.Type]map[string]string{
	reflect.TypeFor[Document](): {
		"jobs_sort_method": "use the priority of jobs to order them",
	},
}
