package core

import "github.com/torc-slurm/torc-slurm/workflow/failure"

// Patterns are the failure patterns of a workflow.
type Patterns struct {
	failure.Patterns
	Detector *failure.Detector
}
