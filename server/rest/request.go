// Package rest turns HTTP requests into calls of handlers, and their results into answers:
// a table of routes, parameters and bodies, errors, openapi.yaml.
package rest

import (
	"encoding"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/server/access"
)

// Request is the input of a handler: the path and query parameters in P, and the body in
// B.
type Request[P, B any] struct {
	*http.Request
	Params P
	Body   B
	// Status is the status of a successful answer.
	Status int
}

// User returns the name of the caller, for events.
func (r *Request[P, B]) User() string { return access.CallerOf(r.Context()).User }

// None is the type of a body that is ignored.
type None struct{}

// Param describes one field of a parameter struct. A field is declared as
//
//	ID    int64   `path:"id"`
//	Limit *int64  `query:"limit" doc:"…"`
//
// A pointer or slice is optional. Other types are required, unless the field has a
// default tag.
type Param struct {
	index    []int
	Name     string
	In       string // path or query
	Kind     reflect.Type
	pointer  bool
	Repeated bool // a slice: the key may be repeated
	Required bool
	fallback string
	Doc      string
}

// paramsOf returns the parameters of a struct, with those of embedded structs.
func paramsOf(t reflect.Type) []Param {
	var all []Param
	for _, f := range reflect.VisibleFields(t) {
		p := Param{index: f.Index, Kind: f.Type, Doc: f.Tag.Get("doc"), fallback: f.Tag.Get("default")}
		if p.Name = f.Tag.Get("path"); p.Name != "" {
			p.In = "path"
		} else if p.Name = f.Tag.Get("query"); p.Name != "" {
			p.In = "query"
		} else {
			continue
		}
		switch f.Type.Kind() {
		case reflect.Pointer:
			p.pointer, p.Kind = true, f.Type.Elem()
		case reflect.Slice:
			p.Repeated, p.Kind = true, f.Type.Elem()
		}
		p.Required = !p.pointer && !p.Repeated && p.fallback == ""
		all = append(all, p)
	}
	return all
}

// readParams fills dest, a struct, from the path and the query.
func readParams(r *http.Request, params []Param, dest reflect.Value) error {
	if len(params) == 0 {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return TextErrorf(http.StatusBadRequest, "Query deserialize error: %v", err)
	}
	for _, p := range params {
		var values []string
		where := "Query"
		if p.In == "path" {
			where, values = "Path", []string{r.PathValue(p.Name)}
		} else {
			values = query[p.Name]
		}
		if err := p.read(values, dest.FieldByIndex(p.index)); err != nil {
			return TextErrorf(http.StatusBadRequest, "%s deserialize error: %v", where, err)
		}
	}
	return nil
}

func (p *Param) read(values []string, dest reflect.Value) error {
	switch {
	case p.Repeated:
		for _, text := range values {
			item := reflect.New(p.Kind).Elem()
			if err := p.parse(text, item); err != nil {
				return err
			}
			dest.Set(reflect.Append(dest, item))
		}
		return nil
	case len(values) > 1:
		return fmt.Errorf("duplicate field `%s`", p.Name)
	case len(values) == 0 && p.Required:
		return fmt.Errorf("missing field `%s`", p.Name)
	case len(values) == 0 && p.fallback != "":
		return p.parse(p.fallback, dest)
	case len(values) == 0:
		return nil
	case p.pointer:
		dest.Set(reflect.New(p.Kind))
		return p.parse(values[0], dest.Elem())
	}
	return p.parse(values[0], dest)
}

func (p *Param) parse(text string, dest reflect.Value) error {
	if u, ok := dest.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		return nil
	}
	switch dest.Kind() {
	case reflect.String:
		dest.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%s: expected `true` or `false`, found %q", p.Name, text)
		}
		dest.SetBool(text == "true")
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s: invalid number %q", p.Name, text)
		}
		dest.SetFloat(x)
	case reflect.Int64, reflect.Int32:
		n, err := strconv.ParseInt(text, 10, dest.Type().Bits())
		if err != nil || strings.HasPrefix(text, "+") {
			return fmt.Errorf("%s: invalid integer %q", p.Name, text)
		}
		dest.SetInt(n)
	default:
		panic("parameter " + p.Name + " has a type that no request can have: " + dest.Type().String())
	}
	return nil
}
