package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// A shape is what encoding/json does not check of a struct: that required fields exist,
// and that a closed object has no others. A field without omitempty is required.
type shape struct {
	required []string
	closed   bool
	fields   map[string]shapeField
	trivial  bool // nothing to check, here or below
}

type shapeField struct {
	elem     *shape // nil if there is nothing to check in it
	kind     reflect.Kind
	required int   // its number among the required fields, from 1; 0 if it is optional
	null     bool  // null is allowed
	free     bool  // any JSON, stored as it was written
	enum     []any // the only values; nil: any
}

// closedTypes reject unknown keys, because ignoring a key there would change what is done:
// drop a limit, or a dry run.
var closedTypes = map[reflect.Type]bool{
	reflect.TypeFor[workflow.ExecutionConfig]():   true,
	reflect.TypeFor[workflow.StdioConfig]():       true,
	reflect.TypeFor[workflow.DynamicJobsConfig](): true,
	reflect.TypeFor[api.SpawnRequest]():           true,
	reflect.TypeFor[api.SpawnJob]():               true,
	reflect.TypeFor[workflow.RetryPolicy]():       true,
	reflect.TypeFor[workflow.RetryRule]():         true,
	reflect.TypeFor[workflow.RuleMatch]():         true,
	reflect.TypeFor[workflow.ExitCodeMatch]():     true,
	reflect.TypeFor[workflow.AttemptMatch]():      true,
	reflect.TypeFor[workflow.ElapsedMatch]():      true,
	reflect.TypeFor[workflow.Backoff]():           true,
	reflect.TypeFor[workflow.AvoidNodes]():        true,
	reflect.TypeFor[workflow.Mutation]():          true,
	reflect.TypeFor[workflow.Growth]():            true,
	reflect.TypeFor[workflow.QueuePolicies]():     true,
	reflect.TypeFor[workflow.RetrySettings]():     true,
	reflect.TypeFor[workflow.Timeouts]():          true,
	reflect.TypeFor[workflow.TimeLimit]():         true,
	reflect.TypeFor[workflow.RunLimit]():          true,
	reflect.TypeFor[workflow.Deadline]():          true,
	reflect.TypeFor[workflow.HoldLimit]():         true,
	reflect.TypeFor[workflow.NotifyPolicy]():      true,

	reflect.TypeFor[workflow.RunPolicy]():          true,
	reflect.TypeFor[workflow.JobPolicy]():          true,
	reflect.TypeFor[workflow.SiblingRule]():        true,
	reflect.TypeFor[workflow.FailureCategory]():    true,
	reflect.TypeFor[workflow.CategoryMatch]():      true,
	reflect.TypeFor[workflow.CircuitBreaker]():     true,
	reflect.TypeFor[workflow.NodeBreaker]():        true,
	reflect.TypeFor[workflow.CompensationPolicy](): true,
	reflect.TypeFor[workflow.ClassifierPolicy]():   true,
	reflect.TypeFor[workflow.EndPolicy]():          true,
	reflect.TypeFor[workflow.EndJob]():             true,
	reflect.TypeFor[hold.HoldVerdict]():            true,
	reflect.TypeFor[api.HoldVerdicts]():            true,
	reflect.TypeFor[api.HoldResolution]():          true,
	reflect.TypeFor[api.BreakerReset]():            true,
	reflect.TypeFor[api.ClaimRelease]():            true,
}

// lenientTypes have a default for every field.
var lenientTypes = map[reflect.Type]bool{
	reflect.TypeFor[workflow.ResourceMonitorConfig](): true,
	reflect.TypeFor[workflow.JobMonitorConfig]():      true,
	reflect.TypeFor[workflow.NodeMonitorConfig]():     true,
}

// IsClosed reports whether a body of type t with an unknown key is rejected.
func IsClosed(t reflect.Type) bool { return closedTypes[t] }

// IsLenient reports whether every field of type t has a default.
func IsLenient(t reflect.Type) bool { return lenientTypes[t] }

// Enums are the types with a fixed set of values.
var Enums = map[reflect.Type][]any{
	reflect.TypeFor[workflow.JobStatus]():  jobStatusNames(),
	reflect.TypeFor[workflow.RunIf]():      {"success", "always", "failure"},
	reflect.TypeFor[workflow.StdioMode]():  {"separate", "combined", "no_stdout", "no_stderr", "none"},
	reflect.TypeFor[workflow.TaskStatus](): {"queued", "running", "succeeded", "failed"},
}

func jobStatusNames() []any {
	var names []any
	for _, s := range workflow.JobStatuses() {
		names = append(names, s.String())
	}
	return names
}

var (
	rawMessage = reflect.TypeFor[json.RawMessage]()
	freeObject = reflect.TypeFor[api.Object]()
	shapes     sync.Map // reflect.Type to *shape
)

// shapeIn returns the kind and the shape of the struct in t, behind a pointer, slice or
// map.
func shapeIn(t reflect.Type) (reflect.Kind, *shape) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := t.Kind()
	switch kind {
	case reflect.Slice, reflect.Map:
		if t == rawMessage {
			return kind, nil
		}
		if t = t.Elem(); t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	if t.Kind() != reflect.Struct {
		return kind, nil
	}
	s := shapeOf(t)
	if s.trivial {
		return kind, nil
	}
	return kind, s
}

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{closed: closedTypes[t], fields: map[string]shapeField{}}
	nested := false
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || len(f.Index) > 1 && !promoted(t, f) {
			continue
		}
		kind, elem := shapeIn(f.Type)
		nested = nested || elem != nil
		null := f.Type.Kind() == reflect.Pointer || f.Type == rawMessage || f.Type.Kind() == reflect.Interface
		free := f.Type == rawMessage || f.Type == freeObject
		field := shapeField{elem: elem, kind: kind, null: null, free: free, enum: Enums[f.Type]}
		nested = nested || free || field.enum != nil
		if !strings.Contains(options, "omitempty") && !lenientTypes[t] {
			s.required = append(s.required, name)
			field.required = len(s.required)
		}
		s.fields[name] = field
	}
	s.trivial = !s.closed && len(s.required) == 0 && !nested
	shapes.Store(t, s)
	return s
}

// promoted reports whether f belongs to t only through embedded structs.
func promoted(t reflect.Type, f reflect.StructField) bool {
	for i := range len(f.Index) - 1 {
		if !t.FieldByIndex(f.Index[:i+1]).Anonymous {
			return false
		}
	}
	return true
}

// check returns an error if a value, which has the right type, does not match a shape.
func check(value gjson.Result, kind reflect.Kind, s *shape, at *place) (err error) {
	n := 0
	switch kind {
	case reflect.Slice:
		value.ForEach(func(_, item gjson.Result) bool {
			err = s.check(item, &place{in: at, item: n})
			n++
			return err == nil
		})
		return err
	case reflect.Map:
		value.ForEach(func(key, item gjson.Result) bool {
			err = s.check(item, &place{in: at, name: key.Str})
			return err == nil
		})
		return err
	}
	return s.check(value, at)
}

// check returns an error if an object does not match the shape. Missing fields are
// reported first.
func (s *shape) check(object gjson.Result, at *place) (err error) {
	given := make([]bool, len(s.required))
	object.ForEach(func(key, value gjson.Result) bool {
		field, known := s.fields[key.Str]
		if field.required > 0 {
			given[field.required-1] = true
		}
		switch {
		case err != nil:
		case known:
			err = field.check(key.Str, value, at)
		case s.closed:
			err = s.unknownField(key.Str, at)
		}
		return true
	})
	for i, name := range s.required {
		if !given[i] {
			return fmt.Errorf("missing field `%s`%s", name, at.within())
		}
	}
	return err
}

// unknownField returns an error for a key, which suggests a similar one.
func (s *shape) unknownField(key string, at *place) error {
	meant := ""
	if near := workflow.Nearest(key, slices.Sorted(maps.Keys(s.fields))); near != "" {
		meant = ", did you mean " + near + "?"
	}
	return fmt.Errorf("unknown field `%s`%s%s", key, at.within(), meant)
}

func (f *shapeField) check(name string, value gjson.Result, at *place) error {
	null := value.Type == gjson.Null
	if null && f.required > 0 && !f.null {
		return fmt.Errorf("invalid type: null for field `%s`%s", name, at.within())
	}
	if f.enum != nil && !slices.ContainsFunc(f.enum, func(v any) bool { return value.Raw == fmt.Sprintf("%q", v) }) {
		return fmt.Errorf("unknown value %s for field `%s`%s, expected one of %v", value.Raw, name, at.within(), f.enum)
	}
	if f.free {
		if err := CheckFreeJSON([]byte(value.Raw)); err != nil {
			return fmt.Errorf("field `%s`%s: %w", name, at.within(), err)
		}
	}
	if f.elem == nil || null {
		return nil
	}
	return check(value, f.kind, f.elem, &place{in: at, name: name})
}
