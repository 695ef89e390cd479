package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// How often the display is redrawn on a terminal, the server is asked for counts, and
// otherwise a line is written.
const (
	redrawEvery = 100 * time.Millisecond
	countEvery  = 500 * time.Millisecond
	lineEvery   = 10 * time.Second
)

// display shows the progress of a workflow until it is stopped: on a terminal in place, in a
// file as lines, with -f json as objects.
type display struct {
	app      *cli.Factory
	progress *progress
	counts   func(context.Context) (*api.WorkflowStatus, error)
	drawn    int // number of lines on the terminal
	palette  palette
	sink     *sink // nil: the output of jobs is not shown

	cancel context.CancelFunc
	done   chan struct{}
}

// startDisplay starts and returns a display of p; counts asks the server for the status.
func startDisplay(ctx context.Context, a *cli.Factory, p *progress, s *sink, counts func(context.Context) (*api.WorkflowStatus, error)) *display {
	d := &display{app: a, progress: p, sink: s, counts: counts, done: make(chan struct{})}
	if s != nil && s.printer != nil {
		s.printer.clear = d.clear
	}
	if a.StderrTerminal && a.Getenv("NO_COLOR") == "" {
		d.palette = colors
	}
	ctx, d.cancel = context.WithCancel(ctx)
	go d.run(ctx)
	return d
}

// stop ends the display and clears it from the terminal.
func (d *display) stop() {
	d.cancel()
	<-d.done
}

func (d *display) run(ctx context.Context) {
	defer close(d.done)
	redraw, line := time.NewTicker(redrawEvery), time.NewTicker(lineEvery)
	defer redraw.Stop()
	defer line.Stop()
	var counted time.Time
	last := ""
	for {
		if time.Since(counted) >= countEvery {
			began := time.Now()
			if s, err := d.counts(ctx); err == nil {
				d.progress.count(s, d.app.Now())
			}
			counted = time.Now().Add(10 * time.Since(began)) // a slow server is asked less often
		}
		select {
		case <-ctx.Done():
			d.clear()
			if d.sink != nil {
				d.sink.flush(true)
			}
			d.news()
			return
		case <-redraw.C:
			d.tick()
		case <-line.C:
			if text := d.line(); !d.live() && text != last {
				fmt.Fprintln(d.app.Stderr, text)
				last = text
			}
		}
	}
}

// live reports whether the display is redrawn in place.
func (d *display) live() bool { return d.app.StderrTerminal && d.app.Format != cli.FormatJSON }

// tick updates the display.
func (d *display) tick() {
	if d.sink != nil {
		d.sink.flush(false)
	}
	if !d.live() {
		d.news()
		return
	}
	d.draw(d.progress.view(d.app.Now()).lines(d.app.Width()-1, d.palette))
}

// news writes the new messages and attempts without success, a line for each.
func (d *display) news() {
	if d.live() {
		return
	}
	for _, message := range d.progress.takeMessages() {
		if d.app.Format == cli.FormatJSON {
			d.object(map[string]any{"event": "message", "message": message})
			continue
		}
		fmt.Fprintln(d.app.Stderr, message)
	}
	for _, t := range d.progress.takeTroubles() {
		if d.app.Format == cli.FormatJSON {
			d.object(map[string]any{"event": "attempt_ended", "job_name": t.Job, "attempt_id": t.Attempt,
				"status": t.Status, "cause": t.Cause, "return_code": t.Code, "reason": t.Reason})
			continue
		}
		fmt.Fprintln(d.app.Stderr, t.line())
	}
}

// line returns the state as a line.
func (d *display) line() string {
	v := d.progress.view(d.app.Now())
	if d.app.Format != cli.FormatJSON {
		return v.plainLine()
	}
	text, _ := json.Marshal(map[string]any{"event": "progress", "workflow_id": v.WorkflowID, "total_jobs": v.Total,
		"jobs_by_status": v.Counts, "elapsed_seconds": int64(v.Elapsed.Seconds()), "retries": v.Retries}) // numbers
	return string(text)
}

func (d *display) object(v map[string]any) {
	text, _ := json.Marshal(v) // strings and numbers
	fmt.Fprintf(d.app.Stderr, "%s\n", text)
}

// draw replaces what was drawn before.
func (d *display) draw(lines []string) {
	var b strings.Builder
	d.rewind(&b)
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\n")
	}
	b.WriteString("\x1b[J") // lines that are no longer needed
	d.drawn = len(lines)
	_, _ = io.WriteString(d.app.RawStderr, b.String()) // the terminal may be gone
}

// clear removes what was drawn.
func (d *display) clear() {
	if d.drawn == 0 {
		return
	}
	var b strings.Builder
	d.rewind(&b)
	b.WriteString("\x1b[J")
	d.drawn = 0
	_, _ = io.WriteString(d.app.RawStderr, b.String())
}

// rewind goes back to the first line that was drawn.
func (d *display) rewind(b *strings.Builder) {
	if d.drawn > 0 {
		fmt.Fprintf(b, "\x1b[%dA", d.drawn)
	}
}
