package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// forwarder sends requests on, and gives up if no answer begins in time.
type forwarder func(*http.Request) (*http.Response, error)

// RoundTrip makes a request to the daemon.
func (forward forwarder) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(answerTime, func() { cancel(fmt.Errorf("no answer within %s", answerTime)) })
	resp, err := forward(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &answerBody{resp.Body, cancel}
	return resp, nil
}

// answerBody releases what a request holds when its answer has been read.
type answerBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close ends the request.
func (b *answerBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
