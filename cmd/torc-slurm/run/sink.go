package run

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ended is a job whose last attempt has ended.
type ended struct {
	seq      int // its number, from 1
	attempt  output.Files
	end      time.Time
	duration time.Duration
	code     int64
}

// taker does something with the jobs of exec as they end.
type taker interface {
	// take is called once for each job, in the order in which they ended.
	take(j *ended) error
	// watch is called now and then, and last when no job will end any more.
	watch(over bool) error
}

// sink passes the jobs of exec that have ended on to takers. Observe is called by the runner, the
// other methods by one goroutine.
type sink struct {
	takers  []taker
	printer *printer       // one of them; nil if no output is shown
	seqs    map[string]int // by the name of the job
	halt    *halt          // nil: failures stop nothing
	files   func(base string) output.Files
	base    func(jobID, attempt int64) string // of the files of an attempt; set before the runner starts

	mu    sync.Mutex
	fresh []ended

	errs []error
}

// newSink returns what exec does with the jobs of a definition; commands and values of the jobs
// are in their order. The error says which file cannot be written.
func newSink(a *cli.Factory, in *execInput, d *workflow.Definition, flags *showFlags, stop *halt) (*sink, error) {
	s := &sink{seqs: make(map[string]int, len(d.Jobs)), halt: stop}
	for i := range d.Jobs {
		s.seqs[d.Jobs[i].Name] = i + 1
	}
	config := d.ExecutionConfig
	s.files = func(base string) output.Files {
		if config == nil {
			return output.FilesOf(nil, base)
		}
		return output.FilesOf(config.Stdio, base)
	}
	if !flags.quiet && a.Format == cli.FormatTable {
		s.printer = newPrinter(a, flags.order())
		if flags.tag {
			s.printer.tag = func(seq int) string { return in.label(seq - 1) }
		}
		s.takers = append(s.takers, s.printer)
	}
	if flags.joblog != "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("get the name of this host: %w", err)
		}
		l, err := newJoblog(a.Path(flags.joblog), host, in)
		if err != nil {
			return nil, workflow.Errorf(workflow.CodeConflict, "--joblog: %v", err)
		}
		s.takers = append(s.takers, l)
	}
	if flags.results != "" {
		dir := a.Path(flags.results)
		if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // for whom the umask says
			return nil, workflow.Errorf(workflow.CodeConflict, "--results: %v", err)
		}
		s.takers = append(s.takers, &results{dir: dir, in: in})
	}
	return s, nil
}

// order returns when output is shown.
func (f *showFlags) order() outputOrder {
	switch {
	case f.lineBuffer:
		return byLine
	case f.group:
		return byEnd
	}
	return byNumber
}

func (s *sink) observe(e runner.Event) {
	seq := s.seqs[e.JobName]
	if seq == 0 {
		return // another job, such as the end job
	}
	switch {
	case e.Kind == runner.EventStarted && s.printer != nil && s.printer.order == byLine:
		s.printer.began(seq, s.files(s.base(e.JobID, e.Attempt)))
	case e.Kind == runner.EventEnded && e.Status.IsComplete():
		s.halt.count(e.Status != workflow.Completed)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fresh = append(s.fresh, ended{
			seq: seq, attempt: s.files(s.base(e.JobID, e.Attempt)), end: e.Time, duration: e.Duration, code: e.ReturnCode,
		})
	}
}

// flush passes on what has ended. The takers are told when no more will come. A taker that
// fails gets no more.
func (s *sink) flush(over bool) {
	s.mu.Lock()
	fresh := s.fresh
	s.fresh = nil
	s.mu.Unlock()
	var working []taker
	for _, t := range s.takers {
		if err := s.give(t, fresh, over); err != nil {
			s.errs = append(s.errs, err)
			continue
		}
		working = append(working, t)
	}
	s.takers = working
}

func (s *sink) give(t taker, fresh []ended, over bool) error {
	for i := range fresh {
		if err := t.take(&fresh[i]); err != nil {
			return err
		}
	}
	return t.watch(over)
}

// err returns what failed; nil if nothing did.
func (s *sink) err() error { return errors.Join(s.errs...) }
