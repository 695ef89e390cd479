package allocate

import (
	"fmt"
	"io"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
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
		fmt.Fprintf(w, "%s: %s\n  %s\n", title, c.Text, prospects(&c))
	}
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
