package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// progressView is a moment of a workflow that runs.
type progressView struct {
	WorkflowID int64
	Name       string
	Elapsed    time.Duration
	Total      int64
	Counts     api.JobCounts
	Rate       float64                 // attempts that ended, per second
	Stages     []workflow.StageSummary // the first few that run
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

// The colors of a terminal; plain has none.
type palette struct{ done, bad, active, dim, reset string }

var (
	plain  = palette{}
	colors = palette{done: "\x1b[32m", bad: "\x1b[31m", active: "\x1b[36m", dim: "\x1b[2m", reset: "\x1b[0m"}
)

// lines draws the view for a terminal; no line is longer than the width.
func (v progressView) lines(width int, p palette) []string {
	width = max(width, 40)
	title := cut(fmt.Sprintf("%s (workflow %d)", printable(v.Name), v.WorkflowID), width-10)
	clock := clockTime(v.Elapsed)
	lines := []string{
		title + strings.Repeat(" ", max(1, width-textWidth(title)-len(clock))) + p.dim + clock + p.reset,
		v.bar(width, p),
		cut(v.numbers(), width),
	}
	if text := v.runningLine(); text != "" {
		lines = append(lines, p.active+cut(text, width)+p.reset)
	}
	for _, s := range v.Stages {
		lines = append(lines, cut(printable(s.Line()), width))
	}
	for _, t := range v.Trouble[max(0, len(v.Trouble)-shownTroubles):] {
		lines = append(lines, p.bad+cut(t.line(), width)+p.reset)
	}
	if v.Message != "" {
		lines = append(lines, cut(printable(v.Message), width))
	}
	return lines
}

// bar draws the parts of the jobs: complete, not successful, running, rest.
func (v progressView) bar(width int, p palette) string {
	done := countDone(v.Counts)
	tail := fmt.Sprintf(" %d/%d", done, v.Total)
	room := min(width-len(tail)-2, 60)
	bad := v.Counts.Failed + v.Counts.Terminated + v.Counts.Canceled
	live := v.Counts.Running + v.Counts.Pending
	widths := share(room, v.Total, done-bad, bad, live)
	rest := room - widths[0] - widths[1] - widths[2]
	return "[" + p.done + strings.Repeat("█", widths[0]) + p.bad + strings.Repeat("▓", widths[1]) +
		p.active + strings.Repeat("▒", widths[2]) + p.dim + strings.Repeat("░", rest) + p.reset + "]" + tail
}

// share divides a width in proportion to parts of a total. What is there at
// all gets a column, and all together no more than the width.
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

// numbers lists the counts, the rate and what it means.
func (v progressView) numbers() string {
	parts := countParts(v.Counts)
	if v.Retries > 0 {
		parts = append(parts, fmt.Sprintf("%d retried", v.Retries))
	}
	if v.Rate > 0 {
		parts = append(parts, rateText(v.Rate))
	}
	if eta, ok := v.eta(); ok {
		parts = append(parts, "about "+clockTime(eta)+" left")
	}
	if len(parts) == 0 {
		return "…"
	}
	return strings.Join(parts, ", ")
}

// countParts lists the counts that are not zero, in the order of a job's life
// from its end.
func countParts(c api.JobCounts) []string {
	var parts []string
	for _, p := range []struct {
		n    int64
		what workflow.JobStatus
	}{
		{c.Completed, workflow.Completed}, {c.Failed, workflow.Failed}, {c.Terminated, workflow.Terminated},
		{c.Canceled, workflow.Canceled}, {c.PendingFailed, workflow.PendingFailed}, {c.Running, workflow.Running},
		{c.Pending, workflow.Pending}, {c.Ready, workflow.Ready}, {c.Blocked, workflow.Blocked},
		{c.Uninitialized, workflow.Uninitialized}, {c.Disabled, workflow.Disabled},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return parts
}

// eta is how long the rest takes at the current rate.
func (v progressView) eta() (time.Duration, bool) {
	open := v.Total - countDone(v.Counts)
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
		parts = append(parts, printable(j.Name)+" "+clockTime(j.For))
	}
	text := "running: " + strings.Join(parts, ", ")
	if more := len(v.Running) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// line says in a line what happened and what follows.
func (t trouble) line() string {
	next := t.Status.String()
	switch {
	case t.Repair:
		next = "recovery script"
	case t.Status == workflow.Ready:
		next = "retried"
	}
	text := fmt.Sprintf("%s, attempt %d: %s, return code %d: %s", printable(t.Job), t.Attempt, printable(string(t.Cause)), t.Code, next)
	if t.Reason != "" && !t.Status.IsComplete() {
		text += " (" + printable(t.Reason) + ")"
	}
	return text
}

// plainLine is the view in one line, for a log.
func (v progressView) plainLine() string {
	return fmt.Sprintf("%s  %d/%d  %s", clockTime(v.Elapsed), countDone(v.Counts), v.Total, v.numbers())
}

// rateText writes a rate with two digits.
func rateText(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fmt.Sprintf("%.0f/s", perSecond)
	case perSecond >= 1:
		return fmt.Sprintf("%.1f/s", perSecond)
	}
	return fmt.Sprintf("%.1f/min", perSecond*60)
}

// clockTime writes a duration as 0:07, 12:34 or 3:00:00.
func clockTime(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// shortTime is clockTime with tenths of a second for a short duration.
func shortTime(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return clockTime(d)
}
