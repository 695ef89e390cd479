package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestListsThatNobodyReads: 24 clients request a list of 16 MB and do not read it. They
// cost no more than the limit, not 384 MB, and a client that reads gets the list.
func TestListsThatNobodyReads(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	d := startDaemon(t, nil)
	w, err := d.store.Workflows.Create(t.Context(), workflow.Workflow{Name: "w", User: "me"})
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]workflow.Job, 4000)
	for i := range jobs {
		jobs[i] = workflow.Job{WorkflowID: w.ID, Name: fmt.Sprint("j", i), Command: strings.Repeat("x", 4000), Priority: workflow.DefaultPriority}
	}
	if _, err := d.store.Jobs.Create(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("%s/jobs?workflow_id=%d", api.BasePath, w.ID)
	before := heap()
	for range 24 {
		dialDaemon(t, d.Endpoint(), "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+d.o.Token+"\r\n\r\n")
	}
	closed := d.server.Metrics.closed.WithLabelValues("unread")
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for testutil.ToFloat64(closed) < 24-float64(rest.AnswerBounds.Bytes)/(12<<20) { // what the kernel has taken is not held // what is in the kernel's buffers does not count as held
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("%v answers were aborted", testutil.ToFloat64(closed))
		}
		if held := d.server.unread.Held(); held > rest.AnswerBounds.Bytes {
			t.Fatalf("%d bytes are held", held)
		}
	}
	if more := heap() - before; more > 2*rest.AnswerBounds.Bytes {
		t.Errorf("24 clients that do not read cost %d MB", more>>20)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(d.Endpoint().URL, api.BasePath)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.o.Token)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || n < 16_000_000 {
		t.Errorf("a client that reads: %d, %d bytes, %v", resp.StatusCode, n, err)
	}
}

// heap returns how much of the heap is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
