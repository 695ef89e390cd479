package server

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
)

// TestInternalErrorsStayInside breaks the database under the server: the answer has the
// span id, and the log has the cause.
func TestInternalErrorsStayInside(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	db, err := sql.Open("sqlite3", a.Store.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "ALTER TABLE file RENAME TO gone"); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, api.BasePath+"/files?workflow_id="+fmt.Sprint(id), nil)
	r.Header.Set("X-Span-Id", "span-4711")
	got := a.serve(r)
	got.want(http.StatusInternalServerError, "span-4711", `"error":"InternalServerError"`)
	for _, secret := range []string{"no such table", "SELECT", "select", a.Store.Path()} {
		if strings.Contains(got.text, secret) {
			t.Errorf("the answer has %q: %s", secret, got.text)
		}
	}
	if log := a.log.String(); !strings.Contains(log, "no such table: file") || !strings.Contains(log, "span_id=span-4711") {
		t.Errorf("the log does not have the cause:\n%s", log)
	}
}

// TestForeignPagesGetNothing sends what a page in the user's browser can send to a daemon
// that admits everybody.
func TestForeignPagesGetNothing(t *testing.T) {
	d := startDaemon(t, nil)
	for _, c := range []struct {
		what   string
		change func(*http.Request)
		want   int
	}{
		{"a program", func(*http.Request) {}, http.StatusOK},
		{"another name for our address", func(r *http.Request) { r.Host = "evil.example" }, http.StatusForbidden},
		{"another site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		{"another origin", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		{"a form", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, http.StatusUnsupportedMediaType},
		{"no content type", func(r *http.Request) { r.Header.Del("Content-Type") }, http.StatusUnsupportedMediaType},
	} {
		for _, call := range []struct{ path, body string }{{"/workflows", `{"name":"w","user":"me"}`}, {"/workflows/1/reset_status", "null"}} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Endpoint().URL+call.path, strings.NewReader(call.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			c.change(r)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("%s, POST %s: %d, want %d", c.what, call.path, resp.StatusCode, c.want)
			}
		}
	}
}
