package server

import (
	"encoding"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// request is what a handler gets: the path and query parameters in P and the
// body in B.
type request[P, B any] struct {
	*http.Request
	Params P
	Body   B
	// Status is what a success is answered with.
	Status int
}

// user is who makes the request, for events.
func (r *request[P, B]) user() string { return callerOf(r.Context()).User }

// none is the body of a request whose body is ignored.
type none struct{}

// param describes one field of a parameter struct. A field is declared as
//
//	ID    int64   `path:"id"`
//	Limit *int64  `query:"limit" doc:"…"`
//
// A pointer or slice may be absent; anything else must be there, unless it has
// a default tag.
type param struct {
	index    []int
	name     string
	in       string // path or query
	kind     reflect.Type
	pointer  bool
	repeated bool // a slice: the key may be repeated
	required bool
	fallback string
	doc      string
}

// paramsOf lists the parameters of a struct, with those of embedded structs.
func paramsOf(t reflect.Type) []param {
	var all []param
	for _, f := range reflect.VisibleFields(t) {
		p := param{index: f.Index, kind: f.Type, doc: f.Tag.Get("doc"), fallback: f.Tag.Get("default")}
		if p.name = f.Tag.Get("path"); p.name != "" {
			p.in = "path"
		} else if p.name = f.Tag.Get("query"); p.name != "" {
			p.in = "query"
		} else {
			continue
		}
		switch f.Type.Kind() {
		case reflect.Pointer:
			p.pointer, p.kind = true, f.Type.Elem()
		case reflect.Slice:
			p.repeated, p.kind = true, f.Type.Elem()
		}
		p.required = !p.pointer && !p.repeated && p.fallback == ""
		all = append(all, p)
	}
	return all
}

// readParams fills dest, a struct, from the path and the query.
func readParams(r *http.Request, params []param, dest reflect.Value) error {
	if len(params) == 0 {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return textErrorf(http.StatusBadRequest, "Query deserialize error: %v", err)
	}
	for _, p := range params {
		var values []string
		where := "Query"
		if p.in == "path" {
			where, values = "Path", []string{r.PathValue(p.name)}
		} else {
			values = query[p.name]
		}
		if err := p.read(values, dest.FieldByIndex(p.index)); err != nil {
			return textErrorf(http.StatusBadRequest, "%s deserialize error: %v", where, err)
		}
	}
	return nil
}

func (p *param) read(values []string, dest reflect.Value) error {
	switch {
	case p.repeated:
		for _, text := range values {
			item := reflect.New(p.kind).Elem()
			if err := p.parse(text, item); err != nil {
				return err
			}
			dest.Set(reflect.Append(dest, item))
		}
		return nil
	case len(values) > 1:
		return fmt.Errorf("duplicate field `%s`", p.name)
	case len(values) == 0 && p.required:
		return fmt.Errorf("missing field `%s`", p.name)
	case len(values) == 0 && p.fallback != "":
		return p.parse(p.fallback, dest)
	case len(values) == 0:
		return nil
	case p.pointer:
		dest.Set(reflect.New(p.kind))
		return p.parse(values[0], dest.Elem())
	}
	return p.parse(values[0], dest)
}

func (p *param) parse(text string, dest reflect.Value) error {
	if u, ok := dest.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		return nil
	}
	switch dest.Kind() {
	case reflect.String:
		dest.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%s: expected `true` or `false`, found %q", p.name, text)
		}
		dest.SetBool(text == "true")
	case reflect.Int64, reflect.Int32:
		n, err := strconv.ParseInt(text, 10, dest.Type().Bits())
		if err != nil || strings.HasPrefix(text, "+") {
			return fmt.Errorf("%s: invalid integer %q", p.name, text)
		}
		dest.SetInt(n)
	default:
		panic("parameter " + p.name + " has a type that no request can have: " + dest.Type().String())
	}
	return nil
}
