package handler

import (
	"bufio"
	"bytes"
	"context"
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
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// DefinitionMedia is lines of JSON.
const DefinitionMedia = "application/x-ndjson"

// maxDefinitionLine limits one line, in bytes. Our own client writes lines of a
// thousand records.
const maxDefinitionLine = 64 << 20

// definitions handles requests about whole workflows, created and changed in one request.
type definitions struct{ *Deps }

func (h definitions) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/definition", "Create a whole workflow from lines of JSON, all or nothing", h.createDefinition,
			rest.Streamed(DefinitionMedia, api.DefinitionLine{})),
		rest.Handle("POST", "/workflows/{id}/amend", "Change a workflow to a new definition of it, in lines of JSON, and run again what has changed; a dry run only says what that is", h.amend,
			rest.Streamed(DefinitionMedia, api.DefinitionLine{}), rest.Conflict409),
	}
}

// createDefinition reads the lines while they arrive, so that neither side holds
// a large workflow in memory.
func (h definitions) createDefinition(r *rest.Request[rest.None, rest.None]) (answer api.DefinitionResponse, err error) {
	lines, err := streamedDefinition(r.Request)
	if err != nil {
		return answer, err
	}
	d, err := lines.begin(r.Context(), h.Store, nil)
	if err != nil {
		return answer, err
	}
	if id, jobs, finished, err := d.Finished(r.Context()); finished || err != nil {
		return api.DefinitionResponse{WorkflowID: id, JobCount: jobs}, err
	}
	err = lines.finish(d, func(jobs, files int64) (err error) {
		answer.JobCount = jobs
		answer.WorkflowID, err = d.Finish(r.Context(), jobs, files)
		return err
	})
	return answer, err
}

type amendParams struct {
	IDParams
	DryRun   *bool  `query:"dry_run" doc:"only say what would change"`
	RunID    *int64 `query:"expected_run_id" doc:"rejected unless the workflow is at this run"`
	AllNew   *bool  `query:"all_new" doc:"even if the workflow has no job of the definition"`
	Stated   *bool  `query:"files_stated" doc:"all files have their present st_mtime and size, absent for one that does not exist: outputs that are gone and inputs that have changed are found"`
	TakeBack *bool  `query:"take_back_cancellation" doc:"even if the workflow was canceled; then it no longer is"`
}

// amend reads the whole definition into memory, since it is compared as a whole.
func (h definitions) amend(r *rest.Request[amendParams, rest.None]) (answer api.Amendment, err error) {
	lines, err := streamedDefinition(r.Request)
	if err != nil {
		return answer, err
	}
	header, err := lines.header(r.Context())
	if err != nil {
		return answer, err
	}
	d, p := &header.Definition, &r.Params
	add := func(part *workflow.Definition) error {
		d.Append(part)
		return nil
	}
	err = lines.rest(add, func(jobs, files int64) (err error) {
		if int64(len(d.Jobs)) != jobs || int64(len(d.Files)) != files {
			return workflow.Errorf(workflow.CodeInvalid, "the definition is incomplete: %d of %d jobs and %d of %d files have arrived", len(d.Jobs), jobs, len(d.Files), files)
		}
		answer, err = service.Amend(r.Context(), h.Store, p.ID, d, api.AmendQuery{
			DryRun: Or(p.DryRun, false), RunID: p.RunID, AllNew: Or(p.AllNew, false), Stated: Or(p.Stated, false), TakeBack: Or(p.TakeBack, false),
		})
		return err
	})
	return answer, err
}

// streamedDefinition returns the reader of a request whose body has a definition.
func streamedDefinition(r *http.Request) (*definitionReader, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != DefinitionMedia {
		return nil, rest.TextErrorf(http.StatusUnsupportedMediaType, "Content type error: send %s", DefinitionMedia)
	}
	return &definitionReader{lines: bufio.NewReaderSize(r.Body, 1<<16)}, nil
}

// definitionReader reads the lines of a definition.
type definitionReader struct {
	lines  *bufio.Reader
	number int
	text   []byte // of the line; reused
}

// begin reads the header of a definition, and begins to write the definition to a database.
// The key is that of the header if it is nil.
func (d *definitionReader) begin(ctx context.Context, st *store.Store, key *string) (*store.DefinitionWriter, error) {
	header, err := d.header(ctx)
	if err != nil {
		return nil, err
	}
	if key == nil {
		key = &header.Key
	}
	return st.Workflows.BeginDefinition(ctx, &header.Definition, *key)
}

// header reads the header of a definition, whose user is the caller.
func (d *definitionReader) header(ctx context.Context) (*api.DefinitionHeader, error) {
	first, err := d.next()
	if err != nil {
		return nil, err
	}
	header := first.Workflow
	if header == nil {
		return nil, rest.TextErrorf(http.StatusUnprocessableEntity, "line %d: the first line of a definition must be the workflow", d.number)
	}
	header.Metadata, header.SlurmDefaults = raw(header.Metadata), raw(header.SlurmDefaults)
	if caller := access.CallerOf(ctx); caller.Known {
		header.User = caller.User
	}
	return header, nil
}

// finish reads the lines after the header, and calls end with the counts of the last one. It
// closes the writer.
func (d *definitionReader) finish(w *store.DefinitionWriter, end func(jobs, files int64) error) (err error) {
	defer func() {
		if closeErr := w.Close(); err == nil {
			err = closeErr
		}
	}()
	return d.rest(w.Add, end)
}

// rest reads the lines after the header, and calls end with the counts of the last one.
func (d *definitionReader) rest(add func(*workflow.Definition) error, end func(jobs, files int64) error) error {
	for {
		line, err := d.next()
		if err != nil {
			return err
		}
		if line.Workflow != nil {
			return rest.TextErrorf(http.StatusUnprocessableEntity, "line %d: duplicate workflow", d.number)
		}
		if err := add(definitionChunk(line)); err != nil {
			return err
		}
		if line.End != nil {
			return end(line.End.Jobs, line.End.Files)
		}
	}
}

// next reads a line. It returns an error at the end of the text, because a definition
// must end with an end line.
func (d *definitionReader) next() (*api.DefinitionLine, error) {
	line := &api.DefinitionLine{}
	if err := d.decode(line); err != nil {
		return nil, err
	}
	if err := checkFreeParts(line); err != nil {
		return nil, rest.TextErrorf(http.StatusUnprocessableEntity, "line %d: Json deserialize error: %v", d.number, err)
	}
	return line, nil
}

// decode reads a line into the value that a pointer points to.
func (d *definitionReader) decode(line any) error {
	d.number++
	text, err := d.read()
	switch {
	case errors.Is(err, io.EOF):
		return rest.TextErrorf(http.StatusBadRequest, "line %d: the definition ended without an end line", d.number)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return rest.BodyReadError(err)
	case err != nil:
		return err
	}
	err = rest.CheckCost(text, reflect.TypeOf(line).Elem())
	if err == nil {
		if err = json.Unmarshal(text, line); err != nil {
			err = rest.BodyError(err)
		}
	}
	var refused *rest.TextError
	if errors.As(err, &refused) {
		refused.Text = fmt.Sprintf("line %d: %s", d.number, refused.Text)
	}
	return err
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
