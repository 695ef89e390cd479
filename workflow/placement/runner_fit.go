package placement

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// RunnerFacts is what a live runner has in all and what of it is free now.
type RunnerFacts struct {
	ID    int64
	Host  string
	Total Offer
	Free  Offer
	// AskedMS is when the allocation was asked for that the runner is in; nil:
	// it is in none.
	AskedMS *int64
	Jobs    int64 // that it holds
	State   RunnerState
	Beside  []HostUser // other runners, with which it shares its host
}

// RunnerState is what only the daemon's memory knows of a runner.
type RunnerState struct {
	// SilentMS is how long ago its latest turn was, if it is overdue; else 0.
	SilentMS int64
	// Paused is why it starts no jobs; nil: it does.
	Paused *workflow.LaunchPause
}

// Text says what is the matter with a runner; empty if nothing is.
func (s RunnerState) Text(nowMS int64) string {
	switch {
	case s.SilentMS > 0:
		return "silent for " + workflow.FormatSeconds(s.SilentMS/1000)
	case s.Paused != nil:
		return fmt.Sprintf("starts no jobs for %s, until Slurm does: %s", workflow.AgoMS(s.Paused.SinceMS, nowMS), s.Paused.Reason)
	}
	return ""
}

// RunnerLines names the runners with which something is the matter.
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

// FitLevel says how far a job is from a runner.
type FitLevel int

// How far a job is from a runner, the nearest first.
const (
	FitsNow FitLevel = iota
	FitsLater
	FitsKept // it would fit, but is kept from the node for now
	FitsNever
)

// Fit says whether a runner can take a job of the class now, when others have
// ended, or never. A runner that is not strict takes jobs of other schedulers
// when it has none of its own.
func (r RunnerFacts) Fit(c Class) (FitLevel, string) {
	try := func(o Offer) (bool, Misfit) { // nothing is taken, so that the nodes need no copy
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
		beside.Nodes = []FreeNode{besideOthers(r.Free.Nodes[0], r.Total.Nodes[0], r.Beside)}
		if ok, _ := try(beside); !ok {
			return FitsLater, "waits: " + HostInUse(r.Host, r.Total.Nodes[0], r.Beside)
		}
	}
	return FitsNow, "fits now"
}

// Unplaced says why a job of the class never fits any of some runners; empty if
// it fits one of them, perhaps when others have ended.
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

// ExplainFit lists what keeps the job from each runner, runners with the same
// answer in one line, and the best level of all. A function says what keeps the job
// from the node of a runner that it would fit, empty if nothing does; nil: nothing.
func ExplainFit(c Class, runners []RunnerFacts, kept func(*RunnerFacts) string) (lines []string, best FitLevel) {
	best = FitsNever
	hosts := make(map[string][]string)
	var order []string
	for _, r := range runners {
		level, text := r.Fit(c)
		if level != FitsNever && kept != nil {
			if why := kept(&r); why != "" {
				level, text = FitsKept, "not now: "+why
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

// Needs writes what a job of the class asks for.
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
