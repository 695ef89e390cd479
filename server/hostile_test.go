package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// TestNoRequestIsAServerError sends requests that are half right to every route: ids that
// exist, that belong to another workflow or to nothing, huge numbers, wrong types,
// missing and unknown fields. Whatever a client sends, the answer is below 500 and as
// openapi.yaml describes it.
func TestNoRequestIsAServerError(t *testing.T) {
	a := newAPI(t)
	var routes []rest.Route
	for _, rt := range allRoutes(a.deps()) {
		if rt.Media != "text/event-stream" { // does not end
			routes = append(routes, rt)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		h := hostile{T: t}
		for range 2 {
			h.learn(a.workflow())
		}
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			rt := rapid.SampledFrom(routes).Draw(t, "route")
			r := httptest.NewRequestWithContext(a.t.Context(), rt.Method, api.BasePath+h.path(rt), strings.NewReader(h.text(rt)))
			r.Header.Set("Content-Type", "application/json")
			got := a.serve(r)
			if got.status >= 500 {
				t.Fatalf("%s %s: %d %s\n%s", rt.Method, r.URL, got.status, got.text, a.log)
			}
			var row struct{ ID int64 }
			if json.Unmarshal([]byte(got.text), &row) == nil && row.ID > 0 {
				h.learn(row.ID)
			}
		}
	})
}

// hostile draws requests.
type hostile struct {
	*rapid.T
	ids []string // of rows that exist, or existed
}

func (h *hostile) learn(id int64) { h.ids = append(h.ids, fmt.Sprint(id)) }

// oneIn returns true in one of n cases.
func (h *hostile) oneIn(n int, what string) bool { return rapid.IntRange(1, n).Draw(h.T, what) == n }

func (h *hostile) pick(what string, values []string) string {
	return rapid.SampledFrom(values).Draw(h.T, what)
}

func (h *hostile) number() string {
	if h.oneIn(4, "odd number") {
		return h.pick("number", hostileNumbers)
	}
	return h.pick("id", h.ids)
}

var hostileNumbers = []string{"1", "2", "0", "-1", "99", "9223372036854775807", "-9223372036854775808"}

var hostileWords = []string{"", "a", "b", "default", "timeout", "w", "running", "ready", "completed", "run_commands", "schedule_nodes",
	"on_jobs_ready", "4g", "PT30M", "P1D", "-1", "1.5", "a,b", " a ", "%", "x'y\"z", "ü\u2028", "[{\"exit_codes\":[1]}]", "2026-11-21T10:02:00+00:00",
	strings.Repeat("x", 3000)}

// path fills in the path and the query of a route.
func (h *hostile) path(rt rest.Route) string {
	path, query := rt.Pattern, url.Values{}
	for _, p := range rt.Params {
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(h.param(p)))
		case p.Required && !h.oneIn(50, "omitted"), h.oneIn(5, "given"):
			query.Set(p.Name, h.param(p))
		}
	}
	return path + "?" + query.Encode()
}

func (h *hostile) param(p rest.Param) string {
	switch p.Kind.Kind() {
	case reflect.Int64, reflect.Int32:
		return h.number()
	case reflect.Bool:
		return h.pick(p.Name, []string{"true", "false", "true", "false", "1", ""})
	case reflect.Int8:
		return h.pick(p.Name, []string{"ready", "completed", "failed", "pending_failed", "uninitialized", "disabled", "nonsense"})
	}
	return h.pick(p.Name, hostileWords[1:])
}

// text returns a body for a route: mostly of the right shape.
func (h *hostile) text(rt rest.Route) string {
	if rt.Body == nil {
		return h.pick("body", []string{"", "null", "{}", "{"})
	}
	if h.oneIn(20, "garbage") {
		return h.pick("body", []string{"", "{", "null", "[]", "7", `"x"`, "{}", `{"a":{"b":[[]]}}`})
	}
	return h.json(rt.Body, 0)
}

// json writes a value of a type, and sometimes one of another type.
func (h *hostile) json(typ reflect.Type, depth int) string {
	if depth > 4 || h.oneIn(150, "wrong") {
		return h.pick("value", []string{"null", "1.5", "true", `"x"`, "[]", "{}", "[null]", "-0"})
	}
	if typ.Kind() == reflect.Pointer {
		return h.json(typ.Elem(), depth)
	}
	if values, ok := rest.Enums[typ]; ok {
		return fmt.Sprintf("%q", rapid.SampledFrom(values).Draw(h.T, "enum"))
	}
	switch typ.Kind() {
	case reflect.Bool:
		return h.pick("bool", []string{"true", "false"})
	case reflect.Int64, reflect.Int32, reflect.Int:
		return h.number()
	case reflect.Float64:
		return h.pick("float", []string{"0", "0.5", "-1", "16", "1e300"})
	case reflect.String:
		text, err := json.Marshal(h.pick("string", hostileWords))
		if err != nil {
			h.Fatal(err)
		}
		return string(text)
	case reflect.Slice:
		return h.list(typ, depth)
	case reflect.Map:
		return fmt.Sprintf(`{"A":%s}`, h.json(typ.Elem(), depth+1))
	case reflect.Struct:
		return h.object(typ, depth)
	}
	return "{}"
}

func (h *hostile) list(typ reflect.Type, depth int) string {
	if typ.Elem().Kind() == reflect.Uint8 { // free-form JSON
		return h.pick("free", []string{`{"commands":["true"]}`, `{"scheduler_id":1,"type":"slurm"}`, `{"category":"a"}`, `{}`, `[1]`, `null`, `"x"`})
	}
	items := make([]string, rapid.IntRange(0, 3).Draw(h.T, "length"))
	for i := range items {
		items[i] = h.json(typ.Elem(), depth+1)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func (h *hostile) object(typ reflect.Type, depth int) string {
	var fields []string
	for _, f := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		optional := strings.Contains(options, "omitempty")
		if name == "" || name == "-" || name == "wait_seconds" || optional && !h.oneIn(3, "field") || h.oneIn(200, "missing") {
			continue
		}
		fields = append(fields, fmt.Sprintf("%q:%s", name, h.json(f.Type, depth+1)))
	}
	if h.oneIn(30, "unknown") {
		fields = append(fields, `"no_such_field":1`)
	}
	return "{" + strings.Join(fields, ",") + "}"
}
