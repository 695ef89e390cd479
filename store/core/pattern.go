package core

import "github.com/torc-slurm/torc-slurm/workflow/failure"

// Patterns are what is looked for in the words of the failed attempts of a workflow.
type Patterns struct {
	failure.Patterns
	Detector *failure.Detector
}
