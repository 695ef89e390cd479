package allocate

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// WriteChoices writes the sets of allocations that a plan compared, at most limit of them, or why
// there is no forecast.
func WriteChoices(w io.Writer, choices []api.AllocationChoice, noForecast string, limit int) {
	if len(choices) == 0 && noForecast != "" {
		fmt.Fprintf(w, "Planned without a forecast: %s\n", noForecast)
	}
	for _, c := range choices[:min(limit, len(choices))] {
		title := "Instead of"
		if c.Chosen {
			title = "Chosen"
		}
		writeWrapped(w, title+": "+c.Text, "    ")
		writeWrapped(w, "  "+prospects(&c), "    ")
	}
}

// maxLine is the maximum width of the lines of choices.
const maxLine = 120

// writeWrapped writes a text, with line breaks between words, and an indent for all lines
// except the first.
func writeWrapped(w io.Writer, text, indent string) {
	for cli.TextWidth(text) > maxLine {
		at := strings.LastIndex(text[:maxLine+1], " ")
		if at <= len(indent) {
			break
		}
		fmt.Fprintln(w, text[:at])
		text = indent + text[at+1:]
	}
	fmt.Fprintln(w, text)
}

// prospects returns what is expected of a choice, and why it was chosen or not.
func prospects(c *api.AllocationChoice) string {
	text := ""
	if c.Allocations > 0 {
		text = fmt.Sprintf("starts in about %s, ", inWords(c.StartSeconds))
	}
	text += fmt.Sprintf("jobs end in about %s, %.1f CPU hours, %.0f %% idle", inWords(c.CompletionSeconds), c.CPUHours, 100*c.IdleShare)
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// inWords returns a duration without seconds if it is longer than ten minutes.
func inWords(seconds int64) string {
	if d := time.Duration(seconds) * time.Second; d >= 10*time.Minute {
		seconds = int64(d.Round(time.Minute) / time.Second)
	}
	return workflow.FormatSeconds(seconds)
}
