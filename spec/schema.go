package spec

import (
	_ "embed" // for schema.json
	"slices"
)

//go:generate go test -run TestSchemaIsCurrent -update .
//go:generate go test -run TestReferenceIsCurrent -update .

//go:embed schema.json
var schemaJSON []byte

// Schema returns the JSON Schema (draft 2020-12) of specifications, for editors. It is
// generated from the types of Document.
func Schema() []byte { return slices.Clone(schemaJSON) }
