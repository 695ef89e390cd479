package run

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// A job that used most in an attempt that was retried is among those that used
// most, once.
func TestExtremesOfAllAttempts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("all_runs") != "true" || q.Get("run_id") != "2" || q.Get("sort_by") != "peak_memory_bytes" || q.Get("reverse_sort") != "true" {
			t.Errorf("asked for %v", q)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[
			{"job_id":1,"job_name":"a","attempt_id":1,"peak_memory_bytes":5000},
			{"job_id":1,"job_name":"a","attempt_id":2,"peak_memory_bytes":4000},
			{"job_id":2,"job_name":"b","attempt_id":1,"peak_memory_bytes":3000},
			{"job_id":3,"job_name":"c","attempt_id":1}]}`)
	}))
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	filter := client.ResultFilter{WorkflowID: 1, RunID: new(int64(2)), AllRuns: true}
	got, err := extremes(t.Context(), &cli.Connection{Client: c}, filter, "peak_memory_bytes")
	if err != nil {
		t.Fatal(err)
	}
	want := []extremeJob{{JobID: 1, Name: "a", PeakMemoryBytes: 5000}, {JobID: 2, Name: "b", PeakMemoryBytes: 3000}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("most memory (-want +got):\n%s", diff)
	}
}

// The advice of a report leads to a job that has said something: one that stands for
// a sub-workflow has no output.
func TestAdviceIsAboutWhatFailedItself(t *testing.T) {
	sub, own := failedJob{JobID: 3, Cause: "sub_workflow"}, failedJob{JobID: 10, Cause: "exit"}
	for _, tc := range []struct {
		failed []failedJob
		want   []string
	}{
		{[]failedJob{sub, own}, []string{"torc-slurm why 10", "torc-slurm logs show 10"}},
		{[]failedJob{own, sub}, []string{"torc-slurm why 10", "torc-slurm logs show 10"}},
		{[]failedJob{sub}, []string{"torc-slurm why 3"}},
	} {
		r := &report{Status: "completed", FailedJobs: tc.failed}
		r.advise("torc-slurm", "")
		if diff := cmp.Diff(tc.want, r.Next); diff != "" {
			t.Errorf("after %+v (-want +got):\n%s", tc.failed, diff)
		}
	}
}
