package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// CreateDefinition creates a workflow from its definition, all or nothing. The definition is
// streamed. A repetition with the same key, if not empty, returns the workflow that the
// first call created.
func (c Workflows) CreateDefinition(ctx context.Context, d *workflow.Definition, key string) (*api.DefinitionResponse, error) {
	if key != "" {
		ctx = repeatable(ctx)
	}
	out := new(api.DefinitionResponse)
	err := postLines(ctx, c, "/workflows/definition", out, func(w io.Writer) error { return api.WriteDefinition(w, d, key) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Amend changes a workflow to a new definition, and starts a new run with the jobs that have
// to run again; a dry run only returns which.
func (c Workflows) Amend(ctx context.Context, id int64, d *workflow.Definition, q api.AmendQuery) (*api.Amendment, error) {
	if q.DryRun {
		ctx = repeatable(ctx)
	}
	query := url.Values{}
	for name, set := range map[string]bool{"dry_run": q.DryRun, "all_new": q.AllNew, "files_stated": q.Stated, "take_back_cancellation": q.TakeBack} {
		if set {
			query.Set(name, "true")
		}
	}
	if q.RunID != nil {
		query.Set("expected_run_id", strconv.FormatInt(*q.RunID, 10))
	}
	out := new(api.Amendment)
	path := fmt.Sprintf("/workflows/%d/amend", id) + encode(query)
	if err := postLines(ctx, c, path, out, func(w io.Writer) error { return api.WriteDefinition(w, d, "") }); err != nil {
		return nil, err
	}
	return out, nil
}

// postLines posts lines of JSON while they are written, and reads the answer.
func postLines(ctx context.Context, c Workflows, path string, out any, write func(w io.Writer) error) error {
	var open *io.PipeReader // of the latest try
	written := make(chan struct{})
	close(written)
	// wait waits for the writer of the latest try. Its error is the pipe's, which the
	// request has returned.
	wait := func() {
		if open != nil {
			open.CloseWithError(errors.New("the request has ended"))
		}
		<-written
	}
	defer wait()
	body := func() (io.Reader, error) {
		wait()
		r, w := io.Pipe()
		done := make(chan struct{})
		open, written = r, done
		go func() {
			defer close(done)
			w.CloseWithError(write(w))
		}()
		return r, nil
	}
	req, err := c.request(ctx, http.MethodPost, path, body, "application/x-ndjson")
	if err != nil {
		return err
	}
	return c.answer(req, out)
}
