package allocation

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Sight is what Slurm's queue said last of allocations.
type Sight struct {
	At   time.Time           // zero: it was not asked yet, or never answered
	Jobs map[int64]slurm.Job // by Slurm job id
}

var errNoSight = errors.New("squeue gives no information")

// sight keeps the latest look for others than the loop, and who waits for the
// next one.
type sight struct {
	mu      sync.Mutex
	last    Sight
	waiting []chan<- error
	closed  bool // nobody looks any more
}

// Look has the loop look at Slurm, and returns when what it saw is stored.
func (l *Loop) Look(ctx context.Context) error {
	done := make(chan error, 1)
	if !l.sight.wait(done) {
		return errNoSight
	}
	l.Wake()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Seen returns what the queue said last.
func (l *Loop) Seen() Sight {
	l.sight.mu.Lock()
	defer l.sight.mu.Unlock()
	return l.sight.last
}

func (s *sight) wait(done chan<- error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.waiting = append(s.waiting, done)
	}
	return !s.closed
}

// begin returns who waits for a look that begins now.
func (s *sight) begin() (waiting []chan<- error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, s.waiting = s.waiting, nil
	return waiting
}

// keep notes what the queue says of live allocations.
func (s *sight) keep(p *poll) {
	if p.queue == nil {
		return
	}
	seen := Sight{At: p.queue.At, Jobs: make(map[int64]slurm.Job, len(p.live))}
	for i := range p.live {
		if job, ok := p.queue.Find(slurm.JobID{Number: p.live[i].SlurmJobID}); ok {
			seen.Jobs[job.ID.Number] = job
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = seen
}

// close tells all who wait that nobody looks any more.
func (s *sight) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	tell(s.begin(), errNoSight)
}

func tell(waiting []chan<- error, err error) {
	for _, done := range waiting {
		done <- err
	}
}
