package siteconfigs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decoder decodes YAML into structs strictly: it reports each unknown key and each value
// of a wrong type with its position. The library's strict mode has no columns, stops at
// type errors, and cannot overlay files.
type decoder struct {
	file     string
	problems []string
}

func (d *decoder) fail(at *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems, fmt.Sprintf("%s:%d:%d: ", d.file, at.Line, at.Column)+fmt.Sprintf(format, args...))
}

// site decodes the map of a site.
func (d *decoder) site(n *yaml.Node, s *Site) {
	d.entries(n, reflect.ValueOf(s).Elem(), func(key string, v *yaml.Node) bool {
		if key == "partitions" {
			d.partitions(v, s)
		}
		return key == "partitions"
	})
}

// partitions decodes the partitions, each over the one of the same name.
func (d *decoder) partitions(n *yaml.Node, s *Site) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, "expected a list of partitions")
		return
	}
	var seen []string
	for _, item := range n.Content {
		if item.Kind != yaml.MappingNode {
			d.fail(item, "expected a partition: a map with a name")
			continue
		}
		name := child(item, "name")
		switch {
		case name == item || name.Kind != yaml.ScalarNode || name.Value == "":
			d.fail(item, "the partition has no name")
			continue
		case slices.Contains(seen, name.Value):
			d.fail(name, "duplicate partition %s", name.Value)
			continue
		}
		seen = append(seen, name.Value)
		p := s.Partition(name.Value)
		if p == nil {
			s.Partitions = append(s.Partitions, Partition{})
			p = &s.Partitions[len(s.Partitions)-1]
		}
		d.entries(item, reflect.ValueOf(p).Elem(), nil)
	}
}

// entries decodes the keys of a map into a struct by its yaml tags, except for those that
// special handles.
func (d *decoder) entries(n *yaml.Node, to reflect.Value, special func(key string, v *yaml.Node) bool) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "expected a map")
		return
	}
	fields := fieldsOf(to.Type())
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		field, known := fields[key.Value]
		switch {
		case !known:
			d.fail(key, "unknown key %s%s", key.Value, suggestion(key.Value, fields))
		case seen[key.Value]:
			d.fail(key, "duplicate key %s", key.Value)
		case special == nil || !special(key.Value, v):
			d.value(v, key.Value, to.Field(field))
		}
		seen[key.Value] = true
	}
}

// fieldsOf returns the fields of a struct by key.
func fieldsOf(t reflect.Type) map[string]int {
	fields := make(map[string]int)
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		fields[key] = i
	}
	return fields
}

// suggestion returns the key that was probably meant, as part of a message.
func suggestion(key string, fields map[string]int) string {
	normal := func(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }
	for _, known := range slices.Sorted(maps.Keys(fields)) {
		a, b := normal(key), normal(known)
		if a == b || len(a) > 3 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
			return " (did you mean " + known + "?)"
		}
	}
	return ""
}

var durationType = reflect.TypeFor[time.Duration]()

// value decodes one value into a field.
func (d *decoder) value(n *yaml.Node, key string, to reflect.Value) {
	switch kind := to.Kind(); {
	case kind == reflect.Slice && n.Kind == yaml.SequenceNode:
		list := reflect.MakeSlice(to.Type(), len(n.Content), len(n.Content))
		for i, item := range n.Content {
			d.value(item, key, list.Index(i))
		}
		to.Set(list)
	case kind == reflect.Slice:
		d.fail(n, "%s: expected a list", key)
	case kind == reflect.Struct:
		d.entries(n, to, nil)
	case kind == reflect.Map && n.Kind == yaml.MappingNode:
		m := reflect.MakeMap(to.Type())
		for i := 0; i+1 < len(n.Content); i += 2 {
			m.SetMapIndex(reflect.ValueOf(n.Content[i].Value), reflect.ValueOf(n.Content[i+1].Value))
		}
		to.Set(m)
	case n.Kind != yaml.ScalarNode:
		d.fail(n, "%s: expected one value", key)
	default:
		if problem := setScalar(to, n.Value); problem != "" {
			d.fail(n, "%s: %q is not %s", key, n.Value, problem)
		}
	}
}

// setScalar sets a field from a text. If it cannot, it returns what was expected.
func setScalar(to reflect.Value, text string) (expected string) {
	switch {
	case to.Type() == durationType:
		duration, ok := ParseDuration(text)
		if !ok {
			return "a time: write 4h, 1h30m, or as Slurm does 2-00:00:00"
		}
		to.SetInt(int64(duration))
	case to.Kind() == reflect.String:
		to.SetString(text)
	case to.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return "true or false"
		}
		to.SetBool(b)
	case to.Kind() == reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return "a whole number that is not negative"
		}
		to.SetInt(n)
	case to.Kind() == reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 0) {
			return "a number that is not negative"
		}
		to.SetFloat(f)
	}
	return ""
}
