package run

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// progressView is the state of a running workflow at one time.
type progressView struct {
	WorkflowID int64
	Name       string
	Elapsed    time.Duration
	Total      int64
	Counts     api.JobCounts
	Rate       float64              // attempts that ended, per second
	Stages     []stage.StageSummary // the first few that run
	Running    []runningView
	Trouble    []trouble // oldest first
	Retries    int64
	Message    string
}

type runningView struct {
	Name string
	For  time.Duration
}

// runningStages is how many stages are shown at a time.
const runningStages = 3

// shownTroubles is how many attempts without success are shown at a time.
const shownTroubles = 3

// palette has the escape sequences of the display; those of plain are empty.
type palette struct{ done, bad, active, dim, reset string }

var (
	plain  = palette{}
	colors = palette{done: "\x1b[32m", bad: "\x1b[31m", active: "\x1b[36m", dim: "\x1b[2m", reset: "\x1b[0m"}
)

// lines returns the view as lines for a terminal; none is longer than the width.
func (v progressView) lines(width int, p palette) []string {
	width = max(width, 40)
	title := cli.Cut(fmt.Sprintf("%s (workflow %d)", cli.Printable(v.Name), v.WorkflowID), width-10)
	clock := cli.ClockTime(v.Elapsed)
	lines := []string{
		title + strings.Repeat(" ", max(1, width-cli.TextWidth(title)-len(clock))) + p.dim + clock + p.reset,
		v.bar(width, p),
		cli.Cut(v.numbers(), width),
	}
	if text := v.runningLine(); text != "" {
		lines = append(lines, p.active+cli.Cut(text, width)+p.reset)
	}
	for _, s := range v.Stages {
		lines = append(lines, cli.Cut(cli.Printable(s.Line()), width))
	}
	for _, t := range v.Trouble[max(0, len(v.Trouble)-shownTroubles):] {
		lines = append(lines, p.bad+cli.Cut(t.line(), width)+p.reset)
	}
	if v.Message != "" {
		lines = append(lines, cli.Cut(cli.Printable(v.Message), width))
	}
	return lines
}

// bar returns a bar with the shares of the jobs that completed, ended without success, run and
// are left.
func (v progressView) bar(width int, p palette) string {
	done := v.Counts.Complete()
	tail := fmt.Sprintf(" %d/%d", done, v.Total)
	room := min(width-len(tail)-2, 60)
	bad := v.Counts.Failed + v.Counts.Terminated + v.Counts.Canceled
	live := v.Counts.Running + v.Counts.Pending
	widths := share(room, v.Total, done-bad, bad, live)
	rest := room - widths[0] - widths[1] - widths[2]
	return "[" + p.done + strings.Repeat("█", widths[0]) + p.bad + strings.Repeat("▓", widths[1]) +
		p.active + strings.Repeat("▒", widths[2]) + p.dim + strings.Repeat("░", rest) + p.reset + "]" + tail
}

// share returns the widths of parts in proportion to a total. A part that is not zero gets at
// least one column; together they are at most width.
func share(width int, total int64, parts ...int64) []int {
	widths := make([]int, len(parts))
	left := width
	for i, n := range parts {
		if n > 0 && total > 0 {
			widths[i] = min(left, max(1, int(int64(width)*n/total)))
		}
		left -= widths[i]
	}
	return widths
}

// numbers returns the counts, the rate and the remaining time as text.
func (v progressView) numbers() string {
	parts := apidata.CountParts(v.Counts)
	if v.Retries > 0 {
		parts = append(parts, fmt.Sprintf("%d retried", v.Retries))
	}
	if v.Rate > 0 {
		parts = append(parts, rateText(v.Rate))
	}
	if eta, ok := v.eta(); ok {
		parts = append(parts, "about "+cli.ClockTime(eta)+" left")
	}
	if len(parts) == 0 {
		return "…"
	}
	return strings.Join(parts, ", ")
}

// eta returns how long the remaining jobs take at the current rate; false if that is unknown.
func (v progressView) eta() (time.Duration, bool) {
	open := v.Total - v.Counts.Complete()
	if v.Rate <= 0 || open <= 0 || v.Elapsed < 2*time.Second {
		return 0, false
	}
	return time.Duration(math.Ceil(float64(open)/v.Rate)) * time.Second, true
}

func (v progressView) runningLine() string {
	if len(v.Running) == 0 {
		return ""
	}
	const shown = 4
	var parts []string
	for _, j := range v.Running[:min(shown, len(v.Running))] {
		parts = append(parts, cli.Printable(j.Name)+" "+cli.ClockTime(j.For))
	}
	text := "running: " + strings.Join(parts, ", ")
	if more := len(v.Running) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// line returns a line with what happened and what follows.
func (t trouble) line() string {
	next := t.Status.String()
	switch {
	case t.Repair:
		next = "recovery script"
	case t.Status == workflow.Ready:
		next = "retried"
	}
	text := fmt.Sprintf("%s, attempt %d: %s, return code %d: %s", cli.Printable(t.Job), t.Attempt, cli.Printable(string(t.Cause)), t.Code, next)
	if t.Reason != "" && !t.Status.IsComplete() {
		text += " (" + cli.Printable(t.Reason) + ")"
	}
	return text
}

// plainLine returns the view as one line, for a log.
func (v progressView) plainLine() string {
	return fmt.Sprintf("%s  %d/%d  %s", cli.ClockTime(v.Elapsed), v.Counts.Complete(), v.Total, v.numbers())
}

// rateText formats a rate, with about two digits.
func rateText(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fmt.Sprintf("%.0f/s", perSecond)
	case perSecond >= 1:
		return fmt.Sprintf("%.1f/s", perSecond)
	}
	return fmt.Sprintf("%.1f/min", perSecond*60)
}
