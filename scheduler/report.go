package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Report is the result of a pass over a workflow, or what a pass would do.
type Report struct {
	WorkflowID int64
	At         time.Time
	Next       time.Time // the next pass, at the latest
	Ended      bool      // no job of the run will become ready
	// AutoSchedule: allocations will be requested as long as jobs need them.
	AutoSchedule bool
	// RequestsMore: they will, or replacements of the same scheduler will be when jobs
	// lose their place or are retried.
	RequestsMore bool
	Planned      []Planned
	Canceled     []Action // of kind Cancel
	Widened      []Action // of kind Widen
	Shortened    []Action // of kind Shorten
	Waits        []Action // of kinds Wait and Pause
	Covered      []Covered
	// Choices are the sets of allocations that were compared, the chosen ones first; NoForecast
	// is why there are none.
	Choices    []Choice
	NoForecast string
	Asked      []compute.Allocation // accepted by Slurm
	Refused    []Refusal            // refused by Slurm, or not requested because of an error
}

// Refusal is why an allocation was not requested, or not accepted.
type Refusal struct {
	// Class is slurm.Limit, slurm.Temporary, slurm.Withheld, slurm.Ambiguous, or
	// slurm.Permanent: it will be refused again until somebody changes something.
	Class slurm.Class
	Text  string
}

// refusalOf returns the refusal of an error: with the class of Slurm's refusal, or the
// class that corresponds to an error of our own.
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

// Planned are allocations of one kind to request.
type Planned struct {
	ActionID    int64 // negative: of the action that a submission would create
	Pool        string
	SchedulerID *int64
	Count       int
	Request     compute.AllocationRequest
	Reason      string
	Probe       bool // one, to test whether the pool works again
}

// Covered says where the ready jobs of a class can run.
type Covered struct {
	Class placement.Class
	Coverage
}

// Lines returns the report for people.
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
	for _, a := range slices.Concat(r.Widened, r.Shortened) {
		add("allocation %d: %s", a.Allocation, a.Reason)
	}
	for _, no := range r.Refused {
		add("refused: %s", no.Text)
	}
	for i := range r.Covered {
		lines = append(lines, r.Covered[i].Lines()...)
	}
	lines = append(lines, r.WaitLines()...)
	if len(lines) == 0 {
		add("nothing to request: no job is ready")
	}
	return lines
}

// WaitLines returns why nothing is requested in some pools.
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

// Lines returns where the ready jobs can run.
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
		lines = append(lines, of(c.Asked)+": room in allocations that are requested now")
	}
	if c.Uncovered > 0 {
		lines = append(lines, of(c.Uncovered)+": no allocation, "+c.Reason)
	}
	return lines
}
