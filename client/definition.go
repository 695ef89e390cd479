package client

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// CreateDefinition creates a workflow from its definition, all or nothing. The definition is
// streamed. A repetition with the same key, if not empty, returns the workflow that the
// first call created.
func (c Workflows) CreateDefinition(ctx context.Context, d *workflow.Definition, key string) (*api.DefinitionResponse, error) {
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
			w.CloseWithError(api.WriteDefinition(w, d, key))
		}()
		return r, nil
	}
	if key != "" {
		ctx = repeatable(ctx)
	}
	req, err := c.request(ctx, http.MethodPost, "/workflows/definition", body, "application/x-ndjson")
	if err != nil {
		return nil, err
	}
	out := new(api.DefinitionResponse)
	if err := c.answer(req, out); err != nil {
		return nil, err
	}
	return out, nil
}
