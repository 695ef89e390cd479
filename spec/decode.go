package spec

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// field is one key of a struct of the document.
type field struct {
	key      string
	index    []int
	required bool
	enum     []string
	minimum  *int64
	lenient  bool // an unknown value is reported by a later check
}

// schema has the keys of a struct of the document.
type schema struct {
	fields []*field
	byKey  map[string]*field
	keys   []string
}

var schemas sync.Map // reflect.Type to *schema

// schemaOf reads the tags of a struct type.
func schemaOf(t reflect.Type) *schema {
	if s, ok := schemas.Load(t); ok {
		return s.(*schema)
	}
	s := &schema{byKey: map[string]*field{}}
	for _, sf := range reflect.VisibleFields(t) {
		tag, ok := sf.Tag.Lookup("json")
		if !ok {
			continue
		}
		key, option, _ := strings.Cut(tag, ",")
		f := &field{key: key, index: sf.Index, required: option != "omitempty", lenient: lenientKeys[key]}
		for part := range strings.SplitSeq(sf.Tag.Get("jsonschema"), ",") {
			name, value, _ := strings.Cut(part, "=")
			switch name {
			case "enum":
				f.enum = append(f.enum, value)
			case "minimum":
				if n, err := strconv.ParseInt(value, 10, 64); err == nil {
					f.minimum = &n
				}
			}
		}
		s.fields = append(s.fields, f)
		s.byKey[key] = f
		s.keys = append(s.keys, key)
	}
	schemas.Store(t, s)
	return s
}

// lenientKeys are enums for which torc accepts any text.
var lenientKeys = map[string]bool{"parameter_mode": true}

var (
	rawMessageType = reflect.TypeFor[json.RawMessage]()
	parametersType = reflect.TypeFor[Parameters]()
	policyRefType  = reflect.TypeFor[workflow.PolicyRef]()
)

// decoder turns the tree into a Document. It reports all errors instead of stopping at the
// first.
type decoder struct{ *report }

// decode reads a whole document.
func (d *decoder) decode(n *node) *Document {
	doc := &Document{}
	if n.kind != kindMap {
		d.fail(n, "a specification starts with keys such as name and jobs", "expected a map, found %s", n.kind.article())
		return doc
	}
	d.object(n, reflect.ValueOf(doc).Elem())
	return doc
}

// object reads a map into a struct.
func (d *decoder) object(n *node, v reflect.Value) {
	s := schemaOf(v.Type())
	if l, ok := v.Addr().Interface().(interface{ locate(*node) }); ok {
		l.locate(n)
	}
	for _, c := range n.items {
		f := s.byKey[c.key]
		if c.alias != "" {
			d.warnKey(c, "write "+c.key, "%s is read as %s", c.alias, c.key)
		}
		switch {
		case f == nil:
			d.unknownKey(c, v.Type(), s)
		case c.kind != kindNull:
			d.value(c, v.FieldByIndex(f.index), f)
		case f.required:
			d.fail(c, "", "%s cannot be null", c.key)
		}
	}
	for _, f := range s.fields {
		if f.required && n.child(f.key) == nil {
			d.failAt(n.get(f.key), n.spot(), "", "the key %q is missing", f.key)
		}
	}
}

// unknownKey reports a key that the struct does not have.
func (d *decoder) unknownKey(c *node, t reflect.Type, s *schema) {
	if text, ok := reservedKeys[t][c.key]; ok {
		d.failKey(c, text.hint, "%s", text.message)
		return
	}
	if hint, ok := droppedKeys[t][c.key]; ok {
		d.warnKey(c, hint, "%s no longer has an effect", c.key)
		return
	}
	keys := s.keys
	if d.kdl {
		keys = kdlKeys(t)
	}
	hint := "the keys here are " + strings.Join(slices.Sorted(slices.Values(keys)), ", ")
	if foreign, ok := foreignKeys[t][c.key]; ok && !d.kdl {
		hint = foreign
	} else if near := workflow.Nearest(c.key, keys); near != "" {
		hint = "did you mean " + near + "?"
	}
	if t == reflect.TypeFor[ResourceMonitor]() || t == reflect.TypeFor[JobMonitor]() || t == reflect.TypeFor[NodeMonitor]() {
		d.warnKey(c, hint, "unknown key %q is ignored", c.key)
		return
	}
	d.failKey(c, hint, "unknown key %q", c.key)
}

// value reads a node into a field, element or map entry.
func (d *decoder) value(n *node, v reflect.Value, f *field) {
	switch v.Type() {
	case rawMessageType:
		v.SetBytes(n.json())
		return
	case policyRefType:
		d.policyRef(n, v)
		return
	case parametersType:
		v.Set(reflect.ValueOf(d.parameters(n)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		v.Set(p)
		d.value(n, p.Elem(), f)
	case reflect.String:
		d.text(n, v, f)
	case reflect.Int64:
		d.integer(n, v, f)
	case reflect.Float64:
		if d.wants(n, n.kind == kindInt || n.kind == kindFloat, "a number") {
			v.SetFloat(n.float())
		}
	case reflect.Bool:
		if d.wants(n, n.kind == kindBool, "true or false") {
			v.SetBool(n.text == "true")
		}
	case reflect.Struct:
		if d.wants(n, n.kind == kindMap, "a map") {
			d.object(n, v)
		}
	case reflect.Slice:
		d.list(n, v, f)
	case reflect.Map:
		if !d.wants(n, n.kind == kindMap, "a map") {
			return
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), len(n.items)))
		for _, c := range n.items {
			e := reflect.New(v.Type().Elem()).Elem()
			d.value(c, e, f)
			v.SetMapIndex(reflect.ValueOf(c.key), e)
		}
	}
}

func (d *decoder) list(n *node, v reflect.Value, f *field) {
	if n.kind != kindList {
		hint := ""
		if n.kind == kindString && v.Type().Elem().Kind() == reflect.String {
			hint = "write a list: [" + quoteIfNeeded(n.text) + "]"
		}
		d.fail(n, hint, "expected a list, found %s", n.kind.article())
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, len(n.items)))
	for _, c := range n.items {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(c, e, f)
		if e.Kind() == reflect.Pointer && c.kind != kindMap {
			continue // later code needs the place of each item
		}
		v.Set(reflect.Append(v, e))
	}
}

// wants reports an error unless n is of the wanted kind.
func (d *decoder) wants(n *node, ok bool, what string) bool {
	if ok {
		return true
	}
	hint := ""
	switch {
	case what == "a string" && n.kind < kindString && n.kind != kindNull:
		hint = "put it in quotes: " + strconv.Quote(n.text)
	case what == "true or false" && slices.Contains([]string{"yes", "on", "Yes", "On", "YES", "ON"}, n.text):
		hint = "write true"
	case what == "true or false" && slices.Contains([]string{"no", "off", "No", "Off", "NO", "OFF"}, n.text):
		hint = "write false"
	case what != "a string" && n.kind == kindString && !n.plain:
		hint = "write it without quotes"
	}
	if n.kind == kindMap || n.kind == kindList || n.kind == kindNull {
		d.fail(n, hint, "expected %s, found %s", what, n.kind.article())
	} else {
		d.fail(n, hint, "expected %s, found %s %s", what, n.kind.article(), clip(n.text))
	}
	return false
}

func (d *decoder) text(n *node, v reflect.Value, f *field) {
	if f.key == "memory" && n.kind == kindInt { // quoted, it would be bytes
		d.fail(n, "write it with a unit: "+n.text+"m for MiB, "+n.text+"g for GiB", "memory %s has no unit", n.text)
		return
	}
	if !d.wants(n, n.kind == kindString, "a string") {
		return
	}
	v.SetString(n.text)
	if len(f.enum) == 0 || f.lenient || slices.Contains(f.enum, n.text) {
		return
	}
	hint := "use one of " + strings.Join(f.enum, ", ")
	if near := workflow.Nearest(n.text, f.enum); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(f.enum) == 1 {
		hint = "use " + f.enum[0]
	}
	d.fail(n, hint, "invalid value %q of %s", n.text, f.key)
}

func (d *decoder) integer(n *node, v reflect.Value, f *field) {
	if !d.wants(n, n.kind == kindInt, "a whole number") {
		return
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	switch {
	case err != nil:
		d.fail(n, "numbers must fit into 64 bits", "the number %s is too large", clip(n.text))
	case f.minimum != nil && i < *f.minimum:
		d.fail(n, "use "+strconv.FormatInt(*f.minimum, 10)+" or more", "%s cannot be %d", f.key, i)
	default:
		v.SetInt(i)
	}
}

// json returns n as JSON.
func (n *node) json() []byte { return n.appendJSON(nil) }

func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case kindNull:
		return append(b, "null"...)
	case kindBool, kindInt, kindFloat:
		return append(b, n.text...)
	case kindString:
		return append(b, jsonString(n.text)...)
	case kindList:
		b = append(b, '[')
		for i, c := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = c.appendJSON(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, c := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, jsonString(c.key)...), ':')
		b = c.appendJSON(b)
	}
	return append(b, '}')
}

func (n *node) float() float64 {
	v, _ := strconv.ParseFloat(n.text, 64) // checked when it was read
	return v
}

// clip shortens a text for a message.
func clip(text string) string {
	const limit = 60
	if runes := []rune(text); len(runes) > limit {
		return strconv.Quote(string(runes[:limit])) + "…"
	}
	return strconv.Quote(text)
}

// quoteIfNeeded quotes a text unless it is a plain word.
func quoteIfNeeded(text string) string {
	if pathKey(text) == text {
		return text
	}
	return strconv.Quote(text)
}
