package client

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/hashicorp/go-retryablehttp"
)

// A call whose answer was lost may have been carried out. It is repeated only if it is
// idempotent: by its method, or because the server recognizes the repetition. A call that
// has not reached a server is always repeated.

// repeatableKey marks the context of a POST that may be repeated.
type repeatableKey struct{}

// repeatable returns a context whose POST requests may be repeated.
func repeatable(ctx context.Context) context.Context {
	return context.WithValue(ctx, repeatableKey{}, true)
}

func isRepeatable(ctx context.Context) bool { return ctx.Value(repeatableKey{}) != nil }

// checkRetry reports whether a request is repeated. The context is the request's.
func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case IsOtherUser(err): // a repetition would not change that
		return false, err
	case err != nil && isRepeatable(ctx):
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	case err != nil:
		return !hasArrived(err), nil
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests: // the request was not carried out
		return true, nil
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return isRepeatable(ctx), nil
	}
	return false, nil // the next answer would be the same
}

// hasArrived reports whether a call without an answer may have reached the server.
func hasArrived(err error) bool {
	var op *net.OpError
	return !errors.As(err, &op) || op.Op != "dial"
}
