package api

import _ "embed"

// OpenAPI is the description of the API, openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte
