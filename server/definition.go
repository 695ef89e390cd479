package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// definitionMedia is lines of JSON.
const definitionMedia = "application/x-ndjson"

// maxDefinitionLine is the limit for one line, in bytes. A client of ours
// writes lines of a thousand records.
const maxDefinitionLine = 64 << 20

func (s *Server) definitionRoutes() []route {
	return []route{
		handle("POST", "/workflows/definition", "Create a whole workflow from lines of JSON, all or nothing", s.createDefinition,
			streamed(definitionMedia, api.DefinitionLine{})),
	}
}

// createDefinition reads the lines while they arrive, so that neither side
// holds all of a large workflow.
func (s *Server) createDefinition(r *request[none, none]) (api.DefinitionResponse, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != definitionMedia {
		return api.DefinitionResponse{}, textErrorf(http.StatusUnsupportedMediaType, "Content type error: send %s", definitionMedia)
	}
	lines := &definitionReader{lines: bufio.NewReaderSize(r.Request.Body, 1<<16)}
	first, err := lines.next()
	if err != nil {
		return api.DefinitionResponse{}, err
	}
	if first.Workflow == nil {
		return api.DefinitionResponse{}, textErrorf(http.StatusUnprocessableEntity, "line 1: a definition begins with the workflow")
	}
	header := definitionHeader(first.Workflow)
	if caller := callerOf(r.Context()); caller.Known {
		header.User = caller.User
	}
	d, err := s.Store.BeginDefinition(r.Context(), header, first.Workflow.Key)
	if err != nil {
		return api.DefinitionResponse{}, err
	}
	if id, jobs, finished, err := d.Finished(r.Context()); finished || err != nil {
		return api.DefinitionResponse{WorkflowID: id, JobCount: jobs}, err
	}
	answer, err := s.readDefinition(r, d, lines)
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return answer, err
}

func (s *Server) readDefinition(r *request[none, none], d *store.DefinitionWriter, lines *definitionReader) (api.DefinitionResponse, error) {
	for {
		line, err := lines.next()
		if err != nil {
			return api.DefinitionResponse{}, err
		}
		if line.Workflow != nil {
			return api.DefinitionResponse{}, textErrorf(http.StatusUnprocessableEntity, "line %d: a second workflow", lines.number)
		}
		if err := d.Add(definitionChunk(line)); err != nil {
			return api.DefinitionResponse{}, err
		}
		if line.End != nil {
			id, err := d.Finish(r.Context(), line.End.Jobs, line.End.Files)
			return api.DefinitionResponse{WorkflowID: id, JobCount: line.End.Jobs}, err
		}
	}
}

// definitionReader reads the lines of a definition.
type definitionReader struct {
	lines  *bufio.Reader
	number int
	text   []byte // of the line; reused
}

// next reads a line. The end of the text is an error: a definition ends with
// an end line.
func (d *definitionReader) next() (*api.DefinitionLine, error) {
	d.number++
	text, err := d.read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, textErrorf(http.StatusBadRequest, "line %d: the definition ended without an end line", d.number)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, endedEarly(err)
	case err != nil:
		return nil, err
	}
	line := &api.DefinitionLine{}
	err = affordable(text, reflect.TypeFor[api.DefinitionLine]())
	if err == nil {
		if err = json.Unmarshal(text, line); err != nil {
			err = bodyError(err)
		}
	}
	if err != nil {
		var refused *textError
		if errors.As(err, &refused) {
			refused.text = fmt.Sprintf("line %d: %s", d.number, refused.text)
		}
		return nil, err
	}
	if err := checkFreeParts(line); err != nil {
		return nil, textErrorf(http.StatusUnprocessableEntity, "line %d: Json deserialize error: %v", d.number, err)
	}
	return line, nil
}

// checkFreeParts is checkFreeJSON for what a line has of it.
func checkFreeParts(l *api.DefinitionLine) error {
	if h := l.Workflow; h != nil {
		if err := checkFreeJSON(h.Metadata); err != nil {
			return fmt.Errorf("field `metadata`: %w", err)
		}
		if err := checkFreeJSON(h.SlurmDefaults); err != nil {
			return fmt.Errorf("field `slurm_defaults`: %w", err)
		}
	}
	for i := range l.UserData {
		if err := checkFreeJSON(l.UserData[i].Data); err != nil {
			return fmt.Errorf("field `data` in user_data[%d]: %w", i, err)
		}
	}
	return nil
}

// read returns the text of a line that is not blank; io.EOF if none is left.
func (d *definitionReader) read() ([]byte, error) {
	d.text = d.text[:0]
	for {
		part, err := d.lines.ReadSlice('\n')
		d.text = append(d.text, part...)
		switch {
		case len(d.text) > maxDefinitionLine:
			return nil, textErrorf(http.StatusRequestEntityTooLarge, "line %d is longer than %d bytes", d.number, maxDefinitionLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(bytes.TrimSpace(d.text)) == 0):
			return nil, asEnd(err)
		}
		if text := bytes.TrimSpace(d.text); len(text) > 0 {
			return text, nil
		}
		d.text = d.text[:0] // a blank line
	}
}

// asEnd takes a body that was cut off for one that has ended.
func asEnd(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

func definitionHeader(h *api.DefinitionHeader) *workflow.Definition {
	return &workflow.Definition{
		Name: h.Name, User: h.User, Description: h.Description, Project: h.Project, Metadata: raw(h.Metadata),
		Env: h.Env, SubmissionDirectory: h.SubmissionDirectory, AccessGroups: h.AccessGroups,
		ComputeNodeWaitForNewJobsSeconds:         h.ComputeNodeWaitForNewJobsSeconds,
		ComputeNodeIgnoreWorkflowCompletion:      h.ComputeNodeIgnoreWorkflowCompletion,
		ComputeNodeWaitForHealthyDatabaseMinutes: h.ComputeNodeWaitForHealthyDatabaseMinutes,
		ComputeNodeMinTimeForNewJobsSeconds:      h.ComputeNodeMinTimeForNewJobsSeconds,
		ComputeNodeExpirationBufferSeconds:       h.ComputeNodeExpirationBufferSeconds,
		UsePendingFailed:                         h.UsePendingFailed,
		EnableROCrate:                            h.EnableROCrate,
		EnforceRuntime:                           h.EnforceRuntime,
		ExecutionConfig:                          h.ExecutionConfig,
		ResourceMonitor:                          h.ResourceMonitor,
		SlurmDefaults:                            raw(h.SlurmDefaults),
		DynamicJobs:                              h.DynamicJobs,
		Policy:                                   h.Policy,
	}
}

func definitionChunk(l *api.DefinitionLine) *workflow.Definition {
	return &workflow.Definition{
		Files:    each(l.Files, func(f api.DefinitionFile) workflow.FileDefinition { return workflow.FileDefinition(f) }),
		UserData: each(l.UserData, func(d api.DefinitionUserData) workflow.UserDataDefinition { return workflow.UserDataDefinition(d) }),
		Requirements: each(l.Requirements, func(r api.DefinitionRequirements) workflow.ResourceRequirements {
			return workflow.ResourceRequirements{
				Name: r.Name, NumCPUs: r.NumCPUs, NumGPUs: r.NumGPUs, NumNodes: r.NumNodes, Memory: r.Memory, Runtime: r.Runtime,
			}
		}),
		FailureHandlers: each(l.FailureHandlers, func(h api.DefinitionFailureHandler) workflow.FailureHandlerDefinition {
			return workflow.FailureHandlerDefinition(h)
		}),
		SlurmSchedulers: each(l.SlurmSchedulers, func(c api.DefinitionSlurmScheduler) workflow.SlurmSchedulerDefinition {
			return workflow.SlurmSchedulerDefinition(c)
		}),
		Stages:  each(l.Stages, func(s api.DefinitionStage) workflow.StageDefinition { return workflow.StageDefinition(s) }),
		Jobs:    each(l.Jobs, func(j api.DefinitionJob) workflow.JobDefinition { return workflow.JobDefinition(j) }),
		Actions: each(l.Actions, func(a api.DefinitionAction) workflow.ActionDefinition { return workflow.ActionDefinition(a) }),
	}
}
