package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// A shape is what encoding/json does not check of a struct: that required
// fields are there, and that a closed object has no others. A field is
// required if it has no omitempty.
type shape struct {
	required []string
	closed   bool
	fields   map[string]shapeField
	trivial  bool // nothing to check, here or below
}

type shapeField struct {
	elem *shape // nil if there is nothing to check in it
	kind reflect.Kind
	null bool  // null is a value of it
	enum []any // the only values; nil: any
}

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
}

// lenientTypes have a default for every field.
var lenientTypes = map[reflect.Type]bool{
	reflect.TypeFor[workflow.ResourceMonitorConfig](): true,
	reflect.TypeFor[workflow.JobMonitorConfig]():      true,
	reflect.TypeFor[workflow.NodeMonitorConfig]():     true,
}

var (
	rawMessage = reflect.TypeFor[json.RawMessage]()
	shapes     sync.Map // reflect.Type to *shape
)

// shapeIn finds the struct in t, behind a pointer, slice or map.
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
		s.fields[name] = shapeField{elem: elem, kind: kind, null: null, enum: enums[f.Type]}
		nested = nested || s.fields[name].enum != nil
		if !strings.Contains(options, "omitempty") && !lenientTypes[t] {
			s.required = append(s.required, name)
		}
	}
	s.trivial = !s.closed && len(s.required) == 0 && !nested
	shapes.Store(t, s)
	return s
}

// promoted reports whether f reaches t through embedded structs alone.
func promoted(t reflect.Type, f reflect.StructField) bool {
	for i := range len(f.Index) - 1 {
		if !t.FieldByIndex(f.Index[:i+1]).Anonymous {
			return false
		}
	}
	return true
}

// check compares text, valid JSON of the right types, with a shape.
func check(text []byte, kind reflect.Kind, s *shape, path string) error {
	switch kind {
	case reflect.Slice:
		var items []json.RawMessage
		if err := json.Unmarshal(text, &items); err != nil {
			return err
		}
		for i, item := range items {
			if err := s.check(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		var items map[string]json.RawMessage
		if err := json.Unmarshal(text, &items); err != nil {
			return err
		}
		for key, item := range items {
			if err := s.check(item, path+"."+key); err != nil {
				return err
			}
		}
		return nil
	}
	return s.check(text, path)
}

func (s *shape) check(text []byte, path string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	at := ""
	if path != "" {
		at = " in " + strings.TrimPrefix(path, ".")
	}
	for _, name := range s.required {
		value, ok := fields[name]
		if !ok {
			return fmt.Errorf("missing field `%s`%s", name, at)
		}
		if string(value) == "null" && !s.fields[name].null {
			return fmt.Errorf("invalid type: null for field `%s`%s", name, at)
		}
	}
	for name, value := range fields {
		field, known := s.fields[name]
		if !known && s.closed {
			return fmt.Errorf("unknown field `%s`%s", name, at)
		}
		if field.enum != nil && !slices.ContainsFunc(field.enum, func(v any) bool { return string(value) == fmt.Sprintf("%q", v) }) {
			return fmt.Errorf("unknown value %s for field `%s`%s, expected one of %v", value, name, at, field.enum)
		}
		if field.elem == nil || string(value) == "null" {
			continue
		}
		if err := check(value, field.kind, field.elem, path+"."+name); err != nil {
			return err
		}
	}
	return nil
}
