package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/runner/output"
)

// outputOrder is when exec shows the output of jobs.
type outputOrder int

const (
	byNumber outputOrder = iota // in the order of the jobs
	byEnd                       // when each job ends
	byLine                      // while they run
)

// printer shows the output of jobs: stdout on stdout, stderr on stderr.
type printer struct {
	order       outputOrder
	tag         func(seq int) string // nil: lines have no tag
	out, errOut cli.FlushWriter
	clear       func() // makes room on the terminal; called before something is written

	next  int // the next job by number
	ended map[int]output.Files

	mu      sync.Mutex
	started []tail // not yet in tails
	tails   map[int]*tail
}

// tail is the output of a running job, as far as it was shown.
type tail struct {
	seq         int
	files       output.Files
	out, errOut int64 // offsets in bytes
}

func newPrinter(a *cli.Factory, order outputOrder) *printer {
	return &printer{
		order: order, next: 1, ended: map[int]output.Files{}, tails: map[int]*tail{},
		out: cli.OutputOfJobs(a.RawStdout, a.StdoutTerminal), errOut: cli.OutputOfJobs(a.RawStderr, a.StderrTerminal),
	}
}

// began is called when an attempt starts, by any goroutine.
func (p *printer) began(seq int, f output.Files) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = append(p.started, tail{seq: seq, files: f})
}

func (p *printer) take(j *ended) error {
	switch p.order {
	case byLine:
		if err := p.follow(); err != nil {
			return err
		}
		return p.finish(j.seq)
	case byEnd:
		return p.show(j.seq, j.attempt)
	}
	p.ended[j.seq] = j.attempt
	for {
		f, ok := p.ended[p.next]
		if !ok {
			return nil
		}
		delete(p.ended, p.next)
		if err := p.show(p.next, f); err != nil {
			return err
		}
		p.next++
	}
}

func (p *printer) watch(over bool) error {
	if p.order == byLine {
		if err := p.follow(); err != nil || !over {
			return err
		}
		for _, seq := range slices.Sorted(maps.Keys(p.tails)) {
			if err := p.finish(seq); err != nil {
				return err
			}
		}
	}
	if !over {
		return nil
	}
	for _, seq := range slices.Sorted(maps.Keys(p.ended)) { // behind jobs that have not ended
		if err := p.show(seq, p.ended[seq]); err != nil {
			return err
		}
	}
	return nil
}

// show writes all output of an attempt.
func (p *printer) show(seq int, f output.Files) error {
	_, err := p.write(p.out, seq, f.Stdout, 0, true)
	if err != nil || f.Stderr == f.Stdout {
		return err
	}
	_, err = p.write(p.errOut, seq, f.Stderr, 0, true)
	return err
}

// follow writes the whole lines that were added to the output of running attempts.
func (p *printer) follow() error {
	p.mu.Lock()
	started := p.started
	p.started = nil
	p.mu.Unlock()
	for i := range started {
		t := &started[i]
		if err := p.finish(t.seq); err != nil { // of the attempt before
			return err
		}
		p.tails[t.seq] = t
	}
	for _, seq := range slices.Sorted(maps.Keys(p.tails)) {
		if err := p.advance(p.tails[seq], false); err != nil {
			return err
		}
	}
	return nil
}

// finish writes what is left of the output of an attempt that has ended.
func (p *printer) finish(seq int) error {
	t := p.tails[seq]
	if t == nil {
		return nil
	}
	delete(p.tails, seq)
	return p.advance(t, true)
}

func (p *printer) advance(t *tail, over bool) (err error) {
	if t.out, err = p.write(p.out, t.seq, t.files.Stdout, t.out, over); err != nil || t.files.Stderr == t.files.Stdout {
		return err
	}
	t.errOut, err = p.write(p.errOut, t.seq, t.files.Stderr, t.errOut, over)
	return err
}

// write writes a file from an offset on, up to its end if it is over and else up to its last line
// break, and returns how far. A file that does not exist has nothing.
func (p *printer) write(w cli.FlushWriter, seq int, path string, from int64, over bool) (int64, error) {
	if path == "" {
		return from, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return from, nil
	}
	if err != nil {
		return from, fmt.Errorf("read the output of %s: %w", jobName(seq-1), err)
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	inLine := false
	for {
		n, err := f.ReadAt(buf, from)
		part := buf[:n]
		if !over && n < len(buf) {
			part = part[:bytes.LastIndexByte(part, '\n')+1]
		}
		if len(part) == 0 {
			return from, flush(w, inLine && over && p.tag != nil)
		}
		if p.clear != nil {
			p.clear()
		}
		if _, err := w.Write(p.tagged(seq, part, inLine)); err != nil {
			return from, fmt.Errorf("show the output of jobs: %w", err)
		}
		inLine = part[len(part)-1] != '\n'
		from += int64(len(part))
		if err != nil && !errors.Is(err, io.EOF) {
			return from, fmt.Errorf("read the output of %s: %w", jobName(seq-1), err)
		}
	}
}

// flush flushes a writer, after a line break if a line is to be ended.
func flush(w cli.FlushWriter, endLine bool) error {
	if endLine {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return fmt.Errorf("show the output of jobs: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("show the output of jobs: %w", err)
	}
	return nil
}

// tagged returns text with the tag of a job before each line; the first one may have it already.
func (p *printer) tagged(seq int, text []byte, inLine bool) []byte {
	if p.tag == nil {
		return text
	}
	tag := p.tag(seq) + "\t"
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		if !inLine {
			b.WriteString(tag)
		}
		inLine = false
		b.Write(line)
	}
	return b.Bytes()
}
