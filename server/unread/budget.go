// Package unread holds the texts of large answers until their clients have read
// them, within a bound for all of them together. A client that asks for a large
// list and does not read it costs memory for as long as it likes; one that has no
// credentials cannot ask, but a script with forty forgotten connections can.
//
// When the bound is reached, those who ask wait, and answers that do not move on
// are given up: their connections are closed. An answer that moves on is never
// given up.
package unread

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull is what an answer ends with for which there is no room in time.
var ErrFull = errors.New("the answers to other requests take all the memory that answers may have, and are being read")

// Options are the bounds.
type Options struct {
	// Bytes is how much text may be held at a time. An answer that is larger than
	// that is the only one.
	Bytes int64
	// Lists is how many large lists may be made at a time. What a list is made
	// of takes memory, too.
	Lists int
	// Wait is how long an answer waits for room.
	Wait time.Duration
	// Still is how long an answer may not move on before it may be given up.
	Still time.Duration
	// Rate is how many bytes a second an answer has to move on by, from its
	// beginning, when it has had Still.
	Rate int64
}

// Budget is what is held.
type Budget struct {
	o     Options
	lists chan struct{}

	mu      sync.Mutex
	held    int64
	sending map[*Text]struct{}
	freed   chan struct{} // closed and made anew when some is given back
}

// NewBudget makes a budget.
func NewBudget(o Options) *Budget {
	return &Budget{o: o, lists: make(chan struct{}, o.Lists), sending: map[*Text]struct{}{}, freed: make(chan struct{})}
}

// List waits until a large list may be made. The caller calls done when it is
// text.
func (b *Budget) List(ctx context.Context) (done func(), err error) {
	select {
	case b.lists <- struct{}{}:
		return func() { <-b.lists }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Held is how many bytes of text there are.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// take waits until there is room for n bytes more. While no answer is being sent
// there is nothing to wait for, so the texts that are being made, of which there are
// few, may go beyond the bound.
func (b *Budget) take(ctx context.Context, n int64) error {
	freed, ok := b.tryTake(n)
	if ok {
		return nil
	}
	deadline := time.NewTimer(b.o.Wait)
	defer deadline.Stop()
	look := time.NewTicker(max(b.o.Still/4, time.Millisecond))
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
		freed, ok = b.tryTake(n)
	}
	return nil
}

// tryTake takes n bytes if there is room, and else gives up answers that do not
// move on.
func (b *Budget) tryTake(n int64) (freed <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n <= b.o.Bytes || len(b.sending) == 0 {
		b.held += n
		return nil, true
	}
	now := time.Now()
	due := b.held + n - b.o.Bytes
	for t := range b.sending {
		if t.givenUp { // about to be given back
			due -= t.size
		}
	}
	for due > 0 {
		t := b.slowest(now)
		if t == nil {
			break
		}
		t.givenUp = true
		due -= t.size
		t.giveUp()
	}
	return b.freed, false
}

// slowest is the answer that may be given up and has moved on the least; nil if all
// move on. b.mu is held.
func (b *Budget) slowest(now time.Time) *Text {
	var out *Text
	for t := range b.sending {
		if t.givenUp || !t.still(now, b.o) {
			continue
		}
		if out == nil || t.rate(now) < out.rate(now) {
			out = t
		}
	}
	return out
}

// give gives bytes back. b.mu is held.
func (b *Budget) give(n int64) {
	b.held -= n
	close(b.freed)
	b.freed = make(chan struct{})
}
