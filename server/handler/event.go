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
		rest.Handle("GET", "/events", "List the events of a workflow", h.listEvents),
		rest.Handle("GET", "/events/{id}", "Get an event", h.getEvent),
		rest.Handle("PUT", "/events/{id}", "Replace an event's data by the whole body", h.updateEvent),
		rest.Handle("DELETE", "/events/{id}", "Delete an event's data", h.deleteEvent),
		rest.Handle("DELETE", "/events", "Delete the data of a workflow's events", h.deleteEvents),
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

func (h events) listEvents(r *rest.Request[eventListParams, rest.None]) (api.Page[api.Event], error) {
	page, err := r.Params.Page()
	if err != nil {
		return api.Page[api.Event]{}, err
	}
	events, total, err := h.Store.Events.List(r.Context(), store.EventFilter{
		WorkflowID: r.Params.WorkflowID, Category: r.Params.Category, AfterMS: r.Params.AfterTimestamp,
	}, page)
	return PageOf(page, events, total, fromEvent), err
}

func (h events) getEvent(r *rest.Request[IDParams, rest.None]) (api.Event, error) {
	e, err := h.Store.Events.Get(r.Context(), r.Params.ID)
	return fromEvent(e), err
}

func (h events) updateEvent(r *rest.Request[IDParams, json.RawMessage]) (api.Event, error) {
	e, err := h.Store.Events.Update(r.Context(), r.Params.ID, r.Body)
	return fromEvent(e), err
}

func (h events) deleteEvent(r *rest.Request[IDParams, rest.None]) (api.Event, error) {
	e, err := h.Store.Events.Delete(r.Context(), r.Params.ID)
	return fromEvent(e), err
}

func (h events) deleteEvents(r *rest.Request[WorkflowParams, rest.None]) (api.DeleteCount, error) {
	n, err := h.Store.Events.DeleteAll(r.Context(), r.Params.WorkflowID)
	return api.DeleteCount{Count: n}, err
}
