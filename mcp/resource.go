package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The addresses of resources.
const (
	docsURI      = "torc://docs/"
	examplesURI  = "torc://examples/"
	workflowsURI = "torc://workflows/"
	jobsURI      = "torc://jobs/"
)

// addResources adds the library, and what is live: workflows, why they are in their state,
// and the output of jobs.
func (s *Server) addResources() {
	s.addLibrary(docsURI, docPages(), "text/markdown")
	s.addLibrary(examplesURI, examplePages(), "text/plain")
	for _, t := range []sdk.ResourceTemplate{
		{Name: "workflow", Title: "A workflow", URITemplate: workflowsURI + "{id}", Description: "Summary of a workflow, as get_workflow_summary returns it. Can be subscribed to."},
		{Name: "workflow-why", Title: "Why a workflow is in its state", URITemplate: workflowsURI + "{id}/why", Description: "The state of a workflow in words, and what happens next. Can be subscribed to."},
		{Name: "job-log", Title: "Output of a job", URITemplate: jobsURI + "{id}/log", Description: "The last lines of stdout and stderr of a job's latest attempt. Can be subscribed to."},
	} {
		t.MIMEType = "application/json"
		s.server.AddResourceTemplate(&t, s.readLive)
	}
}

// addLibrary adds pages as resources.
func (s *Server) addLibrary(prefix string, pages []libraryPage, media string) {
	for _, p := range pages {
		text, err := p.text()
		if err != nil {
			continue // embedded files can be read
		}
		uri := prefix + p.name
		if prefix == examplesURI {
			uri = prefix + p.path
		}
		s.server.AddResource(&sdk.Resource{URI: uri, Name: p.name, Title: heading(text), MIMEType: media, Size: int64(len(text))},
			func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return contents(uri, media, text), nil
			})
	}
}

func contents(uri, media, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: media, Text: text}}}
}

// readLive reads a resource that changes.
func (s *Server) readLive(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	kind, id, err := parseLive(uri)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	text, err := s.carryOut(ctx, uri, func(ctx context.Context, c *call) (any, error) { return c.live(ctx, kind, id) })
	if err != nil {
		p := problemOf(err)
		if p.Code == workflow.CodeNotFound {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		data, _ := json.Marshal(p)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.line(p.Message, maxMessage), Data: data}
	}
	return contents(uri, "application/json", string(text)), nil
}

// liveKind is a kind of resources that change.
type liveKind int

const (
	liveWorkflow liveKind = iota
	liveWhy
	liveLog
)

var errNotLive = errors.New("not the address of a live resource")

// parseLive returns what the address of a live resource names.
func parseLive(uri string) (kind liveKind, id int64, err error) {
	rest, isJob := strings.CutPrefix(uri, jobsURI)
	rest, isLog := strings.CutSuffix(rest, "/log")
	if kind = liveLog; !isJob {
		var ok, isWhy bool
		if rest, ok = strings.CutPrefix(uri, workflowsURI); !ok {
			return 0, 0, errNotLive
		}
		if rest, isWhy = strings.CutSuffix(rest, "/why"); isWhy {
			kind = liveWhy
		} else {
			kind = liveWorkflow
		}
	} else if !isLog {
		return 0, 0, errNotLive
	}
	id, err = strconv.ParseInt(rest, 10, 64)
	if err != nil || id < 1 {
		return 0, 0, errNotLive
	}
	return kind, id, nil
}

type whyOut struct {
	Subject string    `json:"subject"`
	State   string    `json:"state"`
	Next    string    `json:"next,omitempty"`
	Why     []section `json:"why"`
}

type logOut struct {
	JobID     int64      `json:"job_id"`
	Name      string     `json:"name"`
	Status    string     `json:"status"`
	RunID     int64      `json:"run_id,omitempty"`
	AttemptID int64      `json:"attempt_id,omitempty"`
	Stdout    jobLogsOut `json:"stdout"`
	Stderr    jobLogsOut `json:"stderr"`
}

// live returns a resource that changes.
func (c *call) live(ctx context.Context, kind liveKind, id int64) (any, error) {
	switch kind {
	case liveWorkflow:
		return getWorkflowSummary(ctx, c, workflowIn{id})
	case liveWhy:
		e, err := c.Workflows.Why(ctx, id)
		if err != nil {
			return nil, err
		}
		return whyOut{e.Subject, e.State, e.Next, sectionsOf(e)}, nil
	}
	job, err := c.Jobs.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	out := logOut{JobID: id, Name: job.Name, Status: value(job.Status).String()}
	attempts, err := c.Jobs.Attempts(ctx, id)
	if err != nil || len(attempts) == 0 {
		return out, err
	}
	last := &attempts[len(attempts)-1]
	out.RunID, out.AttemptID = last.RunID, last.AttemptID
	in := jobLogsIn{workflowIn: workflowIn{job.WorkflowID}, jobIn: jobIn{id}, RunID: last.RunID, AttemptID: last.AttemptID}
	for _, part := range []struct {
		kind string
		to   *jobLogsOut
	}{{"stdout", &out.Stdout}, {"stderr", &out.Stderr}} {
		in.LogType = part.kind
		if *part.to, err = getJobLogs(ctx, c, in); err != nil && workflow.CodeOf(err) != workflow.CodeNotFound {
			return nil, err
		}
	}
	return out, nil
}
