package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/peer/peertest"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/store"
)

func TestMain(m *testing.M) {
	if !peertest.Main(os.Getenv) {
		goleak.VerifyTestMain(m)
	}
}

// testAPI is a server over a database of its own. Every answer is compared with
// openapi.yaml.
type testAPI struct {
	*Server
	t       *testing.T
	handler http.Handler
	mux     *http.ServeMux
	doc     *openapi3.T
	now     time.Time
	log     *bytes.Buffer
}

func newAPI(t *testing.T, change ...func(*Server)) *testAPI {
	t.Helper()
	a := &testAPI{t: t, now: time.UnixMilli(1_795_255_200_000), log: &bytes.Buffer{}}
	wake := hub.New()
	clock := func() time.Time { return a.now }
	logger := slog.New(slog.NewTextHandler(a.log, nil))
	db, err := store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "torc.db"), Now: clock, OnCommit: wake.Publish, Log: logger,
		Beat: 24 * time.Hour, // a heartbeat would read the clock while the test sets it
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Server = &Server{Store: db, Hub: wake, Now: clock, Log: logger, GitHash: "abc"}
	for _, c := range change {
		c(a.Server)
	}
	a.handler = a.Handler()
	a.mux, a.doc = a.Server.mux(), loadOpenAPI(t)
	t.Cleanup(func() {
		a.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// answer is the answer to a request.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	text   string
}

// send makes a request below the base path, with a JSON body if it is not empty.
func (a *testAPI) send(method, path, body string) answer {
	a.t.Helper()
	r := httptest.NewRequestWithContext(a.t.Context(), method, api.BasePath+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return a.serve(r)
}

func (a *testAPI) serve(r *http.Request) answer {
	a.t.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	got := answer{t: a.t, status: w.Code, header: w.Header(), text: w.Body.String()}
	a.compare(r, got)
	return got
}

// compare checks an answer against openapi.yaml.
func (a *testAPI) compare(r *http.Request, got answer) {
	a.t.Helper()
	_, pattern := a.mux.Handler(r)
	_, path, _ := strings.Cut(pattern, api.BasePath)
	item := a.doc.Paths.Value(path)
	if item == nil {
		return // not an operation
	}
	route := &routers.Route{Spec: a.doc, Path: path, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route},
		Status:                 got.status, Header: got.header,
		Body:    io.NopCloser(strings.NewReader(got.text)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(r.Context(), in); err != nil {
		a.t.Errorf("%s %s: the answer %d %s is not as documented: %v", r.Method, r.URL.Path, got.status, got.text, err)
	}
}

// must makes a request that succeeds and returns its decoded answer.
func (a *testAPI) must(method, path, body string) map[string]any {
	a.t.Helper()
	got := a.send(method, path, body)
	if got.status != http.StatusOK {
		a.t.Fatalf("%s %s %s: %d %s", method, path, body, got.status, got.text)
	}
	return got.object()
}

func (got answer) object() map[string]any {
	got.t.Helper()
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(got.text))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		got.t.Fatalf("%s: %v", got.text, err)
	}
	return object
}

// want checks an answer's status, and that its text contains some words.
func (got answer) want(status int, words ...string) {
	got.t.Helper()
	if got.status != status {
		got.t.Errorf("status %d %s, want %d", got.status, got.text, status)
	}
	for _, w := range words {
		if !strings.Contains(got.text, w) {
			got.t.Errorf("the answer %s does not contain %q", got.text, w)
		}
	}
}

// sendAs is send with a media type.
func (a *testAPI) sendAs(method, path, media, body string) answer {
	a.t.Helper()
	r := httptest.NewRequestWithContext(a.t.Context(), method, api.BasePath+path, strings.NewReader(body))
	r.Header.Set("Content-Type", media)
	return a.serve(r)
}
