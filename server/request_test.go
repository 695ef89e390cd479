package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

func TestRequestsThatDoNotReachAHandler(t *testing.T) {
	a := newAPI(t, func(s *Server) { s.MaxBulkBody = 3 << 20 })
	big := `{"name":"` + strings.Repeat("x", rest.MaxBody) + `"}`
	for name, c := range map[string]struct {
		method, path, contentType, body string
		status                          int
		words                           string
	}{
		"no content type":       {"POST", "/files", "", `{}`, 415, "Content type"},
		"text":                  {"POST", "/files", "text/plain", `{}`, 415, "Content type"},
		"json by another name":  {"POST", "/files", "application/problem+json; charset=utf-8", `{}`, 422, "missing field `workflow_id`"},
		"no body":               {"POST", "/files", "application/json", ``, 400, "Json"},
		"broken":                {"POST", "/files", "application/json", `{"a":`, 400, "Json"},
		"two values":            {"POST", "/files", "application/json", `{} {}`, 400, "Json"},
		"array for object":      {"POST", "/files", "application/json", `[]`, 422, "array"},
		"null for object":       {"POST", "/files", "application/json", `null`, 422, ""},
		"text for number":       {"POST", "/files", "application/json", `{"workflow_id":"1","name":"a","path":"b"}`, 422, "workflow_id"},
		"decimal for integer":   {"POST", "/files", "application/json", `{"workflow_id":1.5,"name":"a","path":"b"}`, 422, "workflow_id"},
		"missing":               {"POST", "/files", "application/json", `{"workflow_id":1,"name":"a"}`, 422, "missing field `path`"},
		"null for required":     {"POST", "/files", "application/json", `{"workflow_id":1,"name":null,"path":"b"}`, 422, "null for field `name`"},
		"missing in a list":     {"POST", "/bulk_files", "application/json", `{"files":[{"workflow_id":1,"name":"a","path":"b"},{"name":"c"}]}`, 422, "files[1]"},
		"another case":          {"POST", "/files", "application/json", `{"workflow_id":1,"NAME":"a","path":"b"}`, 422, "missing field `name`"},
		"large":                 {"POST", "/files", "application/json", big, 413, "larger"},
		"large but bulk":        {"POST", "/bulk_files", "application/json", big, 422, "missing field `files`"},
		"too large for bulk":    {"POST", "/bulk_files", "application/json", big + big, 413, "larger"},
		"word for an id":        {"GET", "/files/seven", "", "", 400, "Path"},
		"decimal for an id":     {"GET", "/files/7.0", "", "", 400, "Path"},
		"huge id":               {"GET", "/files/99999999999999999999", "", "", 400, "Path"},
		"missing query":         {"GET", "/files", "", "", 400, "missing field `workflow_id`"},
		"empty query":           {"GET", "/files?workflow_id=", "", "", 400, "Query"},
		"twice":                 {"GET", "/files?workflow_id=1&workflow_id=1", "", "", 400, "duplicate field"},
		"not a bool":            {"GET", "/files?workflow_id=1&is_output=1", "", "", 400, "is_output"},
		"not a status":          {"GET", "/results?workflow_id=1&status=done", "", "", 400, "status"},
		"invalid escape":        {"GET", "/files?workflow_id=%zz", "", "", 400, "Query"},
		"unknown query is fine": {"GET", "/files?workflow_id=1&colour=red", "", "", 404, "Workflow not found"},
	} {
		t.Run(name, func(t *testing.T) {
			a.t = t
			r := httptest.NewRequestWithContext(t.Context(), c.method, api.BasePath+c.path, strings.NewReader(c.body))
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			got := a.serve(r)
			got.want(c.status, c.words)
			if plain := strings.HasPrefix(got.header.Get("Content-Type"), "text/plain"); plain != (c.status != 404) {
				t.Errorf("content type %q", got.header.Get("Content-Type"))
			}
		})
	}
}

func TestUnknownPathsAndMethodsHaveNoBody(t *testing.T) {
	a := newAPI(t)
	for path, want := range map[string]int{"/nothing": 404, "/files": 405, "/admin/sql": 404, "/access_groups": 404} {
		method := "PATCH"
		got := a.send(method, path, "")
		got.want(want)
		if got.text != "" || (want == 405) != (got.header.Get("Allow") != "") {
			t.Errorf("%s %s: body %q, Allow %q", method, path, got.text, got.header.Get("Allow"))
		}
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{"/ping", "/nothing", "/files", "/files/x"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, api.BasePath+path, nil)
		r.Header.Set("X-Span-ID", "mine-1")
		got := a.serve(r)
		for name, want := range map[string]string{"X-Span-Id": "mine-1", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got.header.Get(name), want)
			}
		}
	}
	if span := a.send("GET", "/ping", "").header.Get("X-Span-Id"); span != "1795255200000000000" {
		t.Errorf("span id %q, want the time in nanoseconds", span)
	}
}

func TestSystem(t *testing.T) {
	a := newAPI(t)
	a.send("GET", "/ping", "").want(200, `{"status":"ok"}`)
	a.send("GET", "/version", "").want(200, `{"version":"1.0.0 (abc)","api_version":"0.23.0","git_hash":"abc","database":"`)
	for _, path := range []string{"/", "/dashboard"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		a.serve(r).want(200, "openapi.yaml")
	}
	a.send("GET", "/openapi.yaml", "").want(200, "openapi: 3.0.3")
}

// gate admits some requests.
type gate struct {
	caller access.Caller
	ok     bool
}

func (g *gate) Authenticate(*http.Request) (access.Caller, bool) { return g.caller, g.ok }

func TestEveryPathWantsCredentials(t *testing.T) {
	a := newAPI(t, func(s *Server) { s.Auth = &gate{} })
	for _, path := range []string{"/ping", "/version", "/files/1", "/nothing"} {
		got := a.send("GET", path, "")
		got.want(401, "Unauthorized")
		if got.header.Get("WWW-Authenticate") != `Basic realm="Torc"` {
			t.Errorf("%s: WWW-Authenticate is %q", path, got.header.Get("WWW-Authenticate"))
		}
	}
	for _, path := range []string{"/", "/metrics"} {
		a.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)).want(401)
	}
}

func TestPanicIsA500WithASpan(t *testing.T) {
	a := newAPI(t, func(s *Server) { s.Auth = panicking{} })
	got := a.send("GET", "/ping", "")
	got.want(500, `"error":"InternalServerError"`, got.header.Get("X-Span-Id"))
	if log := a.log.String(); !strings.Contains(log, "on purpose") || !strings.Contains(log, got.header.Get("X-Span-Id")) {
		t.Errorf("it is not in the log: %s", log)
	}
}

type panicking struct{}

func (panicking) Authenticate(*http.Request) (access.Caller, bool) { panic("on purpose") }

func TestSoften(t *testing.T) {
	for text, want := range map[string]string{
		"job Network_Timeout not found":          "job Net-work_Time-out not found",
		"database is locked, SQLITE_BUSY":        "database is-locked, SQLITE-BUSY",
		"connection to unreachable dns resolves": "connec-tion to unreach-able d-ns resol-ves",
		"downloadable work":                      "downloadable work",
	} {
		if got := rest.Soften(text); got != want {
			t.Errorf("soften(%q) = %q, want %q", text, got, want)
		}
	}
}

// Our own client shows people the keys as they must write them.
func TestOwnClientGetsUnchangedTexts(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	body := `{"name": "w", "user": "me", "policy": {"notify": {"on": ["late"]}}}`
	for agent, want := range map[string]string{"": "use time-out, ", "curl/8": "use time-out, ", api.UserAgent: "use timeout, "} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, fmt.Sprintf("%s/workflows/%d", api.BasePath, w), strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", agent)
		a.serve(r).want(422, want)
	}
}
