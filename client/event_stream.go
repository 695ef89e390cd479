package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
)

// StreamOptions select the events of a stream.
type StreamOptions struct {
	Level string // debug, info (default), warning, error
	// After is the seq after which the stream begins; nil for new events only.
	After *int64
	// Patience is how long the server may be unreachable; a minute if zero.
	Patience time.Duration
}

// StreamedEvent is an event with its seq.
type StreamedEvent struct {
	Seq int64
	api.StreamEvent
}

// errStreamEnded is the end of a connection, not of the stream.
var errStreamEnded = errors.New("the server closed the stream")

// Stream returns the events of a workflow until ctx is done. It reconnects after the last
// event if the connection is lost, so that each event is returned once.
func (c Events) Stream(ctx context.Context, workflowID int64, o StreamOptions) iter.Seq2[StreamedEvent, error] {
	return func(yield func(StreamedEvent, error) bool) {
		s := stream{client: c.conn, path: fmt.Sprintf("/workflows/%d/events/stream", workflowID), options: o, after: o.After}
		if s.options.Patience == 0 {
			s.options.Patience = time.Minute
		}
		s.lastHeard = time.Now()
		for {
			err := s.connect(ctx, yield)
			var refusal *APIError
			switch {
			case err == nil:
				return // the caller stopped the iteration
			case ctx.Err() != nil:
				yield(StreamedEvent{}, ctx.Err())
				return
			case errors.As(err, &refusal) && refusal.Status < 500, time.Since(s.lastHeard) > s.options.Patience:
				yield(StreamedEvent{}, err)
				return
			}
			s.pause(ctx)
		}
	}
}

// stream is one reader of events; its caller's goroutine owns it.
type stream struct {
	client    *conn
	path      string
	options   StreamOptions
	after     *int64 // seq of the last event; nil while none is known
	lastHeard time.Time
	failures  int // since the last frame
}

// connect makes one connection and yields its events. It returns nil if the caller stopped
// the iteration.
func (s *stream) connect(ctx context.Context, yield func(StreamedEvent, error) bool) error {
	query := encode(values("level", s.options.Level, "after_seq", s.after))
	req, err := s.client.request(ctx, http.MethodGet, s.path+query, nil, "")
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := s.client.http.HTTPClient.Do(req.Request)
	if err != nil {
		return unreachable("GET "+s.path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		if err != nil {
			return unreachable("GET "+s.path, err)
		}
		return apiError(resp.StatusCode, text)
	}
	return s.read(resp.Body, yield)
}

// read yields the events of a connection.
func (s *stream) read(body io.Reader, yield func(StreamedEvent, error) bool) error {
	lines := bufio.NewReaderSize(body, 1<<16)
	var f frame
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return unreachable("GET "+s.path, errors.Join(errStreamEnded, err))
		}
		s.lastHeard, s.failures = time.Now(), 0
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			f.add(line)
			continue
		}
		event, err := f.event()
		f = frame{}
		switch {
		case err != nil:
			return err
		case event == nil:
			continue
		}
		s.after = &event.Seq
		if !yield(*event, nil) {
			return nil
		}
	}
}

// pause waits before the next connection; longer after each failure.
func (s *stream) pause(ctx context.Context) {
	wait := min(100*time.Millisecond<<min(s.failures, 5), 2*time.Second)
	s.failures++
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// frame is a message of the stream.
type frame struct {
	id   string
	data strings.Builder
}

// add parses a line of a frame. It ignores comments and unused fields.
func (f *frame) add(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		f.id = value
	case "data":
		if f.data.Len() > 0 {
			f.data.WriteByte('\n')
		}
		f.data.WriteString(value)
	}
}

// event returns the event of a frame; nil for a frame without one.
func (f *frame) event() (*StreamedEvent, error) {
	if f.data.Len() == 0 || f.id == "" {
		return nil, nil
	}
	seq, err := strconv.ParseInt(f.id, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("event stream: id %q is not a number", f.id)
	}
	e := &StreamedEvent{Seq: seq}
	if err := json.Unmarshal([]byte(f.data.String()), &e.StreamEvent); err != nil {
		return nil, fmt.Errorf("event stream: event %d: %w", seq, err)
	}
	return e, nil
}
