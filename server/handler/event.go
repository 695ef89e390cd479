package handler

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// events handles requests about the event log.
type events struct{ *Deps }

func (h events) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/events", "Append an event to a workflow's log", h.createEvent),
		rest.Handle("GET", "/events", "List the events of a workflow", List(h.listEvents, fromEvent)),
		rest.Handle("GET", "/events/{id}", "Get an event", ByID(h.Store.Events.Get, fromEvent)),
		rest.Handle("PUT", "/events/{id}", "Replace an event's data by the whole body", h.updateEvent),
		rest.Handle("DELETE", "/events/{id}", "Delete an event's data", ByID(h.Store.Events.Delete, fromEvent)),
		rest.Handle("DELETE", "/events", "Delete the data of a workflow's events", DeleteAll(h.Store.Events.DeleteAll)),
		rest.Stream("GET", "/workflows/{id}/events/stream", "Follow a workflow's events", "text/event-stream", h.streamEvents),
	}
}

func fromEvent(e event.Event) api.Event {
	kind, severity := string(e.Type), string(e.Severity)
	return api.Event{
		ID: &e.ID, WorkflowID: e.WorkflowID, Timestamp: e.TimestampMS, Data: e.Data,
		Seq: &e.Seq, EventType: &kind, Severity: &severity,
	}
}

func (h events) createEvent(r *rest.Request[rest.None, api.Event]) (api.Event, error) {
	e, err := h.Store.Events.Create(r.Context(), r.Body.WorkflowID, r.Body.Data)
	return fromEvent(e), err
}

type eventListParams struct {
	WorkflowPageParams
	Category       *string `query:"category" doc:"data.category"`
	AfterTimestamp *int64  `query:"after_timestamp" doc:"later than this time in milliseconds"`
}

func (h events) listEvents(r *rest.Request[eventListParams, rest.None], page store.Page) ([]event.Event, int64, error) {
	return h.Store.Events.List(r.Context(), store.EventFilter{
		WorkflowID: r.Params.WorkflowID, Category: r.Params.Category, AfterMS: r.Params.AfterTimestamp,
	}, page)
}

func (h events) updateEvent(r *rest.Request[IDParams, json.RawMessage]) (api.Event, error) {
	e, err := h.Store.Events.Update(r.Context(), r.Params.ID, r.Body)
	return fromEvent(e), err
}
