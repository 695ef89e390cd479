package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// attemptLines returns lines about the attempts, oldest first. Of a long history
// it shows the first two and the last eight.
func (f JobFacts) attemptLines() []string {
	const head, tail = 2, 8
	severalRuns := slices.ContainsFunc(f.Attempts, func(a workflow.Attempt) bool { return a.RunID != f.Attempts[0].RunID })
	var lines []string
	for i := range f.Attempts {
		hidden := len(f.Attempts) - head - tail
		if hidden > 0 && i >= head && i < head+hidden {
			if i == head {
				lines = append(lines, fmt.Sprintf("(%d more)", hidden))
			}
			continue
		}
		a := &f.Attempts[i]
		line := attemptLine(a, f.NowMS)
		if severalRuns {
			line = fmt.Sprintf("run %d, attempt %s", a.RunID, line)
		}
		lines = append(append(lines, line), attemptOutputLines(a)...)
	}
	return lines
}

// attemptLine describes one attempt: "1 on node7, 12s, peak 3.10 GiB: failed, exit
// code 10 -> retry: rule 1 of ...".
func attemptLine(a *workflow.Attempt, nowMS int64) string {
	text := fmt.Sprint(a.AttemptID)
	if a.Node != "" {
		text += " on " + a.Node
	}
	if a.EndedMS == nil {
		if a.StartedMS == nil {
			return text + ": claimed"
		}
		return text + ": running for " + workflow.AgoMS(*a.StartedMS, nowMS)
	}
	if a.StartedMS != nil {
		text += ", " + workflow.AgoMS(*a.StartedMS, *a.EndedMS)
	}
	if a.Evidence.PeakMemoryBytes > 0 && a.Cause.Kind != workflow.CauseOOM { // the text of an OOM already has the peak
		text += ", peak " + workflow.FormatBytes(a.Evidence.PeakMemoryBytes)
	}
	text += ": " + workflow.JoinText(a.Status.String(), a.Cause.Summary())
	if a.Decision.Action != "" && a.Decision.Action != workflow.ActionNone {
		text += fmt.Sprintf(" -> %s: %s", a.Decision.Action, a.Decision.Reason)
	}
	return text
}

// attemptOutputLines returns what an unsuccessful attempt wrote last, its failure
// category, and the result of its recovery script. It returns nil for other attempts.
func attemptOutputLines(a *workflow.Attempt) []string {
	if !a.Status.IsUnsuccessful() {
		return nil
	}
	var lines []string
	if e := &a.Evidence; e.Category != "" {
		line := "  category " + e.FullCategory()
		if e.CategoryLine != "" {
			line += ", matched: " + e.CategoryLine
		}
		if lines = append(lines, line); e.CategoryHint != "" {
			lines = append(lines, "  hint: "+e.CategoryHint)
		}
	}
	if last := lastLine(a.Evidence.TerminationMessage); last != "" {
		lines = append(lines, "  its message: "+last)
	}
	if last := lastLine(a.Evidence.StderrTail); last != "" {
		lines = append(lines, "  stderr ends: "+last)
	}
	if s := a.Recovery; s != nil {
		lines = append(lines, fmt.Sprintf("  its recovery script: %s -> %s: %s", s.Cause.Summary(), s.Decision.Action, s.Decision.Reason))
	}
	return lines
}

// lastLine returns the last line of a text that is not blank, shortened.
func lastLine(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "?"))
	return workflow.ShortLine(text[strings.LastIndexByte(text, '\n')+1:])
}
