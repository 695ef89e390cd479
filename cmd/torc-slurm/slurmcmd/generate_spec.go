package slurmcmd

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxNames is the maximum number of jobs that an action lists by name if there is a pattern
// for them.
const maxNames = 10

// schedule adds the groups to the specification.
func (g *generated) schedule(noActions bool) {
	names := make([]string, len(g.loaded.Definition.Jobs))
	for i := range names {
		names[i] = g.loaded.Definition.Jobs[i].Name
	}
	of := make([]string, len(names))
	for i := range g.groups {
		x := &g.groups[i]
		s := x.Scheduler
		nodes := s.Nodes
		g.scheduling.Schedulers = append(g.scheduling.Schedulers, &spec.SlurmScheduler{
			Name: s.Name, Account: s.Account, Nodes: &nodes, Walltime: s.Walltime, Partition: s.Partition, QOS: s.QOS, Gres: s.Gres, Mem: s.Mem, Extra: s.Extra,
		})
		for _, j := range x.Jobs {
			of[j] = s.Name
		}
		if !noActions {
			g.addActions(x, names)
		}
	}
	g.assign(of)
}

// addActions adds one action per wave.
func (g *generated) addActions(x *scheduler.Generated, names []string) {
	for _, w := range x.Waves {
		allocations := w.Allocations
		action := &spec.Action{
			TriggerType: "on_jobs_ready", ActionType: "schedule_nodes", Scheduler: x.Scheduler.Name, SchedulerType: "slurm",
			NumAllocations: &allocations, StartOneWorkerPerNode: x.WorkerPerNode,
		}
		if pattern := patternFor(names, w.Jobs); len(w.Jobs) > maxNames && pattern != "" {
			action.JobNameRegexes = []string{pattern}
		} else {
			for _, j := range w.Jobs {
				action.Jobs = append(action.Jobs, names[j])
			}
		}
		g.scheduling.Actions = append(g.scheduling.Actions, action)
	}
}

// patternFor returns a pattern that matches some of the names and no others; empty if they
// have no distinct prefix and suffix.
func patternFor(names []string, some []int) string {
	prefix, suffix := names[some[0]], names[some[0]]
	shortest := len(prefix)
	for _, i := range some[1:] {
		prefix, suffix = commonPrefix(prefix, names[i]), reverse(commonPrefix(reverse(suffix), reverse(names[i])))
		shortest = min(shortest, len(names[i]))
	}
	suffix = suffix[max(0, len(prefix)+len(suffix)-shortest):]
	prefix, suffix = strings.ToValidUTF8(prefix, ""), strings.ToValidUTF8(suffix, "") // no incomplete characters
	matching := 0
	for _, name := range names {
		if len(name) >= len(prefix)+len(suffix) && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			matching++
		}
	}
	if matching != len(some) {
		return ""
	}
	return "^" + regexp.QuoteMeta(prefix) + ".*" + regexp.QuoteMeta(suffix) + "$"
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// assign sets the scheduler of each item of the document whose jobs have the same one.
func (g *generated) assign(of []string) {
	g.scheduling.Jobs = make([]string, g.loaded.Summary.JobCountBeforeExpansion)
	for k, f := range g.loaded.Families {
		if g.loaded.Definition.Jobs[f.First].Child > 0 {
			continue // it stands for a sub-workflow, and no runner runs it
		}
		end := g.loaded.Summary.MainJobCount
		if k+1 < len(g.loaded.Families) {
			end = g.loaded.Families[k+1].First
		}
		if !slices.ContainsFunc(of[f.First:end], func(name string) bool { return name != of[f.First] }) {
			g.scheduling.Jobs[f.Item] = of[f.First]
			continue
		}
		g.warnings = append(g.warnings, fmt.Sprintf("jobs such as %s fit several schedulers and run in any of them", g.loaded.Definition.Jobs[f.First].Name))
	}
}

// showGenerated shows what would be added.
func showGenerated(a *cli.Factory, g *generated) error {
	return a.ShowRecord(struct {
		DryRun         bool                   `json:"dry_run"`
		SchedulerCount int                    `json:"scheduler_count"`
		ActionCount    int                    `json:"action_count"`
		Profile        string                 `json:"profile_name"`
		ProfileTitle   string                 `json:"profile_display_name"`
		Schedulers     []*spec.SlurmScheduler `json:"slurm_schedulers"`
		Actions        []*spec.Action         `json:"actions"`
		Warnings       []string               `json:"warnings"`
	}{
		true, len(g.scheduling.Schedulers), len(g.scheduling.Actions), g.site.Name, g.site.Title(),
		g.scheduling.Schedulers, append([]*spec.Action{}, g.scheduling.Actions...), append([]string{}, g.warnings...),
	}, func(w io.Writer) { g.write(w, "") })
}

// write writes what is added as text, with a mark before each line.
func (g *generated) write(w io.Writer, mark string) {
	fmt.Fprintf(w, "%sSummary: %s for %s, on %s\n", mark, workflow.CountOf(int64(len(g.groups)), "scheduler", "schedulers"),
		workflow.CountOf(int64(len(g.loaded.Definition.Jobs)), "job", "jobs"), g.site.Title())
	for i := range g.groups {
		x := &g.groups[i]
		fmt.Fprintf(w, "%s  %s: %s in %s of %s for %s, partition %s (%s)\n", mark, x.Scheduler.Name, workflow.CountOf(int64(len(x.Jobs)), "job", "jobs"),
			workflow.CountOf(x.Allocations(), "allocation", "allocations"), workflow.CountOf(x.Scheduler.Nodes, "node", "nodes"), x.Scheduler.Walltime, x.Partition, x.Reason)
	}
	for _, warning := range g.warnings {
		fmt.Fprintf(w, "%sWarning: %s\n", mark, warning)
	}
}
