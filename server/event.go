package server

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) eventRoutes() []route {
	return []route{
		handle("POST", "/events", "Append an event to a workflow's log", s.createEvent),
		handle("GET", "/events", "List the events of a workflow", s.listEvents),
		handle("GET", "/events/{id}", "Get an event", s.getEvent),
		handle("PUT", "/events/{id}", "Replace an event's data by the whole body", s.updateEvent),
		handle("DELETE", "/events/{id}", "Delete an event's data", s.deleteEvent),
		handle("DELETE", "/events", "Delete the data of a workflow's events", s.deleteEvents),
		stream("GET", "/workflows/{id}/events/stream", "Follow a workflow's events", "text/event-stream", s.streamEvents),
	}
}

func fromEvent(e workflow.Event) api.Event {
	kind, severity := string(e.Type), string(e.Severity)
	return api.Event{
		ID: &e.ID, WorkflowID: e.WorkflowID, Timestamp: e.TimestampMS, Data: e.Data,
		Seq: &e.Seq, EventType: &kind, Severity: &severity,
	}
}

func (s *Server) createEvent(r *request[none, api.Event]) (api.Event, error) {
	e, err := s.Store.CreateEvent(r.Context(), r.Body.WorkflowID, r.Body.Data)
	return fromEvent(e), err
}

type eventListParams struct {
	workflowPageParams
	Category       *string `query:"category" doc:"data.category"`
	AfterTimestamp *int64  `query:"after_timestamp" doc:"later than this time in milliseconds"`
}

func (s *Server) listEvents(r *request[eventListParams, none]) (api.Page[api.Event], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.Event]{}, err
	}
	events, total, err := s.Store.Events(r.Context(), store.EventFilter{
		WorkflowID: r.Params.WorkflowID, Category: r.Params.Category, AfterMS: r.Params.AfterTimestamp,
	}, page)
	return pageOf(page, events, total, fromEvent), err
}

func (s *Server) getEvent(r *request[idParams, none]) (api.Event, error) {
	e, err := s.Store.Event(r.Context(), r.Params.ID)
	return fromEvent(e), err
}

func (s *Server) updateEvent(r *request[idParams, json.RawMessage]) (api.Event, error) {
	e, err := s.Store.UpdateEvent(r.Context(), r.Params.ID, r.Body)
	return fromEvent(e), err
}

func (s *Server) deleteEvent(r *request[idParams, none]) (api.Event, error) {
	e, err := s.Store.DeleteEvent(r.Context(), r.Params.ID)
	return fromEvent(e), err
}

func (s *Server) deleteEvents(r *request[workflowParams, none]) (api.DeleteCount, error) {
	n, err := s.Store.DeleteEvents(r.Context(), r.Params.WorkflowID)
	return api.DeleteCount{Count: n}, err
}
