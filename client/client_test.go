package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/peer/peertest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestMain(m *testing.M) {
	if !peertest.Main(os.Getenv) {
		goleak.VerifyTestMain(m)
	}
}

// serve returns a client of a server with one handler.
func serve(t *testing.T, o Options, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	o.URL = server.URL + api.BasePath + "/" // the slash must not be doubled
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.http.HTTPClient.CloseIdleConnections()
		server.Close()
	})
	return c
}

func TestCredentials(t *testing.T) {
	for _, tc := range []struct {
		options Options
		want    string
	}{
		{Options{}, ""},
		{Options{Token: "t"}, ""}, // the kernel names the caller; see TestTokenWithoutTLS
		{Options{User: "u", Password: "p"}, "Basic dTpw"},
		{Options{User: "u", Password: "p", Token: "t"}, ""},
	} {
		tc.options.Cookie = "a=b"
		c := serve(t, tc.options, func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Authorization"); got != tc.want {
				t.Errorf("Authorization %q, want %q", got, tc.want)
			}
			if got := r.Header.Get("Cookie"); got != "a=b" {
				t.Errorf("Cookie %q", got)
			}
			fmt.Fprint(w, `{"status":"ok"}`)
		})
		if p, err := c.Ping(t.Context()); err != nil || p.Status != "ok" {
			t.Errorf("%+v: %v, %v", tc.options, p, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		status  int
		body    string
		message string
		missing bool
	}{
		{404, `{"error":{"error":"NotFound","message":"Workflow not found with ID: 9"}}`, "Workflow not found with ID: 9", true},
		{422, "Failed to deserialize\n", "Failed to deserialize", false},
		{401, "", "Unauthorized", false},
	} {
		c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.status)
			fmt.Fprint(w, tc.body)
		})
		_, err := c.Workflows.Get(t.Context(), 9)
		var refusal *APIError
		if !errors.As(err, &refusal) || refusal.Status != tc.status || refusal.Message != tc.message {
			t.Errorf("%d %q: got %v", tc.status, tc.body, err)
		}
		if IsNotFound(err) != tc.missing || IsUnreachable(err) {
			t.Errorf("%v: IsNotFound %v, IsUnreachable %v", err, IsNotFound(err), IsUnreachable(err))
		}
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := New(Options{URL: server.URL, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Ping(t.Context())
	if !IsUnreachable(err) || strings.Count(err.Error(), "ping") != 1 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Ping(ctx); IsUnreachable(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled call: %v", err)
	}
}

// TestPages follows a list of 7 items in pages of 3.
func TestPages(t *testing.T) {
	var asked []string
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		var offset, limit int64 = 0, 3
		fmt.Sscan(r.URL.Query().Get("offset"), &offset)
		fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		var jobs []api.Job
		for i := offset; i < min(7, offset+min(3, limit)); i++ {
			id := i + 1
			jobs = append(jobs, api.Job{ID: &id})
		}
		if err := json.NewEncoder(w).Encode(api.NewPage(jobs, offset, 7)); err != nil {
			t.Error(err)
		}
	})
	ready := workflow.Ready
	for _, tc := range []struct {
		page    Page
		want    int
		queries []string
	}{
		{Page{}, 7, []string{"status=ready&workflow_id=5", "offset=3&status=ready&workflow_id=5", "offset=6&status=ready&workflow_id=5"}},
		{Page{Limit: 2}, 2, []string{"limit=2&status=ready&workflow_id=5"}},
		{Page{Limit: 5, Offset: 1, SortBy: "name", Reverse: true}, 5, []string{
			"limit=5&offset=1&reverse_sort=true&sort_by=name&status=ready&workflow_id=5",
			"limit=2&offset=4&reverse_sort=true&sort_by=name&status=ready&workflow_id=5"}},
	} {
		asked = nil
		jobs, err := Collect(c.Jobs.List(t.Context(), JobFilter{WorkflowID: 5, Status: &ready, Page: tc.page}))
		if err != nil || len(jobs) != tc.want {
			t.Errorf("%+v: %d jobs, %v", tc.page, len(jobs), err)
		}
		if diff := cmp.Diff(tc.queries, asked); diff != "" {
			t.Errorf("%+v: queries (-want +got):\n%s", tc.page, diff)
		}
	}
}

// TestPagesEnd: the list ends at the first page that cannot be read, and when the caller
// stops.
func TestPagesEnd(t *testing.T) {
	asked := 0
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 2 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		fmt.Fprint(w, `{"items":[{"name":"a"},{"name":"b"}],"offset":0,"total_count":9,"has_more":true}`)
	})
	if jobs, err := Collect(c.Jobs.List(t.Context(), JobFilter{})); err == nil || jobs != nil || asked != 2 {
		t.Errorf("%d jobs after %d pages, %v", len(jobs), asked, err)
	}
	for range c.Jobs.List(t.Context(), JobFilter{}) {
		break
	}
	if asked != 3 {
		t.Errorf("requested %d pages", asked)
	}
}

// TestBadAnswers has responses that do not answer the request.
func TestBadAnswers(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"status"`)
		},
	} {
		_, err := serve(t, Options{Retries: -1}, handler).Ping(t.Context())
		if err == nil || !strings.Contains(err.Error(), "GET /torc-service/v1/ping") || IsUnreachable(err) != (name == "cut off") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCreateDefinitionRepeated loses the first try half-way: the second one must send
// everything again.
func TestCreateDefinitionRepeated(t *testing.T) {
	def := &workflow.Definition{Name: "w", User: "u"}
	for i := range 5000 {
		def.Jobs = append(def.Jobs, workflow.JobDefinition{Name: fmt.Sprintf("job_%d", i), Command: strings.Repeat("x", 100)})
	}
	var tries atomic.Int64
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			if _, err := io.CopyN(io.Discard, r.Body, 1000); err != nil {
				t.Error(err)
			}
			panic(http.ErrAbortHandler)
		}
		dec := json.NewDecoder(r.Body)
		jobs := 0
		for {
			var line api.DefinitionLine
			if err := dec.Decode(&line); err != nil {
				break
			}
			jobs += len(line.Jobs)
			if line.Workflow != nil && line.Workflow.Key != "key" {
				t.Errorf("key %q", line.Workflow.Key)
			}
		}
		fmt.Fprintf(w, `{"workflow_id":3,"job_count":%d}`, jobs)
	})
	created, err := c.Workflows.CreateDefinition(t.Context(), def, "key")
	if err != nil || created.WorkflowID != 3 || created.JobCount != 5000 {
		t.Errorf("got %+v, %v", created, err)
	}
	if tries.Load() < 2 {
		t.Error("the first try was not lost")
	}
}

// TestCreateDefinitionRefused: a definition is rejected before everything has been sent.
func TestCreateDefinitionRefused(t *testing.T) {
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"error":{"message":"no"}}`)
	})
	_, err := c.Workflows.CreateDefinition(t.Context(), &workflow.Definition{Name: "w", Jobs: make([]workflow.JobDefinition, 3000)}, "key")
	var refusal *APIError
	if !errors.As(err, &refusal) || refusal.Message != "no" {
		t.Errorf("got %v", err)
	}
}

func TestCompareAPIVersion(t *testing.T) {
	for version, want := range map[string]Compatibility{
		"0.23.0": Compatible, "v0.23.7-rc1 (abc)": Compatible, "0.24.0": OtherMinor, "1.23.0": Incompatible,
		"": Compatible, "0.23": Compatible, "x.y.z": Compatible,
	} {
		if got := CompareAPIVersion(version); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}
