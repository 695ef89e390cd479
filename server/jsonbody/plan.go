package jsonbody

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// plan is the memory that the parts of a value take.
type plan struct {
	objects bool              // it is decoded from an object
	fields  map[string]member // of a struct, by name
	each    *member           // of a list or of a map
}

// member is a part of a value.
type member struct {
	name string
	plan *plan
	size int64 // for each one, without its own parts
}

// Sizes of other values: an entry of a map, which is never quite full, and a value whose
// type decodes itself.
const (
	entrySize = 64
	looseSize = 32
)

var (
	loose     = &plan{} // of values with unknown parts
	looseElem = member{plan: loose, size: looseSize}
	kept      = &plan{} // a text that is stored as it is
	keptElem  = member{plan: kept}

	rawMessage      = reflect.TypeFor[json.RawMessage]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

	plans sync.Map // reflect.Type to *plan
)

// field returns the part of an object with a name.
func (p *plan) field(name []byte) member {
	switch {
	case p == loose:
		return looseElem
	case p.each != nil:
		return *p.each
	}
	if m, ok := p.fields[string(name)]; ok {
		return m
	}
	if m, ok := p.similar(name); ok {
		return m
	}
	return keptElem // it is skipped, or has the wrong type
}

// similar returns the field whose name differs in case or is written with escapes, as
// encoding/json does.
func (p *plan) similar(name []byte) (member, bool) {
	text := string(name)
	if strings.Contains(text, `\`) && json.Unmarshal([]byte(`"`+text+`"`), &text) != nil {
		return member{}, false
	}
	for field, m := range p.fields {
		if strings.EqualFold(field, text) {
			return m, true
		}
	}
	return member{}, false
}

// elem returns the part that each element of an array is.
func (p *plan) elem() member {
	switch {
	case p == loose:
		return looseElem
	case p.each != nil:
		return *p.each
	}
	return keptElem
}

// planOf returns the plan of a type.
func planOf(t reflect.Type) *plan {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := makePlan(t)
	plans.Store(t, p)
	return p
}

func makePlan(t reflect.Type) *plan {
	switch ptr := reflect.PointerTo(t); {
	case t == rawMessage:
		return kept
	case ptr.Implements(jsonUnmarshaler), ptr.Implements(textUnmarshaler), t.Kind() == reflect.Interface:
		return loose
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return &plan{each: &member{plan: planOf(t.Elem()), size: int64(t.Elem().Size()) + pointee(t.Elem())}}
	case reflect.Map:
		return &plan{each: &member{plan: planOf(t.Elem()), size: entrySize + int64(t.Elem().Size()) + pointee(t.Elem())}}
	case reflect.Struct:
		p := &plan{objects: true, fields: map[string]member{}}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" || !f.IsExported() {
				continue
			}
			m := member{name: name, plan: planOf(f.Type), size: pointee(f.Type)}
			p.fields[name] = m
		}
		return p
	}
	return &plan{}
}

// pointee returns the size of what a value of a pointer type points to.
func pointee(t reflect.Type) int64 {
	if t.Kind() != reflect.Pointer {
		return 0
	}
	return int64(t.Elem().Size()) + pointee(t.Elem())
}
