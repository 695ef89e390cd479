package explain

import "fmt"

// LoginFacts says who runs the jobs that must run on the daemon's host.
type LoginFacts struct {
	Host string
	// Starts says that the daemon starts a runner for them; otherwise a user has
	// to.
	Starts  bool
	Failure string // why the last such runner failed; empty if it did not
}

// next says what has to happen for a ready job of the daemon's host that no live
// runner can take.
func (f LoginFacts) next(workflowID int64) string {
	switch {
	case !f.Starts:
		return fmt.Sprintf("a runner on the daemon's host %s takes it (run %d)", f.Host, workflowID)
	case f.Failure != "":
		return fmt.Sprintf("the daemon starts another runner for it on its host %s; the last one failed: %s", f.Host, f.Failure)
	}
	return fmt.Sprintf("the daemon starts a runner for it on its host %s", f.Host)
}
