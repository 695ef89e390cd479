package runner

import (
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// setPatterns takes in what is to be looked for in the words of failed attempts.
func (r *Runner) setPatterns(s *failure.Patterns) {
	if s == nil {
		return
	}
	d, err := s.Detector()
	if err != nil { // the daemon has checked them
		r.log.Error("cannot look for categories of failures", "error", err)
		return
	}
	r.detector = d
}
