// Package apidoc describes the API as an OpenAPI document, from the same table of
// routes and types that answer it. Only tests and go generate link it: the daemon
// serves the generated file, and the packages that check documents would make every
// start of the program slower.
package apidoc

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// Document returns the description of the API, from the routes that serve it.
func Document(routes []rest.Route) *openapi3.T {
	b := &schemaBuilder{schemas: openapi3.Schemas{}, types: map[string]reflect.Type{}}
	errorRef := b.ref(reflect.TypeFor[api.ErrorResponse]())
	doc := &openapi3.T{
		OpenAPI: "3.0.3",
		Info: &openapi3.Info{
			Title: "torc-slurm", Version: api.Version,
			Description: "The HTTP API of torc-slurm: torc's HTTP API " + api.Version + " and what torc-slurm adds to it.",
		},
		Servers: openapi3.Servers{{URL: api.BasePath}},
		Paths:   openapi3.NewPaths(),
		Components: &openapi3.Components{
			Schemas:         b.schemas,
			Responses:       errorResponses(errorRef),
			SecuritySchemes: securitySchemes(),
		},
		Security: openapi3.SecurityRequirements{{"basic": {}}, {"bearer": {}}, {}},
	}
	for _, rt := range routes {
		doc.AddOperation(rt.Pattern, rt.Method, operation(b, &rt))
	}
	return doc
}

// YAML returns the document as text.
func YAML(routes []rest.Route) ([]byte, error) {
	text, err := json.Marshal(Document(routes))
	if err == nil {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return nil, fmt.Errorf("write openapi.yaml: %w", err)
	}
	return text, nil
}

func operation(b *schemaBuilder, rt *rest.Route) *openapi3.Operation {
	op := &openapi3.Operation{OperationID: operationID(rt), Summary: rt.Summary, Tags: []string{strings.Split(rt.Pattern, "/")[1]}}
	for _, p := range rt.Params {
		op.Parameters = append(op.Parameters, &openapi3.ParameterRef{Value: parameter(b, p)})
	}
	if rt.Body != nil {
		media := openapi3.NewMediaType().WithSchemaRef(b.ref(rt.Body))
		op.RequestBody = &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithRequired(true).
			WithContent(openapi3.Content{bodyMedia(rt): media})}
	}
	op.Responses = openapi3.NewResponses()
	op.Responses.Delete("default")
	op.Responses.Set("200", &openapi3.ResponseRef{Value: success(b, http.StatusOK, rt.Out, rt.Media)})
	for status, out := range rt.Others {
		op.Responses.Set(strconv.Itoa(status), &openapi3.ResponseRef{Value: success(b, status, out, rt.Media)})
	}
	failures := []int{400, 401, 403, 404, 422, 500}
	if rt.Body != nil {
		failures = append(failures, 413, 415)
	}
	if rt.Conflict == http.StatusConflict {
		failures = append(failures, 409)
	}
	for _, status := range failures {
		op.Responses.Set(strconv.Itoa(status), &openapi3.ResponseRef{Ref: "#/components/responses/" + failureName(status)})
	}
	return op
}

func operationID(rt *rest.Route) string {
	name := strings.NewReplacer("/", "_", "{", "", "}", "", ".", "_").Replace(rt.Pattern)
	return strings.ToLower(rt.Method) + name
}

func success(b *schemaBuilder, status int, out reflect.Type, media string) *openapi3.Response {
	response := openapi3.NewResponse().WithDescription(http.StatusText(status))
	if out == nil {
		return response.WithContent(openapi3.Content{media: openapi3.NewMediaType().WithSchema(openapi3.NewStringSchema())})
	}
	return response.WithContent(openapi3.NewContentWithJSONSchemaRef(b.ref(out)))
}

func parameter(b *schemaBuilder, p rest.Param) *openapi3.Parameter {
	schema := b.ref(p.Kind)
	if p.Repeated {
		schema = openapi3.NewSchemaRef("", &openapi3.Schema{Type: &openapi3.Types{openapi3.TypeArray}, Items: schema})
	}
	return &openapi3.Parameter{Name: p.Name, In: p.In, Description: p.Doc, Required: p.Required, Schema: schema}
}

func failureName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// errorResponses returns the answers to failed requests. Requests that did not reach a
// handler are answered in plain text.
func errorResponses(detail *openapi3.SchemaRef) openapi3.ResponseBodies {
	plain := openapi3.NewMediaType().WithSchema(openapi3.NewStringSchema())
	coded := openapi3.NewMediaType().WithSchemaRef(detail)
	all := openapi3.ResponseBodies{}
	for _, f := range []struct {
		status      int
		description string
		content     openapi3.Content
	}{
		{400, "The path, the query or the JSON text cannot be read", openapi3.Content{"text/plain": plain}},
		{401, "No valid credentials", openapi3.Content{"text/plain": plain}},
		{403, "The credentials do not allow this: a runner in an allocation may only use its jobs", openapi3.Content{"application/json": coded}},
		{404, "Not found", openapi3.Content{"application/json": coded}},
		{409, "The request conflicts with the current state", openapi3.Content{"application/json": coded}},
		{413, "The body is too large", openapi3.Content{"text/plain": plain}},
		{415, "The content type of the body is not JSON", openapi3.Content{"text/plain": plain}},
		{422, "The JSON has another shape (plain text), or the request is rejected (JSON)", openapi3.Content{"application/json": coded, "text/plain": plain}},
		{500, "An internal error of the server", openapi3.Content{"application/json": coded}},
	} {
		all[failureName(f.status)] = &openapi3.ResponseRef{Value: openapi3.NewResponse().WithDescription(f.description).WithContent(f.content)}
	}
	return all
}

func securitySchemes() openapi3.SecuritySchemes {
	return openapi3.SecuritySchemes{
		"basic":  &openapi3.SecuritySchemeRef{Value: openapi3.NewSecurityScheme().WithType("http").WithScheme("basic")},
		"bearer": &openapi3.SecuritySchemeRef{Value: openapi3.NewSecurityScheme().WithType("http").WithScheme("bearer")},
	}
}

func bodyMedia(rt *rest.Route) string {
	if rt.Media != "" {
		return rt.Media
	}
	return "application/json"
}
