package placement

import "github.com/torc-slurm/torc-slurm/workflow"

// Places is which allocations can be requested for the jobs of a workflow, as known at
// one moment. It is a value: it never changes, never blocks and does no I/O, so that
// decisions may depend on it (docs/adr/0013).
type Places interface {
	// Unplaced returns why no allocation could take a job of a class; empty if one could,
	// or if that is not known.
	Unplaced(c Class) string
	// Elsewhere reports whether the daemon requests allocations that exclude a node, for
	// jobs of a class that avoid it.
	Elsewhere(c Class, node string) bool
}

// JobDemand is what a job requires, and where it could get more.
type JobDemand struct {
	Requirements workflow.ResourceRequirements
	Class        Class         // of jobs with these requirements
	Runners      []RunnerFacts // the live ones of its workflow
	Past         []RunnerFacts // if there are none: the latest that have ended
	// ByHand says that a user started its runner outside of allocations, and that no
	// allocations are requested for the workflow.
	ByHand bool
	Places Places // nil: not known
}

// Outgrown returns why the job has no place any more once its requirements have grown:
// neither a live runner nor an allocation that could be requested is large enough. Without
// either, the runners of the past are the measure. It returns "" if there is a place, if that
// is not known, or if there was no place before.
// It returns the text of the error if the requirements cannot be parsed.
func (d *JobDemand) Outgrown(grown workflow.ResourceRequirements) string {
	after := d.Class
	after.CPUs, after.GPUs, after.Nodes = grown.NumCPUs, grown.NumGPUs, grown.NumNodes
	var err error
	if after.MemoryBytes, err = workflow.ParseMemory(grown.Memory); err == nil {
		after.RuntimeSeconds, err = workflow.ParseRuntime(grown.Runtime)
	}
	switch {
	case err != nil:
		return err.Error()
	case Unplaced(after, d.Runners) == "":
		return ""
	case d.ByHand && len(d.Runners) == 0 && len(d.Past) == 0: // the first runner may have any size
		return ""
	case d.ByHand:
		known := d.Runners
		if len(known) == 0 {
			known = d.Past
		}
		restarted := make([]RunnerFacts, len(known))
		for i, r := range known { // after a restart their time starts again
			r.Total.TimeLeftSeconds = nil
			restarted[i] = r
		}
		return Unplaced(after, restarted)
	case d.Places == nil || d.Places.Unplaced(d.Class) != "": // growth is not the reason
		return ""
	}
	return d.Places.Unplaced(after)
}
