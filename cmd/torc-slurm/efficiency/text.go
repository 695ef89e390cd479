package efficiency

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// resource is one of the resources that are compared.
type resource struct {
	name string
	of   func(*usage.FamilyUse) usage.Spread
	text func(float64) string
}

var resources = [...]resource{
	{"CPUs", func(f *usage.FamilyUse) usage.Spread { return f.CPUs }, func(v float64) string { return number(math.Round(v*10) / 10) }},
	{"Memory", func(f *usage.FamilyUse) usage.Spread { return f.Memory }, func(v float64) string { return workflow.FormatBytes(int64(v)) }},
	{"Runtime", func(f *usage.FamilyUse) usage.Spread { return f.Runtime }, func(v float64) string { return workflow.FormatSeconds(int64(math.Ceil(v))) }},
}

// write writes the efficiency of a workflow as text.
func write(w io.Writer, e *api.Efficiency) {
	if len(e.Families) == 0 {
		fmt.Fprintf(w, "No attempt of workflow %d has ended\n", e.WorkflowID)
	}
	for i := range e.Families {
		writeFamily(w, &e.Families[i])
	}
	if len(e.Families) > 0 {
		fmt.Fprintf(w, "Core-hours: %s requested by all attempts, %s by those that completed%s\n", hours(e.CoreSeconds), hours(e.UsefulCoreSeconds), wasted("; wasted: ", e.Wasted))
	}
	if e.CPUShare != nil {
		fmt.Fprintf(w, "CPU time: %s of what was requested was used, where it was measured\n", percent(*e.CPUShare))
	}
	if t := e.Allocations; t != nil {
		fmt.Fprintf(w, "Allocations: %s core-hours, %s of them requested by no job\n", hours(float64(t.CoreSeconds)), percent(t.IdleShare))
	}
	writeSuggested(w, e)
}

func writeFamily(w io.Writer, f *usage.FamilyUse) {
	fmt.Fprintf(w, "%s: %s, %s, %s core-hours\n", cli.Printable(f.Family), workflow.CountOf(f.Jobs, "job", "jobs"), workflow.CountOf(f.Attempts, "attempt", "attempts"), hours(f.CoreSeconds))
	for _, r := range resources {
		s := r.of(f)
		switch {
		case s.Measured == 0:
			fmt.Fprintf(w, "  %-8s %10s requested, not measured\n", r.name, r.text(s.Requested))
		default:
			fmt.Fprintf(w, "  %-8s %10s requested  %s %5s  p50 %s, p95 %s, peak %s\n", r.name, r.text(s.Requested), bar(s.Share()), percent(s.Share()), r.text(s.P50), r.text(s.P95), r.text(s.Peak))
		}
	}
	if f.GPUs > 0 {
		fmt.Fprintf(w, "  %-8s %10d requested, not measured\n", "GPUs", f.GPUs)
	}
	if len(f.Wasted) > 0 {
		fmt.Fprintf(w, "  Wasted   %s core-hours%s\n", hours(wastedCoreSeconds(f.Wasted)), wasted(": ", f.Wasted))
	}
	fmt.Fprintln(w)
}

// wasted names core-hours by cause, after a text; empty if nothing was wasted.
func wasted(text string, all []usage.Waste) string {
	var parts []string
	for _, w := range all {
		parts = append(parts, fmt.Sprintf("%s in %s of %s", hours(w.CoreSeconds), workflow.CountOf(w.Attempts, "attempt", "attempts"), w.Cause))
	}
	if len(parts) == 0 {
		return ""
	}
	return text + strings.Join(parts, ", ")
}

func writeSuggested(w io.Writer, e *api.Efficiency) {
	if len(e.Suggested) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSuggested (`torc-slurm eff %d --apply` changes the workflow; for a specification):\n\nresource_requirements:\n", e.WorkflowID)
	for _, s := range e.Suggested {
		text := fmt.Sprintf("  - {name: %s, num_cpus: %d", yamlName(s.Name), s.NumCPUs)
		if s.NumGPUs > 0 {
			text += fmt.Sprintf(", num_gpus: %d", s.NumGPUs)
		}
		if s.NumNodes > 1 {
			text += fmt.Sprintf(", num_nodes: %d", s.NumNodes)
		}
		fmt.Fprintf(w, "%s, memory: %s, runtime: %s}\n", text, s.Memory, s.Runtime)
		for _, reason := range s.Reasons {
			fmt.Fprintf(w, "    # %s\n", cli.Printable(reason))
		}
	}
}

// yamlName quotes a name where YAML could read it as something else.
func yamlName(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r == '_' || r == '-' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}) < 0 && (s[0] < '0' || s[0] > '9') && s[0] != '-'
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	return fmt.Sprintf("%q", s)
}

func writeCorrections(w io.Writer, r *api.CorrectionReport) {
	if len(r.Adjustments) == 0 {
		fmt.Fprintln(w, "The requirements fit what the jobs used: nothing was changed")
	}
	for _, c := range r.Adjustments {
		fmt.Fprintf(w, "%s: %s %s instead of %s: %s\n", cli.Printable(c.ResourceRequirementsName), c.Resource, c.New, c.Old, cli.Printable(c.Reason))
	}
}

const barWidth = 10

// bar draws a share; what exceeds the whole is not drawn.
func bar(share float64) string {
	n := int(math.Round(min(max(share, 0), 1) * barWidth))
	return strings.Repeat("█", n) + strings.Repeat("░", barWidth-n)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func hours(seconds float64) string {
	switch h := seconds / 3600; {
	case h == 0:
		return "0"
	case h < 0.01:
		return "< 0.01"
	case h < 10:
		return fmt.Sprintf("%.2f", h)
	default:
		return fmt.Sprintf("%.1f", h)
	}
}
