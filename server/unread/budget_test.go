package unread

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// client reads an answer at a rate in bytes per second; 0: it reads nothing.
type client struct {
	*httptest.ResponseRecorder
	rate int
	gone chan struct{}
	once sync.Once
}

func newClient(rate int) *client {
	return &client{ResponseRecorder: httptest.NewRecorder(), rate: rate, gone: make(chan struct{})}
}

func (c *client) cut() { c.once.Do(func() { close(c.gone) }) }

func (c *client) Write(p []byte) (int, error) {
	var taken <-chan time.Time
	if c.rate > 0 {
		taken = time.After(time.Duration(len(p)) * time.Second / time.Duration(c.rate))
	}
	select {
	case <-taken:
		return c.ResponseRecorder.Write(p)
	case <-c.gone:
		return 0, io.ErrClosedPipe
	}
}

// ask creates an answer of a length for a client and sends it.
func ask(ctx context.Context, b *Budget, c *client, length int) error {
	done, err := b.List(ctx)
	if err != nil {
		return err
	}
	t := b.Text(ctx, c.cut)
	_, err = io.Copy(t, io.LimitReader(letters{}, int64(length)))
	done()
	if err != nil {
		t.Drop()
		return err
	}
	return t.Send(c, http.StatusOK)
}

type letters struct{}

func (letters) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

var bounds = Options{Bytes: 8 << 20, Lists: 2, Wait: 20 * time.Second, Stall: 2 * time.Second, Rate: 256 << 10}

// TestClientsThatDoNotRead: their answers are aborted when others need the memory, and
// not before.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(bounds)
		var all sync.WaitGroup
		var cut int
		var mu sync.Mutex
		for range 40 {
			all.Go(func() {
				if ask(t.Context(), b, newClient(0), 3<<20) != nil {
					mu.Lock()
					cut++
					mu.Unlock()
				}
			})
		}
		<-time.After(time.Minute)
		if held := b.Held(); held > bounds.Bytes {
			t.Errorf("%d bytes are held, more than %d", held, bounds.Bytes)
		}
		mu.Lock()
		if cut != 38 {
			t.Errorf("%d answers were aborted, want all but the two that fit", cut)
		}
		mu.Unlock()
		reader := newClient(50 << 20)
		if err := ask(t.Context(), b, reader, 5<<20); err != nil || reader.Body.Len() != 5<<20 {
			t.Errorf("a client that reads got %d bytes, %v", reader.Body.Len(), err)
		}
		if err := ask(t.Context(), b, newClient(50<<20), 8<<20); err != nil {
			t.Error(err)
		}
		all.Wait()
		if held := b.Held(); held != 0 {
			t.Errorf("%d bytes are held in the end", held)
		}
	})
}

// TestSlowestIsAborted: a client that reads a little is aborted, too.
func TestSlowestIsAborted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(bounds)
		got := make(chan error, 2)
		go func() { got <- ask(t.Context(), b, newClient(128<<10), 4<<20) }()
		slow := newClient(1 << 20)
		sent := make(chan error, 1)
		go func() { sent <- ask(t.Context(), b, slow, 4<<20) }()
		<-time.After(100 * time.Millisecond)
		if err := ask(t.Context(), b, newClient(50<<20), 6<<20); err != nil {
			t.Error(err)
		}
		if err := <-got; err == nil {
			t.Error("the trickling one was not aborted")
		}
		if err := <-sent; err != nil || slow.Body.Len() != 4<<20 {
			t.Errorf("the one that makes progress: %v", err)
		}
	})
}

// TestAllMoveOn: no answer is aborted; one that gets no memory in time is rejected.
func TestAllMoveOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(bounds)
		first := make(chan error, 1)
		go func() { first <- ask(t.Context(), b, newClient(300<<10), 20<<20) }() // beyond the limit, alone
		<-time.After(time.Second)
		began := time.Now()
		if err := ask(t.Context(), b, newClient(50<<20), 1<<20); !errors.Is(err, ErrFull) {
			t.Errorf("%v", err)
		}
		if waited := time.Since(began); waited != bounds.Wait {
			t.Errorf("rejected after %s", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := ask(ctx, b, newClient(50<<20), 1<<20); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client that has disconnected: %v", err)
		}
		small := newClient(50 << 20)
		if err := ask(t.Context(), b, small, 1000); err != nil || small.Body.Len() != 1000 {
			t.Errorf("a small answer: %v", err)
		}
		if err := <-first; err != nil {
			t.Errorf("the one that makes progress: %v", err)
		}
	})
}

// TestTextsAreWhole: every length and every way to write a text.
func TestTextsAreWhole(t *testing.T) {
	t.Parallel()
	b := NewBudget(Options{Bytes: 64 << 20, Lists: 1, Wait: time.Second, Stall: time.Second})
	random := rand.New(rand.NewPCG(1, 2))
	for _, length := range []int{0, 1, small - 1, small, small + 1, chunk - 1, chunk, chunk + 1, 3*chunk + 5} {
		want := make([]byte, length)
		for i := range want {
			want[i] = byte(random.Uint32())
		}
		text := b.Text(t.Context(), nil)
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(100_000))
			if m, err := text.Write(rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		w := httptest.NewRecorder()
		if err := text.Send(w, http.StatusOK); err != nil || !bytes.Equal(w.Body.Bytes(), want) {
			t.Errorf("%d bytes: %d came, %v", length, w.Body.Len(), err)
		}
		if b.Held() != 0 {
			t.Errorf("%d bytes: %d are held", length, b.Held())
		}
	}
}
