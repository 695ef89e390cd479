// Package graphcmd has the command that draws which jobs wait for which.
package graphcmd

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// formats are the forms of a drawing.
var formats = map[string]func(io.Writer, *drawing){"text": writeText, "dot": writeDot, "mermaid": writeMermaid, "svg": writeSVG}

// New returns the command graph.
func New(a *cli.Factory) *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "graph SPEC|WORKFLOW",
		Short: "Draw which jobs wait for which",
		Long: `Draw which jobs of a specification or a workflow wait for which. Jobs whose names differ only
in numbers, and that are equally far from the start, are one node, with their number. For
a workflow, the nodes show how many of their jobs have which status.

The forms are text, dot (Graphviz), mermaid (Markdown) and svg. -f json has the same as
lists.`,
		GroupID: cli.GroupAnalysis,
		Example: `  torc-slurm graph sweep.yaml
  torc-slurm graph 12 --as svg > graph.svg
  torc-slurm graph 12 --as dot | dot -Tpdf > graph.pdf`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteSpecOrWorkflow,
		Annotations:       cli.ServerExits(cli.ExitInvalidSpec),
	}
	cmd.Flags().StringVar(&as, "as", "text", "the `FORM`: text, dot, mermaid or svg")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		draw, ok := formats[as]
		if !ok {
			return cli.UsageErrorf("--as %q: use text, dot, mermaid or svg", as)
		}
		d, err := drawingOf(cmd.Context(), a, args[0])
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.WriteJSON(d)
		}
		out := bufio.NewWriter(a.Stdout)
		draw(out, d)
		return out.Flush()
	}
	return cmd
}

// drawing is a graph that is collapsed to families of jobs.
type drawing struct {
	Name   string `json:"name"`
	Jobs   int    `json:"jobs"`
	Levels int32  `json:"levels"`
	Nodes  []node `json:"nodes"`
}

// node are jobs of one family.
type node struct {
	Family string  `json:"family"`
	First  string  `json:"first"` // a job
	Count  int     `json:"count"`
	Level  int32   `json:"level"` // from 0
	After  []int32 `json:"after"` // indexes of nodes
	// Statuses counts the jobs by status; absent for a specification.
	Statuses map[workflow.JobStatus]int `json:"statuses,omitempty"`
}

// label is the name of the node, with the number of its jobs.
func (n *node) label() string {
	if n.Count == 1 {
		return n.First
	}
	return n.Family + " (" + workflow.CountOf(int64(n.Count), "job", "jobs") + ")"
}

func drawingOf(ctx context.Context, a *cli.Factory, ref string) (*drawing, error) {
	if specfile.IsSpec(a, ref) {
		loaded, err := specfile.Load(a, ref, specfile.Flags{SkipChecks: true})
		if err != nil {
			return nil, err
		}
		d := loaded.Definition
		names := make([]string, len(d.Jobs))
		for i := range d.Jobs {
			names[i] = d.Jobs[i].Name
		}
		deps := graph.Dependencies(d)
		return newDrawing(d.Name, names, func(i int) []int32 { return deps[i] }, nil), nil
	}
	id, err := cli.ParseID("workflow", ref)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeNotFound, "%q is neither a file nor the id of a workflow", ref)
	}
	return drawingOfWorkflow(ctx, a, id)
}

func drawingOfWorkflow(ctx context.Context, a *cli.Factory, id int64) (*drawing, error) {
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w, err := c.Workflows.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	var names []string
	var statuses []workflow.JobStatus
	index := map[int64]int32{}
	for j, err := range c.Jobs.List(ctx, client.JobFilter{WorkflowID: id}) {
		if err != nil {
			return nil, err
		}
		index[*j.ID] = int32(len(names))
		names, statuses = append(names, j.Name), append(statuses, *j.Status)
	}
	deps := make([][]int32, len(names))
	for d, err := range c.Jobs.Dependencies(ctx, id, client.Page{}) {
		if err != nil {
			return nil, err
		}
		job, known := index[d.JobID]
		on, also := index[d.DependsOnJobID]
		if known && also { // both were there when the jobs were listed
			deps[job] = append(deps[job], on)
		}
	}
	return newDrawing(w.Name, names, func(i int) []int32 { return deps[i] }, statuses), nil
}

// newDrawing collapses jobs to families; statuses are those of the jobs, or nil.
func newDrawing(name string, jobs []string, deps graph.Deps, statuses []workflow.JobStatus) *drawing {
	families := make([]string, len(jobs))
	for i, job := range jobs {
		families[i] = usage.FamilyOf(job)
	}
	d := &drawing{Name: name, Jobs: len(jobs), Nodes: []node{}}
	for _, f := range graph.Collapse(families, deps) {
		n := node{Family: f.Name, First: jobs[f.Members[0]], Count: len(f.Members), Level: f.Level, After: slices.Concat([]int32{}, f.After)}
		if statuses != nil {
			n.Statuses = map[workflow.JobStatus]int{}
			for _, i := range f.Members {
				n.Statuses[statuses[i]]++
			}
		}
		d.Nodes = append(d.Nodes, n)
		d.Levels = max(d.Levels, f.Level+1)
	}
	return d
}

// counts names the statuses of a node; empty for a specification.
func (n *node) counts() string {
	var parts []string
	for _, s := range n.order() {
		if n.Count == 1 {
			return s.String()
		}
		parts = append(parts, workflow.CountOf(int64(n.Statuses[s]), s.String(), s.String()))
	}
	return strings.Join(parts, ", ")
}

// order returns the statuses that jobs of the node have, the furthest first.
func (n *node) order() (all []workflow.JobStatus) {
	for _, s := range drawn {
		if n.Statuses[s.status] > 0 {
			all = append(all, s.status)
		}
	}
	return all
}

// drawn are the statuses in the order of bars, with their colors.
var drawn = []struct {
	status workflow.JobStatus
	color  string
}{
	{workflow.Completed, "#2e9e5b"}, {workflow.Running, "#2f6fde"}, {workflow.Pending, "#7aa7f0"}, {workflow.Ready, "#e0b02e"},
	{workflow.Failed, "#d23b3b"}, {workflow.Terminated, "#a33030"}, {workflow.PendingFailed, "#e07b2e"}, {workflow.Canceled, "#8d6a9f"},
	{workflow.Blocked, "#b9bec6"}, {workflow.Uninitialized, "#dde0e5"}, {workflow.Disabled, "#eceef1"},
}

// color returns the color of most of the node's jobs; white for a specification.
func (n *node) color() string {
	most, color := 0, "#ffffff"
	for _, s := range drawn {
		if k := n.Statuses[s.status]; k > most {
			most, color = k, s.color
		}
	}
	if n.Statuses[workflow.Failed] > 0 { // what needs a look is visible at once
		return "#d23b3b"
	}
	return color
}
