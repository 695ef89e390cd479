// Package unread holds the texts of large answers until their clients have read them,
// within a limit for all of them together. Without it, clients that request large lists
// and do not read them would take memory without limit.
//
// When the limit is reached, new answers wait, and answers that stall are aborted: their
// connections are closed. An answer that makes progress is never aborted.
package unread

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull is the error of an answer for which no memory was free in time.
var ErrFull = errors.New("answers to other requests use all memory for answers")

// Options are the limits.
type Options struct {
	// Bytes is how much text may be held. A larger answer is held alone.
	Bytes int64
	// Lists is how many large lists may be built at a time, which takes memory, too.
	Lists int
	// Wait is how long an answer waits for memory.
	Wait time.Duration
	// Stall is how long an answer may make no progress before it may be aborted.
	Stall time.Duration
	// Rate is the least mean rate of an answer in bytes per second, after Stall.
	Rate int64
}

// Budget counts the memory that is held.
type Budget struct {
	o     Options
	lists chan struct{}

	mu      sync.Mutex
	held    int64
	sending map[*Text]struct{}
	freed   chan struct{} // closed and replaced when some is released
}

// NewBudget returns a budget.
func NewBudget(o Options) *Budget {
	return &Budget{o: o, lists: make(chan struct{}, o.Lists), sending: map[*Text]struct{}{}, freed: make(chan struct{})}
}

// List waits until a large list may be built. The caller calls done when it is encoded. It
// returns ErrFull after Options.Wait.
func (b *Budget) List(ctx context.Context) (done func(), err error) {
	select {
	case b.lists <- struct{}{}:
		return func() { <-b.lists }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Held returns how many bytes of text are held.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// acquire waits until n more bytes are free. If no answer is being sent, there is nothing
// to wait for: then the few texts that are being built may exceed the limit.
func (b *Budget) acquire(ctx context.Context, n int64) error {
	freed, ok := b.tryAcquire(n)
	if ok {
		return nil
	}
	deadline := time.NewTimer(b.o.Wait)
	defer deadline.Stop()
	look := time.NewTicker(max(b.o.Stall/4, time.Millisecond))
	defer look.Stop()
	for !ok {
		select {
		case <-freed:
		case <-look.C:
		case <-deadline.C:
			return ErrFull
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		freed, ok = b.tryAcquire(n)
	}
	return nil
}

// tryAcquire acquires n bytes if they are free, and else aborts answers that stall.
func (b *Budget) tryAcquire(n int64) (freed <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n <= b.o.Bytes || len(b.sending) == 0 {
		b.held += n
		return nil, true
	}
	now := time.Now()
	due := b.held + n - b.o.Bytes
	for t := range b.sending {
		if t.aborted { // about to be released
			due -= t.size
		}
	}
	for due > 0 {
		t := b.slowest(now)
		if t == nil {
			break
		}
		t.aborted = true
		due -= t.size
		t.giveUp()
	}
	return b.freed, false
}

// slowest returns the stalled answer with the least progress; nil if there is none. The
// caller holds b.mu.
func (b *Budget) slowest(now time.Time) *Text {
	var out *Text
	for t := range b.sending {
		if t.aborted || !t.stalled(now, b.o) {
			continue
		}
		if out == nil || t.rate(now) < out.rate(now) {
			out = t
		}
	}
	return out
}

// release frees n bytes. The caller holds b.mu.
func (b *Budget) release(n int64) {
	b.held -= n
	close(b.freed)
	b.freed = make(chan struct{})
}
