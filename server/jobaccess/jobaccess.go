// Package jobaccess decides what a running job may call. A job reaches the daemon through
// its runner, which adds its own credentials, and the header api.JobHeader. The header
// only limits what the credentials allow, so it needs no proof.
package jobaccess

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Scope says which requests of a route jobs may make.
type Scope int

// The scopes. A request that names another workflow than that of the job is rejected in
// every scope.
const (
	Unset    Scope = iota // missing in the table: rejected, and a test fails
	Refused               // not for jobs
	Everyone              // it returns nothing about workflows
	Query                 // the query names the workflow
	Body                  // the body names the workflow
	Workflow              // {id} is the workflow
	Job                   // {id} is one of its jobs, and so on
	File
	UserData
	Result
	Event
	Requirements
)

// kinds are the rows that {id} identifies in a scope.
var kinds = map[Scope]store.Kind{
	Job: store.KindJob, File: store.KindFile, UserData: store.KindUserData, Result: store.KindResult, Event: store.KindEvent,
	Requirements: store.KindRequirements,
}

// Owners returns which workflow a row belongs to.
type Owners interface {
	// Of returns the id of the workflow, or an error with CodeNotFound if the row does not
	// exist.
	Of(ctx context.Context, kind store.Kind, id int64) (workflowID int64, err error)
}

// FromHeader returns the workflow of the job that makes a request; 0 if no job does. It
// returns an error with CodeInvalid for an invalid header, since ignoring it would allow
// more.
func FromHeader(h http.Header) (workflowID int64, err error) {
	values := h.Values(api.JobHeader)
	if len(values) == 0 {
		return 0, nil
	}
	id, err := strconv.ParseInt(values[0], 10, 64)
	if len(values) > 1 || err != nil || id <= 0 {
		return 0, workflow.Errorf(workflow.CodeInvalid, "the header %s is %q, not the id of one workflow", api.JobHeader, strings.Join(values, ", "))
	}
	return id, nil
}

// Check returns an error with CodeForbidden if a job of a workflow may not make a request.
// scope is that of the route, id the {id} of its path.
func Check(ctx context.Context, owners Owners, scope Scope, workflowID int64, r *http.Request, id string) error {
	if !allowed(scope, workflowID, id) || !queryWithin(workflowID, r.URL.RawQuery) {
		return forbidden(r, workflowID)
	}
	kind, isRow := kinds[scope]
	if !isRow {
		return nil
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil //nolint:nilerr // the handler reports the error
	}
	owner, err := owners.Of(ctx, kind, n)
	if err != nil {
		return err
	}
	if owner != workflowID {
		return forbidden(r, workflowID)
	}
	return nil
}

// allowed is the part of the decision that needs no row.
func allowed(scope Scope, workflowID int64, id string) bool {
	switch scope {
	case Unset, Refused:
		return false
	case Workflow:
		n, err := strconv.ParseInt(id, 10, 64)
		return err == nil && n == workflowID
	}
	return true
}

// queryWithin reports whether a query names no other workflow.
func queryWithin(workflowID int64, raw string) bool {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return false
	}
	for _, text := range query["workflow_id"] {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != workflowID {
			return false
		}
	}
	return true
}

// proposer is a body that may request a dry run, which changes nothing.
type proposer interface{ Proposes() bool }

// CheckBody returns an error with CodeForbidden if a decoded body, a pointer, names
// another workflow, in itself or in the elements of its lists, or requests a change for
// which jobs may only request a dry run.
func CheckBody(workflowID int64, r *http.Request, body any) error {
	if p, ok := body.(proposer); ok && !p.Proposes() || namesOther(reflect.ValueOf(body), workflowID) {
		return forbidden(r, workflowID)
	}
	return nil
}

// namesOther reports whether a field workflow_id, in structs or structs of lists, has
// another value.
func namesOther(v reflect.Value, workflowID int64) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && namesOther(v.Elem(), workflowID)
	case reflect.Slice:
		if e := v.Type().Elem().Kind(); e != reflect.Struct && e != reflect.Pointer {
			return false // ids, texts and free JSON name no workflow
		}
		for i := range v.Len() {
			if namesOther(v.Index(i), workflowID) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			field := v.Field(i)
			if name != "workflow_id" {
				if field.Kind() != reflect.Int64 && namesOther(field, workflowID) {
					return true
				}
				continue
			}
			if field.Kind() == reflect.Pointer && !field.IsNil() {
				field = field.Elem()
			}
			if field.Kind() == reflect.Int64 && field.Int() != workflowID {
				return true
			}
		}
	}
	return false
}

func forbidden(r *http.Request, workflowID int64) error {
	return workflow.Errorf(workflow.CodeForbidden, "a job of workflow %d may not %s %s", workflowID, r.Method, r.URL.Path).
		WithHint("jobs read their own workflow, add jobs by spawn_jobs, and write files, user data and events")
}
