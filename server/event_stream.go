package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// The event stream reads the event table, from a seq on; the hub only says
// when to look again. So a slow client cannot lose an event or make the daemon
// keep one in memory for it, and a client that lost its line goes on where it
// was, by Last-Event-ID or after_seq.

type streamParams struct {
	idParams
	Level    *string `query:"level" doc:"debug, info (default), warning or error: events below are left out"`
	AfterSeq *int64  `query:"after_seq" doc:"begin after this seq; without it, and without Last-Event-ID, with the next event"`
}

const (
	streamBatch     = 512              // events read at once
	streamKeepAlive = 15 * time.Second // between comments when nothing happens
)

// streamEvents answers until the client goes, the workflow is deleted or the
// daemon stops.
func (s *Server) streamEvents(w http.ResponseWriter, r *request[streamParams, none]) error {
	ctx := r.Context()
	sub := s.Hub.Subscribe(EventsOf(r.Params.ID)) // before the seq is read, so that nothing falls between
	defer sub.Close()
	seq, err := s.Store.LastEventSeq(ctx, r.Params.ID)
	if err != nil {
		return err
	}
	if after, ok := resumeAfter(r); ok {
		seq = min(after, seq)
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	s.Metrics.streams.Inc()
	defer s.Metrics.streams.Dec()

	stream := &eventStream{server: s, out: w, control: http.NewResponseController(w), workflowID: r.Params.ID, seq: seq}
	stream.level = workflow.Severity(or(r.Params.Level, string(workflow.SeverityInfo)))
	stream.run(ctx, sub)
	return nil
}

// resumeAfter is the seq that the client has seen last.
func resumeAfter(r *request[streamParams, none]) (int64, bool) {
	if r.Params.AfterSeq != nil {
		return *r.Params.AfterSeq, true
	}
	seq, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	return seq, err == nil
}

// eventStream is one client's stream; its goroutine owns it.
type eventStream struct {
	server     *Server
	out        http.ResponseWriter
	control    *http.ResponseController
	workflowID int64
	level      workflow.Severity
	seq        int64 // of the last event that was sent or left out
}

func (e *eventStream) run(ctx context.Context, sub *Subscription) {
	keepAlive := time.NewTicker(streamKeepAlive)
	defer keepAlive.Stop()
	if e.send(ctx) != nil {
		return
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-e.server.stopping:
			return
		case <-sub.C:
			err = e.send(ctx)
		case <-keepAlive.C:
			err = e.keepAlive(ctx)
		}
		if err != nil {
			return // the client or the workflow is gone
		}
	}
}

// send writes all events after e.seq.
func (e *eventStream) send(ctx context.Context) error {
	for {
		events, err := e.server.Store.EventsAfter(ctx, e.workflowID, e.seq, streamBatch)
		if err != nil {
			return err
		}
		var frames bytes.Buffer
		for _, event := range events {
			e.seq = event.Seq
			if event.Severity.AtLeast(e.level) {
				if err := writeFrame(&frames, event); err != nil {
					return err
				}
			}
		}
		if err := e.write(frames.Bytes()); err != nil {
			return err
		}
		if len(events) < streamBatch {
			return nil
		}
	}
}

// keepAlive writes a comment, so that neither side takes the line for dead,
// while the workflow exists.
func (e *eventStream) keepAlive(ctx context.Context) error {
	if _, err := e.server.Store.LastEventSeq(ctx, e.workflowID); err != nil {
		return err
	}
	return e.write([]byte(": keep-alive\n\n"))
}

func (e *eventStream) write(text []byte) error {
	if _, err := e.out.Write(text); err != nil {
		return err
	}
	return e.control.Flush()
}

// writeFrame writes an event as torc does, with its seq as the id.
func writeFrame(out *bytes.Buffer, event workflow.Event) error {
	data, err := json.Marshal(api.StreamEvent{
		WorkflowID: event.WorkflowID, Timestamp: event.TimestampMS, EventType: string(event.Type),
		Severity: string(event.Severity), Data: event.Data,
	})
	if err != nil {
		return fmt.Errorf("write event %d: %w", event.ID, err)
	}
	fmt.Fprintf(out, "event: %s\nid: %d\ndata: %s\n\n", event.Type, event.Seq, data)
	return nil
}
