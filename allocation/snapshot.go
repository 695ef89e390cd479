package allocation

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// QueueSnapshot is the last answer of squeue about allocations.
type QueueSnapshot struct {
	At   time.Time           // zero: squeue was not called yet, or never answered
	Jobs map[int64]slurm.Job // by Slurm job id
}

var errNoInformation = errors.New("squeue gives no information")

// snapshots keeps the result of the latest poll for other goroutines, and the callers that
// wait for the next one.
type snapshots struct {
	mu      sync.Mutex
	last    QueueSnapshot
	waiting []chan<- error
	closed  bool // there are no more polls
}

// Poll has the loop poll Slurm, and returns when the result is stored. It returns an
// error if the poll failed, the loop has ended, or ctx ends first.
func (l *Loop) Poll(ctx context.Context) error {
	done := make(chan error, 1)
	if !l.snapshot.wait(done) {
		return errNoInformation
	}
	l.Wake()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Seen returns the last answer of squeue.
func (l *Loop) Seen() QueueSnapshot {
	l.snapshot.mu.Lock()
	defer l.snapshot.mu.Unlock()
	return l.snapshot.last
}

func (s *snapshots) wait(done chan<- error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.waiting = append(s.waiting, done)
	}
	return !s.closed
}

// begin returns the callers that wait for the poll that begins now.
func (s *snapshots) begin() (waiting []chan<- error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, s.waiting = s.waiting, nil
	return waiting
}

// keep stores what squeue says about live allocations.
func (s *snapshots) keep(p *poll) {
	if p.queue == nil {
		return
	}
	seen := QueueSnapshot{At: p.queue.At, Jobs: make(map[int64]slurm.Job, len(p.live))}
	for i := range p.live {
		if job, ok := p.queue.Find(slurm.JobID{Number: p.live[i].SlurmJobID}); ok {
			seen.Jobs[job.ID.Number] = job
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = seen
}

// close tells all waiting callers that there are no more polls.
func (s *snapshots) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	tell(s.begin(), errNoInformation)
}

func tell(waiting []chan<- error, err error) {
	for _, done := range waiting {
		done <- err
	}
}
