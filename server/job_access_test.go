package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/jobaccess"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Every route says what jobs may do with it, and in a way that can be checked.
func TestEveryRouteDecidesAboutJobs(t *testing.T) {
	s := newAPI(t).Server
	known := jobaccess.Routes()
	seen := map[string]bool{}
	for _, rt := range append(allRoutes(s.deps()), s.pages()...) {
		name := rt.Method + " " + rt.Pattern
		seen[name] = true
		scope := jobaccess.ScopeOf(rt.Method, rt.Pattern)
		hasID := strings.Contains(rt.Pattern, "{id}")
		query := slices.ContainsFunc(rt.Params, func(p rest.Param) bool { return p.In == "query" && p.Name == "workflow_id" && p.Required })
		switch scope {
		case jobaccess.Unset:
			t.Errorf("%s: server/jobaccess does not say whether jobs may use it", name)
		case jobaccess.Refused:
		case jobaccess.Everyone:
			if hasID || query {
				t.Errorf("%s names what belongs to a workflow, and is for everyone", name)
			}
		case jobaccess.Query:
			if !query {
				t.Errorf("%s has no workflow_id in its query", name)
			}
		case jobaccess.Body:
			if !namesWorkflow(rt.Body) {
				t.Errorf("%s has no workflow_id in its body", name)
			}
		default:
			if !hasID {
				t.Errorf("%s has no {id} in its path", name)
			}
		}
	}
	for name := range known {
		if !seen[name] {
			t.Errorf("server/jobaccess has the route %s, which does not exist", name)
		}
	}
}

// namesWorkflow reports whether each row of a body must say which workflow it
// belongs to.
func namesWorkflow(t reflect.Type) bool {
	if t == nil || t.Kind() != reflect.Struct {
		return false
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("json") == "workflow_id" && f.Type.Kind() == reflect.Int64 {
			return true
		}
		if f.Type.Kind() == reflect.Slice && namesWorkflow(f.Type.Elem()) {
			return true
		}
	}
	return false
}

// asJob sends a request on behalf of a job of a workflow.
func (a *testAPI) asJob(of int64, method, path, body string) answer {
	a.t.Helper()
	r := httptest.NewRequestWithContext(a.t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set(api.JobHeader, strconv.FormatInt(of, 10))
	return a.serve(r)
}

// rows are the ids of one row of each kind in a workflow.
type rows struct {
	workflow int64
	ids      map[jobaccess.Scope]int64
}

// rows creates a workflow with a row of each kind.
func (a *testAPI) rows(key string) rows {
	a.t.Helper()
	w := a.workflow()
	a.jobs(w, 1)
	runner := a.runner(w, key, 1)
	runner.turn(nil) // the job is granted: it may spawn
	id := func(path, body string) int64 {
		n, err := a.must("POST", path, body)["id"].(json.Number).Int64()
		if err != nil {
			a.t.Fatal(err)
		}
		return n
	}
	first := func(path string) int64 {
		items := a.must("GET", fmt.Sprintf("%s?workflow_id=%d", path, w), "")["items"].([]any)
		n, err := items[0].(map[string]any)["id"].(json.Number).Int64()
		if err != nil {
			a.t.Fatal(err)
		}
		return n
	}
	in := fmt.Sprintf(`"workflow_id":%d`, w)
	r := rows{w, map[jobaccess.Scope]int64{
		jobaccess.Workflow: w, jobaccess.Job: first("/jobs"), jobaccess.Requirements: first("/resource_requirements"),
		jobaccess.File:     id("/files", `{`+in+`,"name":"f","path":"f"}`),
		jobaccess.UserData: id("/user_data", `{`+in+`,"name":"d","data":1}`),
		jobaccess.Event:    id("/events", `{`+in+`,"timestamp":1,"data":{}}`),
	}}
	r.ids[jobaccess.Result] = id("/results", fmt.Sprintf(`{%s,"job_id":%d,"run_id":%d,"compute_node_id":%d,"return_code":0,"exec_time_minutes":1,`+
		`"completion_time":"2026-11-21T10:02:00Z","status":"completed"}`, in, r.ids[jobaccess.Job], runner.run, runner.id))
	return r
}

// jobBodies are bodies that name a workflow, by route; %d is its id.
var jobBodies = map[string]string{
	"POST /workflows/{id}/correct_resources": `{"dry_run":true}`,
	"POST /files":                            `{"workflow_id":%d,"name":"g","path":"g"}`,
	"POST /bulk_files":                       `{"files":[{"workflow_id":%d,"name":"h","path":"h"}]}`,
	"PUT /files/{id}":                        `{"workflow_id":%d,"name":"f","path":"f"}`,
	"POST /user_data":                        `{"workflow_id":%d,"name":"e"}`,
	"POST /bulk_user_data":                   `{"user_data":[{"workflow_id":%d,"name":"b"}]}`,
	"PUT /user_data/{id}":                    `{"workflow_id":%d,"name":"d","data":2}`,
	"PUT /jobs/{id}":                         `{"workflow_id":%d,"name":"j0","command":"true","priority":3}`,
	"POST /events":                           `{"workflow_id":%d,"timestamp":1,"data":{"a":1}}`,
	"POST /jobs/{id}/spawn_jobs":             `{"jobs":[{"name":"s","command":"true"}]}`,
}

// Jobs reach their own workflow by the routes that they may use, no other workflow by
// any, and nothing by the rest. Streams are omitted, since they do not end.
func TestJobsStayInTheirWorkflow(t *testing.T) {
	a := newAPI(t)
	own, other := a.rows("own"), a.rows("other")
	deletions := func(rt rest.Route) int { // last, so that the rows exist for the others
		if rt.Method == http.MethodDelete {
			return 1
		}
		return 0
	}
	routes := append(allRoutes(a.deps()), a.pages()...)
	slices.SortStableFunc(routes, func(x, y rest.Route) int { return deletions(x) - deletions(y) })
	for _, rt := range routes {
		name := rt.Method + " " + rt.Pattern
		scope := jobaccess.ScopeOf(rt.Method, rt.Pattern)
		// with sends the request with the ids of one workflow in the path and query, and
		// of another one in the body.
		with := func(path, body rows) answer {
			id, hasRow := path.ids[scope]
			if !hasRow {
				id = path.workflow
			}
			where := api.BasePath + rt.Pattern
			if rt.OutsideAPI {
				where = rt.Pattern
			}
			where = strings.NewReplacer("{$}", "", "{id}", strconv.FormatInt(id, 10), "{run_id}", "1", "{status}", "completed").Replace(where)
			if slices.ContainsFunc(rt.Params, func(p rest.Param) bool { return p.In == "query" && p.Name == "workflow_id" }) {
				where += fmt.Sprintf("?workflow_id=%d", path.workflow)
			}
			text := jobBodies[name]
			if strings.Contains(text, "%d") {
				text = fmt.Sprintf(text, body.workflow)
			}
			return a.asJob(own.workflow, rt.Method, where, text)
		}
		named := strings.Contains(name, "{id}") || slices.Contains([]jobaccess.Scope{jobaccess.Query, jobaccess.Body}, scope)
		if rt.Media != "text/event-stream" || scope == jobaccess.Refused {
			got := with(own, own)
			switch {
			case scope == jobaccess.Refused && got.status != http.StatusForbidden:
				t.Errorf("%s is not for jobs, but answers %d %s", name, got.status, got.text)
			case scope != jobaccess.Refused && rt.Pattern == "/workflows/{id}/failed_workflow": // there is none
			case scope != jobaccess.Refused && got.status != http.StatusOK:
				t.Errorf("%s in the own workflow: %d %s", name, got.status, got.text)
			}
		}
		if !named {
			continue
		}
		if got := with(other, other); got.status != http.StatusForbidden {
			t.Errorf("%s in another workflow: %d %s", name, got.status, got.text)
		}
		if scope != jobaccess.Refused && strings.Contains(jobBodies[name], "%d") {
			if got := with(own, other); got.status != http.StatusForbidden {
				t.Errorf("%s with another workflow in the body: %d %s", name, got.status, got.text)
			}
		}
	}
}

// Jobs may query how resource requirements would be corrected, but not correct them.
func TestJobsCorrectNoRequirements(t *testing.T) {
	a := newAPI(t)
	own := a.rows("own")
	path := fmt.Sprintf("%s/workflows/%d/correct_resources", api.BasePath, own.workflow)
	for body, status := range map[string]int{`{"dry_run":true}`: http.StatusOK, `{}`: http.StatusForbidden, `{"dry_run":false}`: http.StatusForbidden} {
		if got := a.asJob(own.workflow, "POST", path, body); got.status != status {
			t.Errorf("%s: %d %s", body, got.status, got.text)
		}
	}
}

// Rows of other workflows cannot be reached by references, either.
func TestJobsReferToTheirWorkflowOnly(t *testing.T) {
	a := newAPI(t)
	own, other := a.rows("own"), a.rows("other")
	stranger := other.ids[jobaccess.Job]
	for _, path := range []string{
		fmt.Sprintf("/user_data?producer_job_id=%d", stranger), fmt.Sprintf("/user_data?consumer_job_id=%d", stranger),
	} {
		a.asJob(own.workflow, "POST", api.BasePath+path, fmt.Sprintf(`{"workflow_id":%d,"name":"x"}`, own.workflow)).want(http.StatusUnprocessableEntity)
	}
	for _, body := range []string{
		fmt.Sprintf(`"resource_requirements_id":%d`, other.ids[jobaccess.Requirements]),
		fmt.Sprintf(`"output_file_ids":[%d]`, other.ids[jobaccess.File]),
		fmt.Sprintf(`"depends_on_job_ids":[%d]`, stranger),
	} {
		a.asJob(own.workflow, "PUT", fmt.Sprintf("%s/jobs/%d", api.BasePath, own.ids[jobaccess.Job]),
			fmt.Sprintf(`{"workflow_id":%d,"name":"j0","command":"true",%s}`, own.workflow, body)).want(http.StatusUnprocessableEntity)
	}
	for _, path := range []string{
		fmt.Sprintf("/jobs?workflow_id=%d&workflow_id=%d", own.workflow, other.workflow),
		fmt.Sprintf("/workflows/%d/events/stream", other.workflow),
	} {
		a.asJob(own.workflow, "GET", api.BasePath+path, "").want(http.StatusForbidden)
	}
	got := a.asJob(own.workflow, "GET", fmt.Sprintf("%s/resource_requirements?workflow_id=%d&job_id=%d", api.BasePath, own.workflow, stranger), "")
	if n := got.object()["total_count"].(json.Number); n != "0" {
		t.Errorf("found requirements of a job of another workflow: %s", got.text)
	}
}

// An invalid header must not extend what a request may do.
func TestJobHeaderThatCannotBeRead(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	for _, values := range [][]string{{""}, {"0"}, {"-1"}, {"all"}, {strconv.FormatInt(w, 10), "9"}} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("%s/workflows/%d", api.BasePath, w), nil)
		r.Header[api.JobHeader] = values
		a.serve(r).want(http.StatusUnprocessableEntity, api.JobHeader)
	}
}

// The header limits the secret of an allocation, too, from what a runner may do to what a
// job may do.
func TestJobsOfAnAllocation(t *testing.T) {
	a := newAPI(t, func(s *Server) {
		s.Auth = authFunc(func(*http.Request) (access.Caller, bool) {
			return access.Caller{User: "me", Known: true, Allocation: &compute.Allocation{WorkflowID: 1, IntentID: "i"}}, true
		})
	})
	w, err := a.Store.Workflows.Create(t.Context(), workflow.Workflow{Name: "w", User: "me"})
	if err != nil || w.ID != 1 {
		t.Fatal(w.ID, err)
	}
	get, register := "/workflows/1", "/workflows/1/runners"
	a.send("GET", get, "").want(http.StatusForbidden)
	a.asJob(1, "GET", api.BasePath+get, "").want(http.StatusOK)
	a.asJob(2, "GET", api.BasePath+"/ping", "").want(http.StatusForbidden, "workflow 2")
	a.asJob(1, "POST", api.BasePath+register, `{}`).want(http.StatusForbidden)
	a.send("POST", register, `{}`).want(http.StatusUnprocessableEntity)
	a.serve(httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)).want(http.StatusForbidden)
}

type authFunc func(*http.Request) (access.Caller, bool)

func (f authFunc) Authenticate(r *http.Request) (access.Caller, bool) { return f(r) }
