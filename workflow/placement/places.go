package placement

import "github.com/torc-slurm/torc-slurm/workflow"

// Places is where allocations for the jobs of a workflow can be asked for, as it was
// known at one moment. It is a value: it never changes, waits for nothing and asks
// nobody, so that decisions may rest on it (docs/adr/0013).
type Places interface {
	// Unplaced says why no allocation could take a job of a class; empty if one could,
	// or nobody knows.
	Unplaced(c Class) string
	// Elsewhere reports whether allocations without a node are asked for, for jobs of a
	// class that avoid it.
	Elsewhere(c Class, node string) bool
}

// JobDemand is what a job asks for, and where it could have more.
type JobDemand struct {
	Requirements workflow.ResourceRequirements
	Class        Class         // of jobs that ask so
	Runners      []RunnerFacts // the live ones of its workflow
	// ByHand says that its runner is one that somebody has started outside of
	// allocations, and that nobody asks for allocations.
	ByHand bool
	Places Places // nil: nobody knows
}

// Outgrown says why the job has no place any more if it asks for so much more memory
// or time: no live runner is large enough, and no allocation that could be asked for.
// Empty if there is a place, or nobody knows, or there was none before.
func (d *JobDemand) Outgrown(grown workflow.ResourceRequirements) string {
	after := d.Class
	var err error
	if after.MemoryBytes, err = workflow.ParseMemory(grown.Memory); err == nil {
		after.RuntimeSeconds, err = workflow.ParseRuntime(grown.Runtime)
	}
	switch {
	case err != nil:
		return err.Error()
	case Unplaced(after, d.Runners) == "":
		return ""
	case d.ByHand && len(d.Runners) == 0: // of a held job: the next one may be anything
		return ""
	case d.ByHand:
		rested := make([]RunnerFacts, len(d.Runners))
		for i, r := range d.Runners { // started again they have time again
			r.Total.TimeLeftSeconds = nil
			rested[i] = r
		}
		return Unplaced(after, rested)
	case d.Places == nil || d.Places.Unplaced(d.Class) != "": // not for its growth
		return ""
	}
	return d.Places.Unplaced(after)
}
