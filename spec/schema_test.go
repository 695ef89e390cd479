package spec

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	invopop "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const modulePath = "github.com/torc-slurm/torc-slurm/spec"

// makeSchema derives the JSON Schema from the types of the document.
func makeSchema(t *testing.T) []byte {
	t.Helper()
	r := &invopop.Reflector{Mapper: freeSchema}
	for _, dir := range []string{"./", "../workflow"} {
		if err := r.AddGoComments(modulePath, dir); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(&Document{})
	for name, def := range r.Reflect(&workflow.RetryPolicy{}).Definitions {
		s.Definitions[name] = def
	}
	s.ID = "https://" + modulePath + "/schema.json"
	s.Title = "torc-slurm workflow specification"
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Document](), reflect.TypeFor[Job](), reflect.TypeFor[Action](), reflect.TypeFor[workflow.SiblingRule](),
	} {
		props := s.Definitions[typ.Name()].Properties
		for _, key := range slices.Sorted(maps.Keys(reservedKeys[typ])) {
			a := reservedKeys[typ][key]
			props.Set(key, &invopop.Schema{Not: &invopop.Schema{}, Description: a.message + "; " + a.hint})
		}
		for _, key := range slices.Sorted(maps.Keys(droppedKeys[typ])) {
			props.Set(key, &invopop.Schema{Deprecated: true, Description: "No effect; " + droppedKeys[typ][key]})
		}
	}
	deprecated, _ := s.Definitions["Job"].Properties.Get("supports_termination")
	deprecated.Deprecated = true
	for _, key := range []string{"command", "workflow"} {
		s.Definitions["Job"].OneOf = append(s.Definitions["Job"].OneOf, &invopop.Schema{Required: []string{key}})
	}
	for _, name := range []string{"ResourceMonitor", "JobMonitor", "NodeMonitor"} {
		s.Definitions[name].AdditionalProperties = nil // unknown keys are a warning here
	}
	for _, def := range s.Definitions {
		for p := def.Properties.Oldest(); p != nil; p = p.Next() {
			p.Value.Description = describe(p.Key, p.Value.Description)
		}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// describe makes a comment on a Go field one on a key: NumCPUs is num_cpus.
func describe(key, comment string) string {
	word, rest, _ := strings.Cut(comment, " ")
	name := strings.TrimRight(word, ":,")
	if strings.EqualFold(name, strings.ReplaceAll(key, "_", "")) {
		return key + strings.TrimPrefix(word, name) + " " + rest
	}
	return strings.ReplaceAll(comment, "\n", " ")
}

// freeSchema describes the types that reflection cannot.
func freeSchema(t reflect.Type) *invopop.Schema {
	switch t {
	case parametersType:
		scalar := func() []*invopop.Schema {
			return []*invopop.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}
		}
		list := &invopop.Schema{Type: "array", Items: &invopop.Schema{OneOf: scalar()}}
		return &invopop.Schema{Type: "object", AdditionalProperties: &invopop.Schema{OneOf: append(scalar(), list)}}
	case policyRefType:
		return &invopop.Schema{OneOf: []*invopop.Schema{{Type: "string"}, {Ref: "#/$defs/RetryPolicy"}}}
	case rawMessageType:
		return &invopop.Schema{}
	}
	return nil
}

func TestSchemaIsCurrent(t *testing.T) {
	golden.Compare(t, "schema.json", string(makeSchema(t)))
}

// schemaErrors validates a YAML text by the schema.
func schemaErrors(t *testing.T, text []byte) error {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestSchemaTakesGoodFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no good files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemaErrors(t, text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestSchemaRefusesBadFiles(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":       "name: w\njobs: []\njob: []\n",
		"missing name":      "jobs: []\n",
		"missing command":   "name: w\njobs: [{name: a}]\n",
		"two things to run": "name: w\njobs: [{name: a, command: b, workflow: c.yaml}]\n",
		"wrong type":        "name: w\njobs: [{name: a, command: b, priority: high}]\n",
		"negative":          "name: w\njobs: [{name: a, command: b, priority: -1}]\n",
		"replaced key":      "name: w\njobs: []\nslurm_config: {}\n",
		"unknown action":    "name: w\njobs: []\nretry_policies: [{name: p, rules: [{when: {}, action: again}]}]\n",
		"unknown matcher":   "name: w\njobs: []\nretry_policies: [{name: p, rules: [{when: {causes: [oom]}, action: retry}]}]\n",
		"unknown trigger":   "name: w\njobs: []\nactions: [{trigger_type: never, action_type: run_commands}]\n",
		"unknown mode":      "name: w\njobs: []\nexecution_config: {mode: slow}\n",
		"parameter map":     "name: w\njobs: [{name: a, command: b, parameters: {i: {a: 1}}}]\n",
		"env with a number": "name: w\njobs: []\nenv: {A: 1}\n",
	} {
		if schemaErrors(t, []byte(text)) == nil {
			t.Errorf("%s: the schema takes it", name)
		}
		if _, err := Parse("w.yaml", []byte(text), Options{}); err == nil {
			t.Errorf("%s: Parse takes it", name)
		}
	}
}

// TestSchemaDescribesEveryKey keeps the comments of the types fit for editors.
func TestSchemaDescribesEveryKey(t *testing.T) {
	var s invopop.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	for name, def := range s.Definitions {
		for p := def.Properties.Oldest(); p != nil; p = p.Next() {
			if strings.TrimSpace(p.Value.Description) == "" {
				t.Errorf("%s.%s has no description", name, p.Key)
			}
		}
	}
}
