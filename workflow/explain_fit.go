package workflow

import (
	"fmt"
	"strings"
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
	Paused *LaunchPause
}

// LaunchPause is why and since when a runner starts no jobs, though it has some:
// Slurm starts no steps for it.
type LaunchPause struct {
	Reason  string `json:"reason"`
	SinceMS int64  `json:"since_ms"`
}

// text says what is the matter with a runner; empty if nothing is.
func (s RunnerState) text(nowMS int64) string {
	switch {
	case s.SilentMS > 0:
		return "silent for " + FormatSeconds(s.SilentMS/1000)
	case s.Paused != nil:
		return fmt.Sprintf("starts no jobs for %s, until Slurm does: %s", agoMS(s.Paused.SinceMS, nowMS), s.Paused.Reason)
	}
	return ""
}

// runnerLines names the runners with which something is the matter.
func runnerLines(runners []RunnerFacts, nowMS int64) []string {
	var lines []string
	for i := range runners {
		r := &runners[i]
		if text := r.State.text(nowMS); text != "" {
			lines = append(lines, fmt.Sprintf("runner %d (%s), %s: %s", r.ID, r.Host, CountOf(r.Jobs, "job", "jobs"), text))
		}
	}
	return lines
}

// fitLevel says how far a job is from a runner.
type fitLevel int

const (
	fitsNow fitLevel = iota
	fitsLater
	fitsKept // it would fit, but is kept from the node for now
	fitsNever
)

// fit says whether a runner can take a job of the class now, when others have
// ended, or never. A runner that is not strict takes jobs of other schedulers
// when it has none of its own.
func (r RunnerFacts) fit(c Class) (fitLevel, string) {
	try := func(o Offer) (bool, Misfit) { // nothing is taken, so that the nodes need no copy
		p := Packer{offer: o, nodes: o.Nodes, slots: o.Slots, relaxed: !o.StrictScheduler}
		return p.Fits(c)
	}
	if ok, why := try(r.Total); !ok {
		return fitsNever, why.String()
	}
	if ok, why := try(r.Free); !ok {
		return fitsLater, "busy; " + strings.Replace(why.String(), "largest node has", "most free on a node is", 1)
	}
	if len(r.Beside) > 0 && len(r.Free.Nodes) == 1 {
		beside := r.Free
		beside.Nodes = []OfferNode{besideOthers(r.Free.Nodes[0], r.Total.Nodes[0], r.Beside)}
		if ok, _ := try(beside); !ok {
			return fitsLater, "waits: " + HostInUse(r.Host, r.Total.Nodes[0], r.Beside)
		}
	}
	return fitsNow, "fits now"
}

// Unplaced says why a job of the class never fits any of some runners; empty if
// it fits one of them, perhaps when others have ended.
func Unplaced(c Class, runners []RunnerFacts) string {
	lines, best := explainFit(c, runners, nil)
	switch {
	case best != fitsNever:
		return ""
	case len(runners) == 0:
		return "there is no runner"
	}
	return strings.Join(lines, "; ")
}

// explainFit lists what keeps the job from each runner, runners with the same
// answer in one line, and the best level of all. A function says what keeps the job
// from the node of a runner that it would fit, empty if nothing does; nil: nothing.
func explainFit(c Class, runners []RunnerFacts, kept func(*RunnerFacts) string) (lines []string, best fitLevel) {
	best = fitsNever
	hosts := make(map[string][]string)
	var order []string
	for _, r := range runners {
		level, text := r.fit(c)
		if level != fitsNever && kept != nil {
			if why := kept(&r); why != "" {
				level, text = fitsKept, "not now: "+why
			}
		}
		best = min(best, level)
		if level == fitsNever {
			text = "never: " + text
		}
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], fmt.Sprintf("%d (%s)", r.ID, r.Host))
	}
	for _, text := range order {
		n := int64(len(hosts[text]))
		lines = append(lines, fmt.Sprintf("%s %s: %s", plural(n, "runner", "runners"), firstFew(hosts[text], n), text))
	}
	return lines, best
}

// needs writes what a job of the class asks for.
func (c Class) needs() string {
	parts := []string{CountOf(c.CPUs, "CPU", "CPUs"), FormatBytes(c.MemoryBytes)}
	if c.GPUs > 0 {
		parts = append(parts, CountOf(c.GPUs, "GPU", "GPUs"))
	}
	parts = append(parts, FormatSeconds(c.RuntimeSeconds))
	text := strings.Join(parts, ", ")
	if c.Nodes > 1 {
		text += fmt.Sprintf(", on %d whole nodes", c.Nodes)
	}
	if len(c.Labels) > 0 {
		text += ", labels " + JoinLabels(c.Labels)
	}
	return text
}
