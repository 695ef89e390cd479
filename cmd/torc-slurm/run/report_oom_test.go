package run

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// The report names the jobs of its run that are in doubt, and takes no user's event for
// one of ours.
func TestReportNamesJobsInDoubt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if category := r.URL.Query().Get("category"); category != "memory" {
			t.Errorf("asked for the category %q", category)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[
			{"id":1,"workflow_id":1,"timestamp":1,"event_type":"user_action","data":{"category":"memory","job_name":"mine","run_id":2}},
			{"id":2,"workflow_id":1,"timestamp":1,"event_type":"oom_doubtful","data":{"category":"memory","job_id":3,"job_name":"old","run_id":1,"status":5}},
			{"id":3,"workflow_id":1,"timestamp":1,"event_type":"oom_doubtful","data":{"category":"memory","job_id":4,"job_name":"fit","run_id":2,"attempt_id":1,
				"status":"completed","text":"exit code 0, despite 1 cgroup OOM kill meanwhile, of it or of hog"}}]}`)
	}))
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := &report{WorkflowID: 1, RunID: 2}
	if err := r.addDoubtful(t.Context(), &cli.Connection{Client: c}); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r.writeDoubtful(&text)
	const want = "The kernel killed processes for lack of memory; whose is uncertain:\n" +
		"  fit (job 4, attempt 1): completed, exit code 0, despite 1 cgroup OOM kill meanwhile, of it or of hog\n"
	if text.String() != want {
		t.Errorf("the report says\n%s", text.String())
	}
}
