package runner

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// serveHTTP puts the fake daemon behind a real listener and returns its URL.
func serveHTTP(t testing.TB, d *runnertest.Daemon) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /workflows/{id}/runners", func(w http.ResponseWriter, r *http.Request) {
		var req lease.RegisterRequest
		serve(w, r, &req, func() (any, error) { return d.Register(r.Context(), 1, &req) })
	})
	mux.HandleFunc("POST /runners/{id}/turn", func(w http.ResponseWriter, r *http.Request) {
		var req lease.TurnRequest
		serve(w, r, &req, func() (any, error) { return d.Turn(r.Context(), pathID(r), &req) })
	})
	mux.HandleFunc("POST /runners/{id}/leave", func(w http.ResponseWriter, r *http.Request) {
		var req lease.LeaveRequest
		serve(w, r, &req, func() (any, error) { return d.Leave(r.Context(), pathID(r), &req) })
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func pathID(r *http.Request) int64 {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // 0 is nobody's
	return id
}

func httpClient(t testing.TB, url string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serve(w http.ResponseWriter, r *http.Request, req any, call func() (any, error)) {
	if err := json.NewDecoder(r.Body).Decode(req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	resp, err := call()
	if err != nil {
		status := http.StatusServiceUnavailable
		if strings.Contains(err.Error(), "no such runner") {
			status = http.StatusNotFound
		}
		http.Error(w, err.Error(), status)
		return
	}
	_ = json.NewEncoder(w).Encode(resp)
}
