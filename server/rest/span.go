package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

type spanKey struct{}

// WithSpan returns a context with the id of a request.
func WithSpan(ctx context.Context, span string) context.Context {
	return context.WithValue(ctx, spanKey{}, span)
}

// spanOf returns the id of the request of ctx; empty if it has none.
func spanOf(ctx context.Context) string {
	span, _ := ctx.Value(spanKey{}).(string)
	return span
}

const maxSpanID = 128

// SpanID returns the id that the request has, or one made of the time.
func SpanID(r *http.Request, now time.Time) string {
	id := r.Header.Get("X-Span-Id")
	if id == "" || len(id) > maxSpanID {
		return strconv.FormatInt(now.UnixNano(), 10)
	}
	for _, c := range []byte(id) {
		if c < 0x20 || c > 0x7e {
			return strconv.FormatInt(now.UnixNano(), 10)
		}
	}
	return id
}
