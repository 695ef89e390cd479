package server

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/server/handler"
)

// TestBodiesAreCheckedFirst sends lists of a few bytes per element to every route with a
// body: none may take much memory or time before it is rejected.
func TestBodiesAreCheckedFirst(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	const size = 2 << 20 // 20 MiB took 11 GB
	list := func(element string) string {
		return "[" + strings.Repeat(element+",", size/(len(element)+1)) + element + "]"
	}
	for _, c := range []struct{ path, field string }{
		{"/bulk_jobs", "jobs"}, {"/bulk_files", "files"}, {"/bulk_user_data", "user_data"},
		{fmt.Sprintf("/workflows/%d/batch_complete_jobs", id), "completions"},
		{"/jobs/1/spawn_jobs", "jobs"},
		{"/workflows/definition", "jobs"}, {"/workflows/definition", "stages"},
	} {
		for _, element := range []string{"1", "{}", "null", `""`, "[]"} {
			media := "application/json"
			if c.path == "/workflows/definition" {
				media = handler.DefinitionMedia
			}
			var before, after runtime.MemStats
			body := fmt.Sprintf(`{%q:%s}`, c.field, list(element))
			runtime.ReadMemStats(&before)
			began := time.Now()
			got := a.sendAs("POST", c.path, media, body)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if got.status != 422 && got.status != 413 {
				t.Errorf("%s of %s: %d %.200s", c.path, element, got.status, got.text)
			}
			if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 64 || took > 10*time.Second {
				t.Errorf("%s of %s: took %s and %d MiB for a rejection: %.200s", c.path, element, took, grown, got.text)
			}
		}
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	a.send("POST", "/user_data", fmt.Sprintf(`{"workflow_id":%d,"name":"deep","data":%s}`, id, deep)).want(413, "nested deeper than 100 levels")
	a.send("POST", "/bulk_jobs", `{"jobs":[`+strings.Repeat("1,", 50_000)+`}`).want(400, "invalid character")
}
