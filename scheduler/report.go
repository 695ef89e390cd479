package scheduler

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Report is what a look at a workflow has come to, or would.
type Report struct {
	WorkflowID int64
	At         time.Time
	Next       time.Time // when to look again at the latest
	Ended      bool      // no job of the run will be ready any more
	// AutoSchedule: allocations will be asked for as long as jobs need them.
	AutoSchedule bool
	// LookedAfter: they are, or others of the same scheduler will be when work has
	// lost its place or is retried.
	LookedAfter bool
	Planned     []Planned
	Canceled    []Action // of kind Cancel
	Widened     []Action // of kind Widen
	Waits       []Action // of kinds Wait and Pause
	Covered     []Covered
	Asked       []workflow.Allocation // what Slurm has taken
	Refused     []Refusal             // what Slurm, or something of our own, said to the rest
}

// Refusal is why something was not asked for, or not taken.
type Refusal struct {
	// Class is slurm.Limit, slurm.Temporary, slurm.Withheld, slurm.Ambiguous, or
	// slurm.Permanent: it will be refused again until somebody changes something.
	Class slurm.Class
	Text  string
}

// refusalOf reads the class of an error: that of Slurm's no, or what our own
// means for the one who asks.
func refusalOf(err error) Refusal {
	r := Refusal{Class: slurm.ClassOf(err), Text: err.Error()}
	if r.Class == "" {
		r.Class = slurm.Temporary
		switch workflow.CodeOf(err) {
		case workflow.CodeInvalid, workflow.CodeConflict, workflow.CodeNotFound:
			r.Class = slurm.Permanent
		}
	}
	return r
}

// Planned is allocations of one kind to ask for.
type Planned struct {
	ActionID    int64 // negative: of the action that a submission would make
	Pool        string
	SchedulerID *int64
	Count       int
	Request     workflow.AllocationRequest
	Reason      string
	Probe       bool // one, to see whether the pool works again
}

// Covered is what becomes of the ready jobs of a class.
type Covered struct {
	Class workflow.Class
	Coverage
}

// Lines writes the report for people.
func (r *Report) Lines() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for i := range r.Planned {
		p := &r.Planned[i]
		if p.Request.Pool == "" {
			add("%s: %s of %s", p.Reason, countOf(int64(p.Count), "allocation"), p.Pool)
		} else {
			add("%s", p.Reason)
		}
	}
	for _, a := range r.Canceled {
		add("allocation %d is canceled: %s", a.Allocation, a.Reason)
	}
	for _, a := range r.Widened {
		add("allocation %d: %s", a.Allocation, a.Reason)
	}
	for _, no := range r.Refused {
		add("not taken: %s", no.Text)
	}
	for i := range r.Covered {
		lines = append(lines, r.Covered[i].Lines()...)
	}
	lines = append(lines, r.WaitLines()...)
	if len(lines) == 0 {
		add("nothing to ask for: no job is ready")
	}
	return lines
}

// WaitLines says why nothing is asked for in some pools.
func (r *Report) WaitLines() (lines []string) {
	for _, a := range r.Waits {
		if a.Pool != "" || a.Kind == Pause {
			lines = append(lines, fmt.Sprintf("%s: %s%s", a.Pool, a.Reason, at(a.Until)))
		}
	}
	return lines
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "; again at " + t.Format("15:04:05")
}

// Lines says where the ready jobs are going to run.
func (c *Coverage) Lines() (lines []string) {
	of := func(n int64) string {
		if n == c.Ready {
			return countOf(n, "ready job")
		}
		return fmt.Sprintf("%d of %s", n, countOf(c.Ready, "ready job"))
	}
	if c.Live > 0 {
		lines = append(lines, of(c.Live)+": room in live allocations")
	}
	if c.Pending > 0 {
		lines = append(lines, of(c.Pending)+": room in allocations that Slurm has not started yet")
	}
	if c.Asked > 0 {
		lines = append(lines, of(c.Asked)+": room in allocations that are asked for now")
	}
	if c.Uncovered > 0 {
		lines = append(lines, of(c.Uncovered)+": no allocation, "+c.Reason)
	}
	return lines
}
