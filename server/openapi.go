package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/server/rest"
)

//go:generate go test . -run TestOpenAPIFileIsUpToDate -update

// OpenAPI describes the API, from the same table and types that answer it.
func OpenAPI() *openapi3.T { return rest.Document(allRoutes(new(handler.Deps))) }

// OpenAPIYAML is the document as text.
func OpenAPIYAML() ([]byte, error) {
	text, err := json.Marshal(OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("write openapi.yaml: %w", err)
	}
	text, err = yaml.JSONToYAML(text)
	if err != nil {
		return nil, fmt.Errorf("write openapi.yaml: %w", err)
	}
	return text, nil
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(api.OpenAPI) // the client may be gone
}
