package handler

import (
	"encoding/json"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
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
		rest.Handle("GET", "/audit", "List who changed what, when and by which door, the latest first", h.audit),
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

type auditParams struct {
	WorkflowID *int64  `query:"workflow_id" doc:"of this workflow, which may be deleted; of all, and of the server, without it"`
	SinceMS    *int64  `query:"since_ms" doc:"not before this time in milliseconds"`
	User       *string `query:"user" doc:"by this user"`
	Door       *string `query:"door" doc:"that came in by this door: cli, api, mcp, agent, job or rule"`
	Rules      *bool   `query:"rules" doc:"also what rules, breakers and deadlines did"`
	Limit      *int64  `query:"limit" doc:"the latest so many; 100 without it, at most 10000"`
}

func (h events) audit(r *rest.Request[auditParams, rest.None]) (api.AuditList, error) {
	const usual, most = 100, 10_000
	p := &r.Params
	f := audit.Filter{
		WorkflowID: Or(p.WorkflowID, 0), SinceMS: Or(p.SinceMS, 0), User: Or(p.User, ""), Door: audit.Door(Or(p.Door, "")), Rules: Or(p.Rules, false), Limit: Or(p.Limit, usual),
	}
	switch {
	case f.Limit < 1 || f.Limit > most:
		return api.AuditList{}, workflow.Errorf(workflow.CodeInvalid, "limit %d is not between 1 and %d", f.Limit, most)
	case f.Door != "" && !slices.Contains(audit.Doors(), f.Door):
		return api.AuditList{}, workflow.Errorf(workflow.CodeInvalid, "unknown door %q", string(f.Door)).WithHint("use cli, api, mcp, agent, job or rule")
	}
	entries, err := h.Store.Audit.List(r.Context(), f)
	return api.AuditList{Entries: NotNil(entries)}, err
}
