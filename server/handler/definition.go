package handler

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
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// DefinitionMedia is lines of JSON.
const DefinitionMedia = "application/x-ndjson"

// maxDefinitionLine limits one line, in bytes. Our own client writes lines of a
// thousand records.
const maxDefinitionLine = 64 << 20

// definitions handles requests about whole workflows: created and read in one request.
type definitions struct{ *Deps }

func (h definitions) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/definition", "Create a whole workflow from lines of JSON, all or nothing", h.createDefinition,
			rest.Streamed(DefinitionMedia, api.DefinitionLine{})),
	}
}

// createDefinition reads the lines while they arrive, so that neither side holds
// a large workflow in memory.
func (h definitions) createDefinition(r *rest.Request[rest.None, rest.None]) (api.DefinitionResponse, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != DefinitionMedia {
		return api.DefinitionResponse{}, rest.TextErrorf(http.StatusUnsupportedMediaType, "Content type error: send %s", DefinitionMedia)
	}
	lines := &definitionReader{lines: bufio.NewReaderSize(r.Request.Body, 1<<16)}
	first, err := lines.next()
	if err != nil {
		return api.DefinitionResponse{}, err
	}
	if first.Workflow == nil {
		return api.DefinitionResponse{}, rest.TextErrorf(http.StatusUnprocessableEntity, "line 1: the first line of a definition must be the workflow")
	}
	header := &first.Workflow.Definition
	header.Metadata, header.SlurmDefaults = raw(header.Metadata), raw(header.SlurmDefaults)
	if caller := access.CallerOf(r.Context()); caller.Known {
		header.User = caller.User
	}
	d, err := h.Store.Workflows.BeginDefinition(r.Context(), header, first.Workflow.Key)
	if err != nil {
		return api.DefinitionResponse{}, err
	}
	if id, jobs, finished, err := d.Finished(r.Context()); finished || err != nil {
		return api.DefinitionResponse{WorkflowID: id, JobCount: jobs}, err
	}
	answer, err := h.readDefinition(r, d, lines)
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return answer, err
}

func (h definitions) readDefinition(r *rest.Request[rest.None, rest.None], d *store.DefinitionWriter, lines *definitionReader) (api.DefinitionResponse, error) {
	for {
		line, err := lines.next()
		if err != nil {
			return api.DefinitionResponse{}, err
		}
		if line.Workflow != nil {
			return api.DefinitionResponse{}, rest.TextErrorf(http.StatusUnprocessableEntity, "line %d: duplicate workflow", lines.number)
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

// next reads a line. It returns an error at the end of the text, because a definition
// must end with an end line.
func (d *definitionReader) next() (*api.DefinitionLine, error) {
	d.number++
	text, err := d.read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, rest.TextErrorf(http.StatusBadRequest, "line %d: the definition ended without an end line", d.number)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, rest.BodyReadError(err)
	case err != nil:
		return nil, err
	}
	line := &api.DefinitionLine{}
	err = rest.CheckCost(text, reflect.TypeFor[api.DefinitionLine]())
	if err == nil {
		if err = json.Unmarshal(text, line); err != nil {
			err = rest.BodyError(err)
		}
	}
	if err != nil {
		var refused *rest.TextError
		if errors.As(err, &refused) {
			refused.Text = fmt.Sprintf("line %d: %s", d.number, refused.Text)
		}
		return nil, err
	}
	if err := checkFreeParts(line); err != nil {
		return nil, rest.TextErrorf(http.StatusUnprocessableEntity, "line %d: Json deserialize error: %v", d.number, err)
	}
	return line, nil
}

// checkFreeParts applies checkFreeJSON to the free-form fields of a line.
func checkFreeParts(l *api.DefinitionLine) error {
	if h := l.Workflow; h != nil {
		if err := rest.CheckFreeJSON(h.Metadata); err != nil {
			return fmt.Errorf("field `metadata`: %w", err)
		}
		if err := rest.CheckFreeJSON(h.SlurmDefaults); err != nil {
			return fmt.Errorf("field `slurm_defaults`: %w", err)
		}
	}
	for i := range l.UserData {
		if err := rest.CheckFreeJSON(l.UserData[i].Data); err != nil {
			return fmt.Errorf("field `data` in user_data[%d]: %w", i, err)
		}
	}
	return nil
}

// read returns the text of the next line that is not blank, io.EOF after the last.
func (d *definitionReader) read() ([]byte, error) {
	d.text = d.text[:0]
	for {
		part, err := d.lines.ReadSlice('\n')
		d.text = append(d.text, part...)
		switch {
		case len(d.text) > maxDefinitionLine:
			return nil, rest.TextErrorf(http.StatusRequestEntityTooLarge, "line %d is longer than %d bytes", d.number, maxDefinitionLine)
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

// asEnd returns io.EOF for a body that was cut off: the missing end line shows it.
func asEnd(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

func definitionChunk(l *api.DefinitionLine) *workflow.Definition {
	return &workflow.Definition{
		Files: l.Files, UserData: l.UserData, FailureHandlers: l.FailureHandlers, SlurmSchedulers: l.SlurmSchedulers,
		Stages: l.Stages, Jobs: l.Jobs, Actions: l.Actions,
		Requirements: Each(l.Requirements, func(r api.DefinitionRequirements) workflow.ResourceRequirements {
			return workflow.ResourceRequirements{
				Name: r.Name, NumCPUs: r.NumCPUs, NumGPUs: r.NumGPUs, NumNodes: r.NumNodes, Memory: r.Memory, Runtime: r.Runtime,
			}
		}),
	}
}
