package unread

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// chunk is how much of a text is taken, sent and given back at a time.
const chunk = 256 << 10

// small is how much of a text nobody counts: most answers are smaller.
const small = 16 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// Text is an answer. The caller writes it to its end, and then sends or drops it.
type Text struct {
	budget *Budget
	take   func(n int64) error // waits for room
	first  []byte              // the first bytes, if there are no more
	full   []*[chunk]byte      // the text, if there are
	length int
	giveUp func()

	// Guarded by budget.mu.
	size    int64 // that is taken
	sent    int64
	began   time.Time
	moved   time.Time // when the client last took something
	givenUp bool
}

// Text begins the answer to a request. When it is given up while it is being sent,
// giveUp is called, once; it has to end what is written to the client, and must not
// wait.
func (b *Budget) Text(ctx context.Context, giveUp func()) *Text {
	return &Text{budget: b, take: func(n int64) error { return b.take(ctx, n) }, giveUp: giveUp}
}

// Write adds to the text. It fails with ErrFull if there is no room.
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

// Drop gives back what the text has taken.
func (t *Text) Drop() {
	t.budget.mu.Lock()
	defer t.budget.mu.Unlock()
	delete(t.budget.sending, t)
	if t.size > 0 {
		t.budget.give(t.size)
	}
	for _, c := range t.full {
		if c != nil { // not sent
			chunks.Put(c)
		}
	}
	t.full, t.size = nil, 0
}

// Send answers with the text and drops it. What the client has taken is given back
// at once.
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
		if !t.move() {
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

// move notes that a chunk was taken; false if the answer is given up.
func (t *Text) move() bool {
	t.budget.mu.Lock()
	defer t.budget.mu.Unlock()
	t.moved = time.Now()
	t.sent += chunk
	t.size -= chunk
	t.budget.give(chunk)
	return !t.givenUp
}

// still reports whether the text may be given up.
func (t *Text) still(now time.Time, o Options) bool {
	return now.Sub(t.moved) >= o.Still || now.Sub(t.began) >= o.Still && t.rate(now) < float64(o.Rate)
}

// rate is how many bytes a second the client has taken, a chunk that is under way
// included.
func (t *Text) rate(now time.Time) float64 {
	return float64(t.sent+chunk) / max(now.Sub(t.began).Seconds(), 1e-3)
}
