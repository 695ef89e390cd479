package rest

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/connlimit"
	"github.com/torc-slurm/torc-slurm/server/jobaccess"
	"github.com/torc-slurm/torc-slurm/server/unread"
)

// Route is one entry of the table from which the mux and openapi.yaml are made.
type Route struct {
	Method     string
	Pattern    string // below api.BasePath
	OutsideAPI bool   // the pattern is below the root instead
	Summary    string
	Params     []Param
	Body       reflect.Type // nil: it is ignored
	Out        reflect.Type // nil: not JSON
	Media      string       // of the body or of an answer that is not JSON
	// Others are the types of successes with another status than 200.
	Others   map[int]reflect.Type
	bulk     bool // the body may be large
	streamed bool // the handler reads the body itself
	Conflict int  // the status of a conflict
	Runners  Reach
	serve    func(t *Router, rt *Route, w http.ResponseWriter, r *http.Request)
}

// Option changes a route.
type Option func(*Route)

// Bulk allows a body of up to Router.MaxBulkBody.
func Bulk(rt *Route) { rt.bulk = true }

// Streamed has the handler read the body, of another media type, itself.
func Streamed(media string, sample any) Option {
	return func(rt *Route) { rt.streamed, rt.Media, rt.Body = true, media, reflect.TypeOf(sample) }
}

// Conflict409 sets the status of conflicts to 409. Without it they get 422, as in torc.
func Conflict409(rt *Route) { rt.Conflict = http.StatusConflict }

// Answers documents the type of an answer with a status, for handlers that return any.
func Answers(status int, sample any) Option {
	return func(rt *Route) {
		if status == http.StatusOK {
			rt.Out = reflect.TypeOf(sample)
			return
		}
		if rt.Others == nil {
			rt.Others = map[int]reflect.Type{}
		}
		rt.Others[status] = reflect.TypeOf(sample)
	}
}

// MaxBody is the largest size of a body in bytes.
const MaxBody = 2 << 20

// Handle returns a route. Its parameters are decoded into P and the body into B; the
// result of the handler is the answer.
func Handle[P, B, Out any](method, pattern, summary string, fn func(*Request[P, B]) (Out, error), options ...Option) Route {
	rt := Route{
		Method: method, Pattern: pattern, Summary: summary,
		Params: paramsOf(reflect.TypeFor[P]()), Body: reflect.TypeFor[B](), Out: reflect.TypeFor[Out](),
		Conflict: http.StatusUnprocessableEntity,
	}
	if rt.Body == reflect.TypeFor[None]() {
		rt.Body = nil
	}
	for _, change := range options {
		change(&rt)
	}
	rt.serve = func(t *Router, rt *Route, w http.ResponseWriter, r *http.Request) {
		in := &Request[P, B]{Request: r, Status: http.StatusOK}
		if err := readParams(r, rt.Params, reflect.ValueOf(&in.Params).Elem()); err != nil {
			t.fail(w, r, rt, err)
			return
		}
		if rt.Body != nil && !rt.streamed {
			if err := t.readBody(w, r, rt, &in.Body); err != nil {
				t.fail(w, r, rt, err)
				return
			}
			if of := access.CallerOf(r.Context()).JobOf; of != 0 {
				if err := jobaccess.CheckBody(of, r, &in.Body); err != nil {
					t.fail(w, r, rt, err)
					return
				}
			}
		}
		text, err := textOf(t, in, fn)
		if err != nil {
			t.fail(w, r, rt, err)
			return
		}
		sendJSON(w, in.Status, text)
	}
	return rt
}

// Stream returns a route whose handler writes its answer itself. It may return an error
// before it has written anything.
func Stream[P any](method, pattern, summary, media string, fn func(w http.ResponseWriter, r *Request[P, None]) error, options ...Option) Route {
	rt := Route{
		Method: method, Pattern: pattern, Summary: summary, Media: media,
		Params: paramsOf(reflect.TypeFor[P]()), Conflict: http.StatusUnprocessableEntity,
	}
	for _, change := range options {
		change(&rt)
	}
	rt.serve = func(t *Router, rt *Route, w http.ResponseWriter, r *http.Request) {
		in := &Request[P, None]{Request: r, Status: http.StatusOK}
		err := readParams(r, rt.Params, reflect.ValueOf(&in.Params).Elem())
		if err == nil {
			err = fn(w, in)
		}
		if err != nil {
			t.fail(w, r, rt, err)
		}
	}
	return rt
}

// Router answers requests by a table of routes.
type Router struct {
	Log         *slog.Logger
	MaxBulkBody int64          // the limit for bodies of bulk requests in bytes
	Answers     *unread.Budget // limits the memory of answers
	// CheckCaller returns an error if the caller may not make a request.
	CheckCaller func(rt *Route, r *http.Request) error
}

// Mux returns a handler for routes.
func (t *Router) Mux(routes []Route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range routes {
		base := api.BasePath
		if rt.OutsideAPI {
			base = ""
		}
		mux.HandleFunc(rt.Method+" "+base+rt.Pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := t.CheckCaller(&rt, r); err != nil {
				t.fail(w, r, &rt, err)
				return
			}
			if err := access.CheckMedia(r, rt.mediaType()); err != nil {
				connlimit.CloseAfterAnswer(w)
				WriteTextError(w, http.StatusUnsupportedMediaType, err.Error())
				return
			}
			if rt.Body == nil {
				if err := ignoreBody(r); err != nil {
					t.fail(w, r, &rt, err)
					return
				}
			}
			rt.serve(t, &rt, w, r)
		})
	}
	return mux
}

const jsonMedia = "application/json"

// mediaType returns the media type of a route's body.
func (rt *Route) mediaType() string {
	if rt.streamed {
		return rt.Media
	}
	return jsonMedia
}

// Page returns a route of a page, which is not an operation of the API.
func Page(pattern string, serve http.Handler, options ...Option) Route {
	rt := Route{Method: http.MethodGet, Pattern: pattern, serve: func(_ *Router, _ *Route, w http.ResponseWriter, r *http.Request) {
		serve.ServeHTTP(w, r)
	}}
	for _, change := range options {
		change(&rt)
	}
	return rt
}

// OutsideAPI puts the pattern of a route at the root, outside of the API.
func OutsideAPI(rt *Route) { rt.OutsideAPI = true }

// ignoreBody reads a small body that is ignored, since a disconnect is noticed only after
// its end. With a larger one the connection ends after the answer.
func ignoreBody(r *http.Request) error {
	const small = 64 << 10
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	if _, err := io.CopyN(io.Discard, r.Body, small); err != nil && !errors.Is(err, io.EOF) {
		return BodyReadError(err)
	}
	return nil
}

// BodyReadError returns the answer to a body that could not be read to its end.
func BodyReadError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return TextErrorf(http.StatusRequestTimeout, "the body stalled for too long; send it again")
	}
	return TextErrorf(http.StatusBadRequest, "the body ended early: %v", err)
}

// readBody decodes the body of a request into dest, a pointer.
func (t *Router) readBody(w http.ResponseWriter, r *http.Request, rt *Route, dest any) error {
	if !isJSON(r.Header.Get("Content-Type")) {
		return TextErrorf(http.StatusUnsupportedMediaType, "%v", access.MediaError(r, jsonMedia))
	}
	limit := int64(MaxBody)
	if rt.bulk {
		limit = t.MaxBulkBody
	}
	if r.ContentLength > limit {
		connlimit.CloseAfterAnswer(w)
		return tooLarge(limit)
	}
	var text bytes.Buffer
	if r.ContentLength > 0 {
		text.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := text.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return tooLarge(limit)
	case err != nil:
		return BodyReadError(err)
	}
	return decodeBody(text.Bytes(), dest)
}

func tooLarge(limit int64) error {
	return TextErrorf(http.StatusRequestEntityTooLarge, "the body is larger than the limit of %d bytes", limit)
}

// isJSON reports whether a media type is application/json or
// application/*+json.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" ||
		strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

// fail answers a failed request, and logs internal errors.
func (t *Router) fail(w http.ResponseWriter, r *http.Request, rt *Route, err error) {
	var text *TextError
	if errors.As(err, &text) {
		if text.status == http.StatusRequestTimeout {
			connlimit.CloseAfterAnswer(w)
		}
		WriteTextError(w, text.status, text.Text)
		return
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
	e := AsHTTP(err, rt.Conflict)
	if e.Status >= 500 {
		t.Log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "span_id", spanOf(r.Context()), "error", err)
	}
	WriteError(w, e)
}

// writeJSON sends v, which must be small.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var text bytes.Buffer
	if err := encode(&text, v); err != nil {
		panic(err) // impossible for our own types
	}
	w.Header().Set("Content-Type", jsonMedia)
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = io.Copy(w, &text) // the client may have disconnected
}
