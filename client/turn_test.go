package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// answering returns a client of a server that checks one request and gives one answer.
func answering(t *testing.T, method, path, body string, status int, answer string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method != method || r.URL.Path != path {
			t.Errorf("%s %s, want %s %s", r.Method, r.URL.Path, method, path)
		}
		if string(got) != body {
			t.Errorf("body %s, want %s", got, body)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	c, err := New(Options{URL: server.URL + "/base/", Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTurn(t *testing.T) {
	ref := lease.LeaseRef{JobID: 4, Attempt: 1, Fence: 9}
	c := answering(t, "POST", "/base/runners/7/turn",
		`{"turn":3,"run_id":1,"held":[{"job_id":4,"attempt_id":1,"fence":9}],"free":{"slots":2}}`, 200,
		`{"turn":3,"run_id":1,"voided":[{"job_id":4,"attempt_id":1,"fence":9}],"orders":["drain"],"open_jobs":5,"claimable_later":true}`)
	got, err := c.Runners.Turn(context.Background(), 7, &lease.TurnRequest{
		Turn: 3, RunID: 1, Held: []lease.Held{{LeaseRef: ref}}, Free: lease.Free{Slots: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &lease.TurnResponse{
		Turn: 3, RunID: 1, Voided: []lease.LeaseRef{ref}, Orders: []lease.Order{lease.OrderDrain}, OpenJobs: 5, ClaimableLater: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTurnMayHang(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	c, err := New(Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Runners.Turn(ctx, 7, &lease.TurnRequest{WaitSeconds: 5}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestRegisterAndLeave(t *testing.T) {
	c := answering(t, "POST", "/base/workflows/2/runners", mustJSON(t, lease.RegisterRequest{Key: "k"}), 200,
		`{"runner_id":8,"run_id":1,"lease_seconds":60}`)
	got, err := c.Runners.Register(context.Background(), 2, &lease.RegisterRequest{Key: "k"})
	if err != nil || got.RunnerID != 8 || got.LeaseSeconds != 60 {
		t.Errorf("%+v, %v", got, err)
	}
	c = answering(t, "POST", "/base/runners/8/leave", mustJSON(t, lease.LeaveRequest{Reason: "done"}), 200, `{"given_back":3}`)
	left, err := c.Runners.Leave(context.Background(), 8, &lease.LeaveRequest{Reason: "done"})
	if err != nil || left.GivenBack != 3 {
		t.Errorf("%+v, %v", left, err)
	}
}

func TestRefusedTurn(t *testing.T) {
	c := answering(t, "POST", "/base/runners/7/turn", mustJSON(t, lease.TurnRequest{}), 404,
		`{"error":{"error":"NotFound","message":"Runner not found with ID: 7"}}`)
	_, err := c.Runners.Turn(context.Background(), 7, &lease.TurnRequest{})
	var refusal *APIError
	if !errors.As(err, &refusal) || refusal.Status != 404 || refusal.Message != "Runner not found with ID: 7" {
		t.Errorf("error %v", err)
	}
}

// TestClaimAction distinguishes an action that another runner has claimed from one that
// this runner claimed by a try whose answer was lost.
func TestClaimAction(t *testing.T) {
	for _, tc := range []struct {
		status     int
		executedBy string
		want, ok   bool
	}{
		{status: 200, want: true, ok: true},
		{status: 409, executedBy: "9", ok: true},
		{status: 409, executedBy: "8", want: true, ok: true},
		{status: 409, executedBy: "null", ok: true},
		{status: 404},
		{status: 500},
	} {
		c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fmt.Fprintf(w, `[{"id":4,"executed_by":8},{"id":5,"executed_by":%s}]`, tc.executedBy)
				return
			}
			if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"compute_node_id":8}` {
				t.Errorf("body %s, %v", body, err)
			}
			w.WriteHeader(tc.status)
		})
		got, err := c.Runners.ClaimAction(context.Background(), 2, 5, 8)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("status %d, executed by %s: %v, %v", tc.status, tc.executedBy, got, err)
		}
	}
}

func TestActions(t *testing.T) {
	c := answering(t, "GET", "/base/workflows/2/actions", "", 200,
		`[{"id":1,"workflow_id":2,"trigger_type":"on_worker_start","action_type":"run_commands","action_config":{"commands":["true"]}}]`)
	got, err := c.Actions.List(context.Background(), 2)
	if err != nil || len(got) != 1 || *got[0].ID != 1 || string(got[0].ActionConfig) != `{"commands":["true"]}` {
		t.Errorf("%+v, %v", got, err)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
