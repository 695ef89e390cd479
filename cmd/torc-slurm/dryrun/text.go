package dryrun

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Run shows the preview of a specification; see Of and Show.
func Run(ctx context.Context, a *cli.Factory, loaded *spec.Result, offer *placement.Offer) error {
	p, err := Of(ctx, a, loaded, offer)
	if err != nil {
		return err
	}
	return Show(a, p)
}

// OnlySpecs returns the usage error for a dry run of something else than a specification.
func OnlySpecs(target string) error {
	return cli.UsageErrorf("--dry-run is for specifications; `torc-slurm workflows execution-plan %s` shows in which order the jobs of a workflow become ready", target)
}

// Show writes a preview, and returns an error with status 1 if jobs would fail.
func Show(a *cli.Factory, p *Preview) error {
	if err := a.ShowRecord(p, func(w io.Writer) { write(w, p) }); err != nil {
		return err
	}
	if !p.IsClean() {
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}

func write(w io.Writer, p *Preview) {
	fmt.Fprintf(w, "%s: %s in %s; nothing was created\n", cli.Printable(p.Name), plural(p.Jobs, "job", "jobs"), plural(p.Steps, "step", "steps"))
	step := 0
	for i := range p.Groups {
		g := &p.Groups[i]
		if g.Step != step {
			step = g.Step
			fmt.Fprintf(w, "\nStep %d\n", step)
		}
		writeGroup(w, g)
	}
	if !p.IsClean() {
		fmt.Fprintln(w)
	}
	for _, m := range p.MissingInputs {
		more := ""
		if m.Count > 1 {
			more = fmt.Sprintf(" and %d more", m.Count-1)
		}
		fmt.Fprintf(w, "Missing: %s, read by %s%s; no job writes it\n", cli.Printable(m.Path), cli.Printable(m.Job), more)
	}
	for _, e := range p.SyntaxErrors {
		fmt.Fprintf(w, "Syntax of %s: %s\n", cli.Printable(e.Job), cli.Printable(e.Message))
	}
	for _, g := range p.Groups {
		if g.Misfit != "" {
			fmt.Fprintf(w, "Does not fit here: %s: %s\n", cli.Printable(g.Family), g.Misfit)
		}
	}
}

func writeGroup(w io.Writer, g *Group) {
	fmt.Fprintf(w, "  %s\n", cli.Printable(jobsText(g)))
	for line := range strings.Lines(g.Command) {
		fmt.Fprintf(w, "      %s\n", cli.Printable(strings.TrimRight(line, "\n")))
	}
	if g.Command == "" {
		fmt.Fprintln(w, "      (a sub-workflow)")
	}
	fmt.Fprintf(w, "    needs %s", needsText(g))
	if g.AtATime > 0 {
		fmt.Fprintf(w, "; here %d at a time", min(g.AtATime, int64(g.Count)))
	}
	if len(g.After) > 0 {
		fmt.Fprintf(w, "; after %s", cli.Printable(strings.Join(g.After, ", ")))
	}
	fmt.Fprintln(w)
}

func needsText(g *Group) string {
	parts := []string{plural(int(g.NumCPUs), "CPU", "CPUs"), g.Memory}
	if g.NumGPUs > 0 {
		parts = append(parts, plural(int(g.NumGPUs), "GPU", "GPUs"))
	}
	if g.NumNodes > 1 {
		parts = append(parts, plural(int(g.NumNodes), "node", "nodes"))
	}
	if seconds, err := workflow.ParseRuntime(g.Runtime); err == nil {
		parts = append(parts, workflow.FormatSeconds(seconds))
	}
	return strings.Join(parts, ", ")
}
