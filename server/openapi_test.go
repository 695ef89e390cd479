package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/server/apidoc"
	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/store"
)

const openAPIFile = "../api/openapi.yaml"

func TestOpenAPIFileIsUpToDate(t *testing.T) {
	want, err := apidoc.YAML(allRoutes(&handler.Deps{Store: new(store.Store)}))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, openAPIFile, string(want))
}

func TestOpenAPIIsValid(t *testing.T) {
	doc := loadOpenAPI(t)
	if doc.Info.Version != api.Version {
		t.Errorf("version %q, want %q", doc.Info.Version, api.Version)
	}
}

// loadOpenAPI loads and validates the generated document.
func loadOpenAPI(t *testing.T) *openapi3.T {
	t.Helper()
	text, err := apidoc.YAML(allRoutes(&handler.Deps{Store: new(store.Store)}))
	if err != nil {
		t.Fatal(err)
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestEveryRouteIsDescribed(t *testing.T) {
	doc := loadOpenAPI(t)
	described := 0
	for path, item := range doc.Paths.Map() {
		described += len(item.Operations())
		if strings.HasPrefix(path, api.BasePath) {
			t.Errorf("%s contains the base path", path)
		}
	}
	routes := allRoutes(&handler.Deps{Store: new(store.Store)})
	if described != len(routes) {
		t.Errorf("%d operations are described, %d exist", described, len(routes))
	}
	for _, rt := range routes {
		item := doc.Paths.Value(rt.Pattern)
		if item == nil || item.GetOperation(rt.Method) == nil {
			t.Errorf("%s %s is not described", rt.Method, rt.Pattern)
			continue
		}
		op := item.GetOperation(rt.Method)
		if op.Summary == "" || op.Responses.Status(http.StatusOK) == nil {
			t.Errorf("%s %s has no summary or no answer", rt.Method, rt.Pattern)
		}
		if strings.Count(rt.Pattern, "{") != countPathParams(op) {
			t.Errorf("%s %s: its path parameters are not all described", rt.Method, rt.Pattern)
		}
	}
}

func countPathParams(op *openapi3.Operation) (n int) {
	for _, p := range op.Parameters {
		if p.Value.In == "path" {
			n++
		}
	}
	return n
}
