package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// The event stream reads the event table from a seq; the hub only signals when to read
// again. So a slow client neither loses events nor makes the daemon keep them in memory,
// and a client that lost its connection continues from Last-Event-ID or after_seq.

type streamParams struct {
	IDParams
	Level    *string `query:"level" doc:"debug, info (default), warning or error: events below are left out"`
	AfterSeq *int64  `query:"after_seq" doc:"start after this seq; without it, and without Last-Event-ID, with the next event"`
}

const (
	streamBatch     = 512              // events read at once
	streamKeepAlive = 15 * time.Second // between comments when nothing happens
)

// streamEvents writes events until the client disconnects, the workflow is deleted
// or the daemon stops.
func (h events) streamEvents(w http.ResponseWriter, r *rest.Request[streamParams, rest.None]) error {
	ctx := r.Context()
	sub := h.Hub.Subscribe(hub.EventsOf(r.Params.ID)) // before the seq is read, so that no event is missed
	defer sub.Close()
	seq, err := h.Store.Events.LastSeq(ctx, r.Params.ID)
	if err != nil {
		return err
	}
	if after, ok := resumeAfter(r); ok {
		seq = min(after, seq)
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	defer h.Metrics.StreamOpened()()

	stream := &eventStream{deps: h.Deps, out: w, control: http.NewResponseController(w), workflowID: r.Params.ID, seq: seq}
	stream.level = event.Severity(Or(r.Params.Level, string(event.SeverityInfo)))
	stream.run(ctx, sub)
	return nil
}

// resumeAfter returns the seq of the last event that the client has received.
func resumeAfter(r *rest.Request[streamParams, rest.None]) (int64, bool) {
	if r.Params.AfterSeq != nil {
		return *r.Params.AfterSeq, true
	}
	seq, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	return seq, err == nil
}

// eventStream is one client's stream; its goroutine owns it.
type eventStream struct {
	deps       *Deps
	out        http.ResponseWriter
	control    *http.ResponseController
	workflowID int64
	level      event.Severity
	seq        int64 // of the last event that was sent or omitted
}

func (e *eventStream) run(ctx context.Context, sub *hub.Subscription) {
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
		case <-e.deps.Stopping:
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
		events, err := e.deps.Store.Events.After(ctx, e.workflowID, e.seq, streamBatch)
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

// keepAlive writes a comment, so that neither side considers the connection dead. It
// returns an error if the workflow no longer exists.
func (e *eventStream) keepAlive(ctx context.Context) error {
	if _, err := e.deps.Store.Events.LastSeq(ctx, e.workflowID); err != nil {
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
func writeFrame(out *bytes.Buffer, event event.Event) error {
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
