package apidoc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

// schemaBuilder makes schemas of Go types. A struct becomes a component. A field without
// omitempty is required, as in requests.
type schemaBuilder struct {
	schemas openapi3.Schemas
	types   map[string]reflect.Type // by the name of the component
}

// ref returns the schema of a type, or a reference to its component.
func (b *schemaBuilder) ref(t reflect.Type) *openapi3.SchemaRef {
	if t.Kind() == reflect.Pointer {
		return b.ref(t.Elem())
	}
	if values, ok := rest.Enums[t]; ok {
		return inline(openapi3.NewStringSchema().WithEnum(values...))
	}
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return inline(openapi3.NewSchema().WithNullable()) // anything
	case reflect.TypeFor[api.Object]():
		return inline(openapi3.NewObjectSchema().WithAnyAdditionalProperties())
	}
	switch t.Kind() {
	case reflect.Interface:
		return inline(openapi3.NewSchema().WithNullable())
	case reflect.Bool:
		return inline(openapi3.NewBoolSchema())
	case reflect.String:
		return inline(openapi3.NewStringSchema())
	case reflect.Int32:
		return inline(openapi3.NewInt32Schema())
	case reflect.Int, reflect.Int64:
		return inline(openapi3.NewInt64Schema())
	case reflect.Float64:
		return inline(openapi3.NewFloat64Schema())
	case reflect.Slice:
		return inline(&openapi3.Schema{Type: &openapi3.Types{openapi3.TypeArray}, Items: b.ref(t.Elem())})
	case reflect.Map:
		schema := openapi3.NewObjectSchema()
		schema.AdditionalProperties = openapi3.AdditionalProperties{Schema: b.ref(t.Elem())}
		return inline(schema)
	case reflect.Struct:
		return b.component(t)
	}
	panic("openapi: no schema for the type " + t.String())
}

func inline(s *openapi3.Schema) *openapi3.SchemaRef { return openapi3.NewSchemaRef("", s) }

// component returns a reference to the component of a struct, and adds the component if it
// is new.
func (b *schemaBuilder) component(t reflect.Type) *openapi3.SchemaRef {
	name := componentName(t)
	if other, taken := b.types[name]; !taken {
		b.types[name] = t
		ref := openapi3.NewSchemaRef("", openapi3.NewObjectSchema())
		b.schemas[name] = ref
		b.fields(ref.Value, t)
	} else if other != t {
		panic(fmt.Sprintf("openapi: %s and %s have the same name", other, t))
	}
	return openapi3.NewSchemaRef("#/components/schemas/"+name, b.schemas[name].Value)
}

// componentName returns the name of a type in the document: JobPage for Page[api.Job], and
// DefinitionJob for workflow.JobDefinition, a part of a definition.
func componentName(t reflect.Type) string {
	if part, isPart := strings.CutSuffix(t.Name(), "Definition"); isPart {
		return "Definition" + part
	}
	generic, item, isGeneric := strings.Cut(strings.TrimSuffix(t.Name(), "]"), "[")
	if !isGeneric {
		return t.Name()
	}
	return item[strings.LastIndex(item, ".")+1:] + generic
}

func (b *schemaBuilder) fields(schema *openapi3.Schema, t reflect.Type) {
	schema.Properties = openapi3.Schemas{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		field := b.ref(f.Type)
		optional := strings.Contains(options, "omitempty")
		if f.Type.Kind() == reflect.Pointer && !optional {
			field = inline(&openapi3.Schema{Nullable: true, AllOf: openapi3.SchemaRefs{field}})
		}
		schema.Properties[name] = field
		if !optional && !rest.IsLenient(t) {
			schema.Required = append(schema.Required, name)
		}
	}
	if rest.IsClosed(t) {
		schema.AdditionalProperties = openapi3.AdditionalProperties{Has: new(false)}
	}
}
