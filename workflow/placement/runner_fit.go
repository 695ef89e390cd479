package placement

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// RunnerFacts is what a live runner has in total, and how much of it is free now.
type RunnerFacts struct {
	ID    int64
	Host  string
	Total Offer
	Free  Offer
	// AskedMS is when the allocation that the runner is in was requested; nil: it is
	// in none.
	AskedMS *int64
	Jobs    int64 // the number of jobs that it holds
	State   RunnerState
	Beside  []HostUser // the other runners on its host
}

// RunnerState is what the daemon knows of a runner but does not store.
type RunnerState struct {
	// SilentMS is how long ago its latest turn was, if the next is overdue; otherwise 0.
	SilentMS int64
	// Paused is why it starts no jobs; nil: it does.
	Paused *workflow.LaunchPause
}

// Text returns what is wrong with a runner; "" if nothing is.
func (s RunnerState) Text(nowMS int64) string {
	switch {
	case s.SilentMS > 0:
		return "silent for " + workflow.FormatSeconds(s.SilentMS/1000)
	case s.Paused != nil:
		return fmt.Sprintf("has started no jobs for %s, because Slurm does not: %s", workflow.AgoMS(s.Paused.SinceMS, nowMS), s.Paused.Reason)
	}
	return ""
}

// RunnerLines returns one line for each runner with which something is wrong.
func RunnerLines(runners []RunnerFacts, nowMS int64) []string {
	var lines []string
	for i := range runners {
		r := &runners[i]
		if text := r.State.Text(nowMS); text != "" {
			lines = append(lines, fmt.Sprintf("runner %d (%s), %s: %s", r.ID, r.Host, workflow.CountOf(r.Jobs, "job", "jobs"), text))
		}
	}
	return lines
}

// FitLevel says whether and when a runner can take a job.
type FitLevel int

// The values of FitLevel, best first.
const (
	FitsNow      FitLevel = iota
	FitsLater             // when other jobs have ended
	FitsExcluded          // it fits, but must not use the node for now
	FitsNever
)

// Fit returns whether a runner can take a job of the class now, later or never, and why.
// A runner that is not strict about schedulers takes jobs of other schedulers when it has
// none of its own.
func (r RunnerFacts) Fit(c Class) (FitLevel, string) {
	try := func(o Offer) (bool, Misfit) { // nothing is taken, so the nodes need no copy
		p := Packer{offer: o, nodes: o.Nodes, slots: o.Slots, relaxed: !o.StrictScheduler}
		return p.Fits(c)
	}
	if ok, why := try(r.Total); !ok {
		return FitsNever, why.String()
	}
	if ok, why := try(r.Free); !ok {
		return FitsLater, "busy; " + strings.Replace(why.String(), "largest node has", "most free on a node is", 1)
	}
	if len(r.Beside) > 0 && len(r.Free.Nodes) == 1 {
		beside := r.Free
		beside.Nodes = []FreeNode{leftByOthers(r.Free.Nodes[0], r.Total.Nodes[0], r.Beside)}
		if ok, _ := try(beside); !ok {
			return FitsLater, "waits: " + HostInUse(r.Host, r.Total.Nodes[0], r.Beside)
		}
	}
	return FitsNow, "fits now"
}

// Unplaced returns why a job of the class can never run on any of these runners. It
// returns "" if the job fits one of them, now or when other jobs have ended.
func Unplaced(c Class, runners []RunnerFacts) string {
	lines, best := ExplainFit(c, runners, nil)
	switch {
	case best != FitsNever:
		return ""
	case len(runners) == 0:
		return "there is no runner"
	}
	return strings.Join(lines, "; ")
}

// ExplainFit returns lines that say for each runner whether it can take the job and why
// not, with one line for all runners with the same answer, and the best level of all. The
// function excluded returns why the job must not use the node of a runner that it would
// fit, "" if it may; nil means that it may use all nodes.
func ExplainFit(c Class, runners []RunnerFacts, excluded func(*RunnerFacts) string) (lines []string, best FitLevel) {
	best = FitsNever
	hosts := make(map[string][]string)
	var order []string
	for _, r := range runners {
		level, text := r.Fit(c)
		if level != FitsNever && excluded != nil {
			if why := excluded(&r); why != "" {
				level, text = FitsExcluded, "not now: "+why
			}
		}
		best = min(best, level)
		if level == FitsNever {
			text = "never: " + text
		}
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], fmt.Sprintf("%d (%s)", r.ID, r.Host))
	}
	for _, text := range order {
		n := int64(len(hosts[text]))
		lines = append(lines, fmt.Sprintf("%s %s: %s", workflow.Plural(n, "runner", "runners"), workflow.FirstFew(hosts[text], n), text))
	}
	return lines, best
}

// Needs returns what a job of the class requires, as text.
func (c Class) Needs() string {
	parts := []string{workflow.CountOf(c.CPUs, "CPU", "CPUs"), workflow.FormatBytes(c.MemoryBytes)}
	if c.GPUs > 0 {
		parts = append(parts, workflow.CountOf(c.GPUs, "GPU", "GPUs"))
	}
	parts = append(parts, workflow.FormatSeconds(c.RuntimeSeconds))
	text := strings.Join(parts, ", ")
	if c.Nodes > 1 {
		text += fmt.Sprintf(", on %d whole nodes", c.Nodes)
	}
	if len(c.Labels) > 0 {
		text += ", labels " + workflow.JoinLabels(c.Labels)
	}
	return text
}
