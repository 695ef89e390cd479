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
