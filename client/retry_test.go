package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// impatient makes a client wait hardly at all before a repetition.
func impatient(c *Client) *Client {
	c.http.RetryWaitMin, c.http.RetryWaitMax = time.Millisecond, 2*time.Millisecond
	return c
}

// Calls of each kind.
func create(ctx context.Context, c *Client) error {
	_, err := c.Workflows.Create(ctx, &api.Workflow{Name: "w", User: "u"})
	return err
}

func define(ctx context.Context, c *Client) error {
	_, err := c.Workflows.CreateDefinition(ctx, &workflow.Definition{Name: "w"}, "key")
	return err
}

func defineWithoutKey(ctx context.Context, c *Client) error {
	_, err := c.Workflows.CreateDefinition(ctx, &workflow.Definition{Name: "w"}, "")
	return err
}

func turn(ctx context.Context, c *Client) error {
	_, err := c.Runners.Turn(ctx, 1, &lease.TurnRequest{Turn: 1})
	return err
}

func read(ctx context.Context, c *Client) error {
	_, err := c.Workflows.Get(ctx, 1)
	return err
}

func remove(ctx context.Context, c *Client) error {
	_, err := c.Workflows.Delete(ctx, 1)
	return err
}

const aborted = 0 // instead of a status: no answer

// TestRepetitions counts how often a call is made that fails in the same way each time.
func TestRepetitions(t *testing.T) {
	const all = 3
	for _, tc := range []struct {
		name   string
		call   func(context.Context, *Client) error
		status int
		tries  int64
	}{
		{"create, lost", create, aborted, 1},
		{"create, unavailable", create, 503, 1},
		{"create, too many", create, 429, all},
		{"create, error", create, 500, 1},
		{"definition, lost", define, aborted, all},
		{"definition, unavailable", define, 503, all},
		{"definition, error", define, 500, 1},
		{"definition without a key, lost", defineWithoutKey, aborted, 1},
		{"turn, lost", turn, aborted, all},
		{"turn, bad gateway", turn, 502, all},
		{"read, lost", read, aborted, all},
		{"read, error", read, 500, 1},
		{"read, not found", read, 404, 1},
		{"delete, timeout", remove, 504, all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var tries atomic.Int64
			c := impatient(serve(t, Options{Retries: all - 1}, func(w http.ResponseWriter, _ *http.Request) {
				tries.Add(1)
				if tc.status == aborted {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(tc.status)
			}))
			err := tc.call(t.Context(), c)
			if got := tries.Load(); got != tc.tries {
				t.Errorf("%d tries, want %d", got, tc.tries)
			}
			var refusal *APIError
			if tc.status != aborted && (!errors.As(err, &refusal) || refusal.Status != tc.status) || tc.status == aborted && !IsUnreachable(err) {
				t.Errorf("error %v", err)
			}
			unsure := tc.status == aborted && tc.tries == 1
			if got := strings.Contains(err.Error(), "may have been carried out"); got != unsure {
				t.Errorf("error %v, unsure: %v, want %v", err, got, unsure)
			}
		})
	}
}

// TestNothingListens makes a call while there is no server: it is carried out once when
// there is one.
func TestNothingListens(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	c, err := New(Options{URL: "http://daemon", Locate: func() Place { return Place{Socket: socket, Address: "127.0.0.1:1"} }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var tries atomic.Int64
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		_, _ = w.Write([]byte(`{"id":1}`))
	})}
	served := make(chan error, 1)
	impatient(c).http.RequestLogHook = func(_ retryablehttp.Logger, _ *http.Request, attempt int) {
		if attempt != 2 {
			return
		}
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Error(err)
			return
		}
		go func() { served <- server.Serve(l) }()
	}
	if err := create(t.Context(), c); err != nil {
		t.Error(err)
	}
	if got := tries.Load(); got != 1 {
		t.Errorf("carried out %d times", got)
	}
	c.Close()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-served
}

// TestCanceledWhileWaiting ends a call between two tries.
func TestCanceledWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel()
	})
	c.http.RetryWaitMin, c.http.RetryWaitMax = time.Hour, time.Hour
	if err := read(ctx, c); !errors.Is(err, context.Canceled) || IsUnreachable(err) {
		t.Errorf("error %v", err)
	}
}
