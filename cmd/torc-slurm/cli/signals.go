package cli

import (
	"context"
	"errors"
	"os"
	"sync"
)

// ErrInterrupted is the cause of a command's context after a signal.
var ErrInterrupted = errors.New("interrupted")

// signals cancels a context when a signal to end arrives, until a command takes the
// signals over.
type signals struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	taken  chan os.Signal // what take returns

	mu      sync.Mutex
	isTaken bool

	stopping chan struct{}
	done     chan struct{}
}

func startSignals(from <-chan os.Signal) *signals {
	s := &signals{taken: make(chan os.Signal, 4), stopping: make(chan struct{}), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	go s.forward(from)
	return s
}

func (s *signals) forward(from <-chan os.Signal) {
	defer close(s.done)
	for {
		select {
		case <-s.stopping:
			return
		case sig := <-from:
			s.mu.Lock()
			taken := s.isTaken
			s.mu.Unlock()
			if !taken {
				s.cancel(ErrInterrupted)
				continue
			}
			select {
			case s.taken <- sig:
			default: // two are enough
			}
		}
	}
}

// Context returns a context that is done after a signal that no command has taken over.
func (s *signals) Context() context.Context { return s.ctx }

// Take returns the signals to the caller, who must handle them.
func (s *signals) Take() <-chan os.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isTaken = true
	return s.taken
}

func (s *signals) stop() {
	close(s.stopping)
	<-s.done
	s.cancel(nil)
}
