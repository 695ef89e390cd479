package unread

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// chunk is the unit in which a text is acquired, sent and released.
const chunk = 256 << 10

// small is how much of a text is not counted; most answers are smaller.
const small = 16 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// Text is an answer. The caller writes all of it, and then calls Send or Drop.
type Text struct {
	budget *Budget
	take   func(n int64) error // waits for memory
	first  []byte              // the text, if it is small
	full   []*[chunk]byte      // the text, if it is not
	length int
	giveUp func()

	// Guarded by budget.mu.
	size    int64 // acquired
	sent    int64
	began   time.Time
	moved   time.Time // when the client last read something
	aborted bool
}

// Text returns the text of a new answer. abort is called, once, if it is aborted while it
// is being sent. It must close the connection without blocking.
func (b *Budget) Text(ctx context.Context, giveUp func()) *Text {
	return &Text{budget: b, take: func(n int64) error { return b.acquire(ctx, n) }, giveUp: giveUp}
}

// Write appends to the text. It returns ErrFull if there is no memory.
func (t *Text) Write(p []byte) (int, error) {
	if t.full == nil && t.length+len(p) <= small {
		t.first = append(t.first, p...)
		t.length += len(p)
		return len(p), nil
	}
	if t.full == nil {
		first := t.first
		t.first, t.length = nil, 0
		if err := t.add(first); err != nil {
			return 0, err
		}
	}
	if err := t.add(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (t *Text) add(p []byte) error {
	for len(p) > 0 {
		at := t.length % chunk
		if at == 0 {
			if err := t.take(chunk); err != nil {
				return err
			}
			t.size += chunk
			t.full = append(t.full, chunks.Get().(*[chunk]byte))
		}
		n := copy(t.full[len(t.full)-1][at:], p)
		t.length += n
		p = p[n:]
	}
	return nil
}

// Drop releases the memory of the text.
func (t *Text) Drop() {
	t.budget.mu.Lock()
	defer t.budget.mu.Unlock()
	delete(t.budget.sending, t)
	if t.size > 0 {
		t.budget.release(t.size)
	}
	for _, c := range t.full {
		if c != nil { // not sent
			chunks.Put(c)
		}
	}
	t.full, t.size = nil, 0
}

// Send sends the text and drops it. It releases each chunk as soon as the client has read
// it.
func (t *Text) Send(w http.ResponseWriter, status int) error {
	defer t.Drop()
	w.Header().Set("Content-Length", strconv.Itoa(t.length))
	w.WriteHeader(status)
	if t.full == nil {
		_, err := w.Write(t.first)
		return err
	}
	t.begin()
	for i, left := 0, t.length; left > 0; i++ {
		n := min(left, chunk)
		if _, err := w.Write(t.full[i][:n]); err != nil {
			return err
		}
		left -= n
		chunks.Put(t.full[i])
		t.full[i] = nil
		if !t.markProgress() {
			return io.ErrClosedPipe
		}
	}
	return nil
}

func (t *Text) begin() {
	t.budget.mu.Lock()
	defer t.budget.mu.Unlock()
	t.began = time.Now()
	t.moved = t.began
	t.budget.sending[t] = struct{}{}
}

// markProgress records that a chunk was read. It returns false if the answer is aborted.
func (t *Text) markProgress() bool {
	t.budget.mu.Lock()
	defer t.budget.mu.Unlock()
	t.moved = time.Now()
	t.sent += chunk
	t.size -= chunk
	t.budget.release(chunk)
	return !t.aborted
}

// stalled reports whether the text may be aborted.
func (t *Text) stalled(now time.Time, o Options) bool {
	return now.Sub(t.moved) >= o.Stall || now.Sub(t.began) >= o.Stall && t.rate(now) < float64(o.Rate)
}

// rate returns how many bytes per second the client has read, including the chunk under
// way.
func (t *Text) rate(now time.Time) float64 {
	return float64(t.sent+chunk) / max(now.Sub(t.began).Seconds(), 1e-3)
}
