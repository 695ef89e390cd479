package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestStreamResumes loses the connection twice, once in the middle of a frame: every
// event is seen exactly once.
func TestStreamResumes(t *testing.T) {
	var asked []string
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		frame := func(seq int) string {
			return fmt.Sprintf("event: job_completed\nid: %d\ndata: {\"workflow_id\":1,\"timestamp\":5,\"event_type\":\"job_completed\",\"severity\":\"info\",\"data\":{\"n\":%d}}\n\n", seq, seq)
		}
		switch len(asked) {
		case 1:
			fmt.Fprint(w, ": keep-alive\n\n", frame(4), frame(5)[:60])
		case 2:
			panic(http.ErrAbortHandler)
		default:
			fmt.Fprint(w, frame(5), frame(6))
		}
	})
	after := int64(3)
	var seen []int64
	for e, err := range c.Events.Stream(t.Context(), 1, StreamOptions{Level: "debug", After: &after}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"n":%d}`, e.Seq); string(e.Data) != want || e.EventType != "job_completed" {
			t.Errorf("event %d: %+v", e.Seq, e)
		}
		if seen = append(seen, e.Seq); e.Seq == 6 {
			break
		}
	}
	if diff := cmp.Diff([]int64{4, 5, 6}, seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want := []string{"after_seq=3&level=debug", "after_seq=4&level=debug", "after_seq=4&level=debug"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

// TestStreamEnds: a stream ends when the workflow is deleted, and when the server has
// been down for too long.
func TestStreamEnds(t *testing.T) {
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
	})
	for _, err := range c.Events.Stream(t.Context(), 1, StreamOptions{}) {
		if !IsNotFound(err) {
			t.Errorf("a deleted workflow: %v", err)
		}
	}
	c = serve(t, Options{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	rounds := 0
	for _, err := range c.Events.Stream(t.Context(), 1, StreamOptions{Patience: 10 * time.Millisecond}) {
		rounds++
		var refusal *APIError
		if errors.As(err, &refusal) || !IsUnreachable(err) {
			t.Errorf("a server that is down: %v", err)
		}
	}
	if rounds != 1 {
		t.Errorf("%d errors", rounds)
	}
}

// TestStreamNonsense: a stream ends at the first invalid frame.
func TestStreamNonsense(t *testing.T) {
	for _, frame := range []string{"id: x\ndata: {}\n\n", "id: 1\ndata: {\ndata: \n\n"} {
		asked := 0
		c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			fmt.Fprint(w, "id: 1\n\n", frame) // the first one is empty
		})
		for e, err := range c.Events.Stream(t.Context(), 1, StreamOptions{Patience: time.Nanosecond}) {
			if err == nil || IsUnreachable(err) || asked != 1 {
				t.Errorf("%q: %+v, %v, %d requests", frame, e, err, asked)
			}
		}
	}
}

// TestStreamCanceled ends a stream that waits for the server to return.
func TestStreamCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel()
	})
	var errs []error
	for _, err := range c.Events.Stream(ctx, 1, StreamOptions{}) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("errors %v", errs)
	}
}
