package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// forwarder forwards requests, and cancels them if no answer begins within answerTime.
type forwarder func(*http.Request) (*http.Response, error)

// RoundTrip forwards a request to the daemon. It returns an error without an answer.
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

// answerBody releases the context of a request when its answer is closed.
type answerBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close ends the request.
func (b *answerBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
