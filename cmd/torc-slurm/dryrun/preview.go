// Package dryrun shows what the jobs of a specification would do, without creating a workflow.
package dryrun

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// Preview is what a specification would do.
type Preview struct {
	Name          string         `json:"name"`
	Jobs          int            `json:"jobs"`
	Steps         int            `json:"steps"`
	Groups        []Group        `json:"groups"` // in the order in which their jobs become ready
	MissingInputs []MissingInput `json:"missing_inputs"`
	SyntaxErrors  []SyntaxError  `json:"syntax_errors"`
}

// Group are jobs of one item of the specification that become ready in the same step.
type Group struct {
	Step     int      `json:"step"` // from 1
	Family   string   `json:"family"`
	Count    int      `json:"count"`
	First    string   `json:"first"`
	Last     string   `json:"last"`
	Command  string   `json:"command"` // of the first job
	After    []string `json:"after"`   // families that it waits for
	NumCPUs  int64    `json:"num_cpus"`
	Memory   string   `json:"memory"`
	Runtime  string   `json:"runtime"`
	NumGPUs  int64    `json:"num_gpus,omitempty"`
	NumNodes int64    `json:"num_nodes,omitempty"`
	// AtATime is how many of the jobs run here at a time; Misfit is why none does. Both are empty where
	// that is not known.
	AtATime int64  `json:"at_a_time,omitempty"`
	Misfit  string `json:"misfit,omitempty"`
}

// MissingInput is a file that jobs read, that does not exist, and that no job writes.
type MissingInput struct {
	Path  string `json:"path"`
	Job   string `json:"job"` // the first that reads it
	Count int    `json:"count"`
}

// IsClean reports whether nothing was found that would make jobs fail.
func (p *Preview) IsClean() bool {
	return len(p.MissingInputs)+len(p.SyntaxErrors) == 0 && !slices.ContainsFunc(p.Groups, func(g Group) bool { return g.Misfit != "" })
}

// Of returns the preview of a specification. Offer is what this machine has for jobs; nil if they
// run elsewhere. Commands are checked by bash, which does not run them.
func Of(ctx context.Context, a *cli.Factory, loaded *spec.Result, offer *placement.Offer) (*Preview, error) {
	d := loaded.Definition
	p := &Preview{Name: d.Name, Jobs: len(d.Jobs), MissingInputs: missingInputs(a, d)}
	p.group(loaded, offer)
	var err error
	p.SyntaxErrors, err = syntaxErrors(ctx, a, loaded)
	return p, err
}

// group groups the jobs by step and item.
func (p *Preview) group(loaded *spec.Result, offer *placement.Offer) {
	d := loaded.Definition
	deps := graph.Dependencies(d)
	work := scheduler.WorkOf(d)
	item := itemsOf(loaded)
	index := map[[2]int32]int{}
	names := make([]string, len(d.Jobs)) // of the family of each job
	sizes := map[int32]int{}
	for i := range d.Jobs {
		sizes[item[i]]++
	}
	for i := range d.Jobs {
		if names[i] = d.Jobs[i].Name; sizes[item[i]] > 1 {
			names[i] = usage.FamilyOf(d.Jobs[i].Name)
		}
	}
	for i := range d.Jobs {
		j := &d.Jobs[i]
		key := [2]int32{work[i].Level, item[i]}
		at, known := index[key]
		if !known {
			at = len(p.Groups)
			index[key] = at
			rr := work[i].Requirements
			g := Group{
				Step: int(work[i].Level) + 1, Family: names[i], First: j.Name, Command: j.Command, After: []string{},
				NumCPUs: rr.NumCPUs, Memory: rr.Memory, Runtime: rr.Runtime, NumGPUs: rr.NumGPUs, NumNodes: rr.NumNodes,
			}
			if offer != nil {
				g.AtATime, g.Misfit = fit(offer, rr, j.Labels)
			}
			p.Groups = append(p.Groups, g)
			p.Steps = max(p.Steps, g.Step)
		}
		g := &p.Groups[at]
		g.Count++
		g.Last = j.Name
		for _, dep := range deps[i] {
			if name := names[dep]; len(g.After) < maxAfter && !slices.Contains(g.After, name) {
				g.After = append(g.After, name)
			}
		}
	}
	slices.SortStableFunc(p.Groups, func(a, b Group) int { return a.Step - b.Step })
}

// maxAfter is how many families are named that jobs wait for.
const maxAfter = 20

// itemsOf returns the item of the specification for each job.
func itemsOf(loaded *spec.Result) []int32 {
	item := make([]int32, len(loaded.Definition.Jobs))
	for i := range item {
		item[i] = int32(-i - 1) // of no item, such as a job of a sub-workflow
	}
	for n, f := range loaded.Families {
		end := len(item)
		if n+1 < len(loaded.Families) {
			end = loaded.Families[n+1].First
		}
		for i := f.First; i < end; i++ {
			item[i] = int32(f.Item)
		}
	}
	return item
}

// fit returns how many jobs with such requirements run on this machine at a time, or why none does.
func fit(o *placement.Offer, rr workflow.ResourceRequirements, labels []string) (n int64, misfit string) {
	memory, err := workflow.ParseMemory(rr.Memory)
	if err != nil {
		return 0, ""
	}
	runtime, err := workflow.ParseRuntime(rr.Runtime)
	if err != nil {
		return 0, ""
	}
	class := placement.Class{CPUs: rr.NumCPUs, GPUs: rr.NumGPUs, MemoryBytes: memory, Nodes: rr.NumNodes, RuntimeSeconds: runtime, Labels: labels}
	if fits, why := placement.NewPacker(*o).Fits(class); !fits {
		return 0, why.String()
	}
	if o.IgnoreResources {
		return o.Slots, ""
	}
	n = o.Nodes[0].CPUs / max(class.CPUs, 1)
	if memory > 0 {
		n = min(n, o.Nodes[0].MemoryBytes/memory)
	}
	if class.GPUs > 0 {
		n = min(n, o.Nodes[0].GPUs/class.GPUs)
	}
	return max(n, 1), ""
}

// missingInputs returns the files that have to exist and do not.
func missingInputs(a *cli.Factory, d *workflow.Definition) []MissingInput {
	all := []MissingInput{}
	place := map[string]int{}
	for _, path := range d.RequiredInputs() {
		if !cli.Exists(a, path) {
			place[path] = len(all)
			all = append(all, MissingInput{Path: path})
		}
	}
	for i := range d.Jobs {
		for _, f := range d.Jobs[i].InputFiles {
			at, missing := place[d.Files[f].Path]
			if !missing {
				continue
			}
			if m := &all[at]; m.Count == 0 {
				m.Job = d.Jobs[i].Name
			}
			all[at].Count++
		}
	}
	return all
}

func plural(n int, one, many string) string { return workflow.CountOf(int64(n), one, many) }

func jobsText(g *Group) string {
	if g.Count == 1 {
		return g.First
	}
	return fmt.Sprintf("%s: %s, %s … %s", g.Family, plural(g.Count, "job", "jobs"), g.First, g.Last)
}
