package server

import (
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

//go:generate go test . -run TestOpenAPIFileIsUpToDate -update

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(api.OpenAPI) // the client may be gone
}
