package server

import (
	"bytes"
	"errors"
	"io"
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
)

// route is one entry of the table that the mux and openapi.yaml are made from.
type route struct {
	method  string
	pattern string // below api.BasePath
	beside  bool   // the pattern begins at the root instead
	summary string
	params  []param
	body    reflect.Type // nil: whatever is sent is ignored
	out     reflect.Type // nil: not JSON
	media   string       // of the body or of an answer that is not JSON
	// others are the types of successes with another status than 200.
	others   map[int]reflect.Type
	bulk     bool // the body may be large
	streamed bool // the handler reads the body itself
	conflict int  // the status of a conflict
	runners  reach
	serve    func(s *Server, rt *route, w http.ResponseWriter, r *http.Request)
}

// option changes a route.
type option func(*route)

// bulk lets the body be as large as Server.MaxBulkBody.
func bulk(rt *route) { rt.bulk = true }

// streamed leaves the body, of another media type, to the handler.
func streamed(media string, sample any) option {
	return func(rt *route) { rt.streamed, rt.media, rt.body = true, media, reflect.TypeOf(sample) }
}

// conflict409 answers a conflict with 409; without it the answer is 422, as in
// torc.
func conflict409(rt *route) { rt.conflict = http.StatusConflict }

// answers documents what a handler that returns any answers with a status.
func answers(status int, sample any) option {
	return func(rt *route) {
		if status == http.StatusOK {
			rt.out = reflect.TypeOf(sample)
			return
		}
		if rt.others == nil {
			rt.others = map[int]reflect.Type{}
		}
		rt.others[status] = reflect.TypeOf(sample)
	}
}

const maxBody = 2 << 20

// handle makes a route of a handler. The parameters are read into P, the body
// into B, and what the handler returns is the answer.
func handle[P, B, Out any](method, pattern, summary string, fn func(*request[P, B]) (Out, error), options ...option) route {
	rt := route{
		method: method, pattern: pattern, summary: summary,
		params: paramsOf(reflect.TypeFor[P]()), body: reflect.TypeFor[B](), out: reflect.TypeFor[Out](),
		conflict: http.StatusUnprocessableEntity,
	}
	if rt.body == reflect.TypeFor[none]() {
		rt.body = nil
	}
	for _, change := range options {
		change(&rt)
	}
	rt.serve = func(s *Server, rt *route, w http.ResponseWriter, r *http.Request) {
		in := &request[P, B]{Request: r, Status: http.StatusOK}
		if err := readParams(r, rt.params, reflect.ValueOf(&in.Params).Elem()); err != nil {
			s.fail(w, r, rt, err)
			return
		}
		if rt.body != nil && !rt.streamed {
			if err := s.readBody(w, r, rt, &in.Body); err != nil {
				s.fail(w, r, rt, err)
				return
			}
			if of := callerOf(r.Context()).JobOf; of != 0 {
				if err := jobaccess.CheckBody(of, r, &in.Body); err != nil {
					s.fail(w, r, rt, err)
					return
				}
			}
		}
		text, err := textOf(s, in, fn)
		if err != nil {
			s.fail(w, r, rt, err)
			return
		}
		sendJSON(w, in.Status, text)
	}
	return rt
}

// stream makes a route of a handler that writes its answer itself, up to the
// point where it returns an error before having written anything.
func stream[P any](method, pattern, summary, media string, fn func(w http.ResponseWriter, r *request[P, none]) error, options ...option) route {
	rt := route{
		method: method, pattern: pattern, summary: summary, media: media,
		params: paramsOf(reflect.TypeFor[P]()), conflict: http.StatusUnprocessableEntity,
	}
	for _, change := range options {
		change(&rt)
	}
	rt.serve = func(s *Server, rt *route, w http.ResponseWriter, r *http.Request) {
		in := &request[P, none]{Request: r, Status: http.StatusOK}
		err := readParams(r, rt.params, reflect.ValueOf(&in.Params).Elem())
		if err == nil {
			err = fn(w, in)
		}
		if err != nil {
			s.fail(w, r, rt, err)
		}
	}
	return rt
}

// mux registers the routes and the pages beside the API.
func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range append(s.routes(), s.pages()...) {
		base := api.BasePath
		if rt.beside {
			base = ""
		}
		mux.HandleFunc(rt.method+" "+base+rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := s.within(&rt, r); err != nil {
				s.fail(w, r, &rt, err)
				return
			}
			if err := access.CheckMedia(r, rt.wants()); err != nil {
				connlimit.Refuse(w)
				refuse(w, http.StatusUnsupportedMediaType, err.Error())
				return
			}
			if rt.body == nil {
				if err := ignoreBody(r); err != nil {
					s.fail(w, r, &rt, err)
					return
				}
			}
			rt.serve(s, &rt, w, r)
		})
	}
	return mux
}

const jsonMedia = "application/json"

// wants is the media type of a route's body.
func (rt *route) wants() string {
	if rt.streamed {
		return rt.media
	}
	return jsonMedia
}

// pages are the routes that are not operations of the API.
func (s *Server) pages() []route {
	page := func(pattern string, serve http.Handler, options ...option) route {
		rt := route{method: http.MethodGet, pattern: pattern, serve: func(_ *Server, _ *route, w http.ResponseWriter, r *http.Request) {
			serve.ServeHTTP(w, r)
		}}
		for _, change := range options {
			change(&rt)
		}
		return rt
	}
	beside := func(rt *route) { rt.beside = true }
	home := http.HandlerFunc(s.serveHome)
	return []route{
		page("/openapi.yaml", http.HandlerFunc(serveOpenAPI), runnersAll),
		page("/{$}", home, beside, runnersAll),
		page("/dashboard", home, beside, runnersAll),
		page("/metrics", s.Metrics.Handler(), beside),
	}
}

// ignoreBody reads a body that means nothing, if it is small: while it has not
// ended, nobody would notice that the client has gone. The connection ends with
// the answer to a larger one.
func ignoreBody(r *http.Request) error {
	const small = 64 << 10
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	if _, err := io.CopyN(io.Discard, r.Body, small); err != nil && !errors.Is(err, io.EOF) {
		return endedEarly(err)
	}
	return nil
}

// endedEarly is the answer to a body that could not be read to its end.
func endedEarly(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return textErrorf(http.StatusRequestTimeout, "nothing more of the body came for too long; send it again")
	}
	return textErrorf(http.StatusBadRequest, "the body ended early: %v", err)
}

// readBody reads the body of a request into dest, a pointer.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, rt *route, dest any) error {
	if !isJSON(r.Header.Get("Content-Type")) {
		return textErrorf(http.StatusUnsupportedMediaType, "%v", access.MediaError(r, jsonMedia))
	}
	limit := int64(maxBody)
	if rt.bulk {
		limit = s.MaxBulkBody
	}
	if r.ContentLength > limit {
		connlimit.Refuse(w)
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
		return endedEarly(err)
	}
	return decodeBody(text.Bytes(), dest)
}

func tooLarge(limit int64) error {
	return textErrorf(http.StatusRequestEntityTooLarge, "the body is larger than the limit of %d bytes", limit)
}

// isJSON reports whether a media type is application/json or
// application/*+json.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" ||
		strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

// fail answers a request that failed, and logs what is our own fault.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, rt *route, err error) {
	var text *textError
	if errors.As(err, &text) {
		if text.status == http.StatusRequestTimeout {
			connlimit.Refuse(w)
		}
		refuse(w, text.status, text.text)
		return
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has gone; nobody reads an answer
	}
	e := asHTTP(err, rt.conflict)
	if e.status >= 500 {
		span, _ := r.Context().Value(spanKey{}).(string)
		s.Log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "span_id", span, "error", err)
	}
	writeError(w, e)
}

// writeJSON sends v, which is small.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var text bytes.Buffer
	if err := encode(&text, v); err != nil {
		panic(err) // a type of ours that cannot be written
	}
	w.Header().Set("Content-Type", jsonMedia)
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = io.Copy(w, &text) // the client may be gone
}
