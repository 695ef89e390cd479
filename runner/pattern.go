package runner

import (
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// setPatterns sets the failure patterns that are matched against failed attempts.
func (r *Runner) setPatterns(s *failure.Patterns) {
	if s == nil {
		return
	}
	d, err := s.Detector()
	if err != nil { // the daemon checks them when they are stored
		r.log.Error("invalid failure patterns", "error", err)
		return
	}
	r.detector = d
}
