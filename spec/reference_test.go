package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	invopop "github.com/invopop/jsonschema"

	"github.com/torc-slurm/torc-slurm/internal/golden"
)

const referencePath = "../docs/reference/spec.md"

// TestReferenceIsCurrent compares the page about specifications with the
// schema.
func TestReferenceIsCurrent(t *testing.T) {
	var s invopop.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, referencePath, specReference(&s))
}

// specReference writes a section for each kind of object, the document first.
func specReference(s *invopop.Schema) string {
	var b strings.Builder
	b.WriteString("# Specification reference\n\nGenerated from the schema by `make generate`. YAML, JSON and JSON5 have these\n" +
		"keys; KDL has them as nodes, one for each job, file and so on. Editors read the\n[JSON Schema](../../spec/schema.json).\n")
	queue := []string{typeName(s.Ref)}
	for i := 0; i < len(queue); i++ {
		name := queue[i]
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | |\n|---|---|---|\n", heading(name))
		def := s.Definitions[name]
		for p := def.Properties.Oldest(); p != nil; p = p.Next() {
			if p.Value.Not != nil {
				continue // reserved for later versions
			}
			key := "`" + p.Key + "`"
			if slices.Contains(def.Required, p.Key) {
				key += " (required)"
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", key, typeText(p.Value), cellText(p.Value.Description))
			for _, ref := range refs(p.Value) {
				if next := typeName(ref); !slices.Contains(queue, next) {
					queue = append(queue, next)
				}
			}
		}
	}
	return b.String()
}

func typeName(ref string) string { return strings.TrimPrefix(ref, "#/$defs/") }

// heading is the name of a kind of object in words: FailureRule is Failure rule.
func heading(name string) string {
	if name == "Document" {
		return "Workflow"
	}
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// typeText says what a value may be.
func typeText(s *invopop.Schema) string {
	switch {
	case s.Ref != "":
		h := heading(typeName(s.Ref))
		return fmt.Sprintf("[%s](#%s)", strings.ToLower(h), strings.ReplaceAll(strings.ToLower(h), " ", "-"))
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = fmt.Sprintf("`%v`", e)
		}
		return strings.Join(words, ", ")
	case s.Items != nil:
		return "list of " + typeText(s.Items)
	case s.AdditionalProperties != nil && s.Type == "object" && s.AdditionalProperties.Type != "":
		return "map of " + typeText(s.AdditionalProperties)
	case len(s.OneOf)+len(s.AnyOf) > 0:
		var words []string
		for _, alternative := range append(s.OneOf, s.AnyOf...) {
			words = append(words, typeText(alternative))
		}
		return strings.Join(words, " or ")
	case s.Type == "":
		return "any"
	case s.Minimum != "":
		return fmt.Sprintf("%s ≥ %s", s.Type, s.Minimum)
	case s.ExclusiveMinimum != "":
		return fmt.Sprintf("%s > %s", s.Type, s.ExclusiveMinimum)
	}
	return s.Type
}

// refs are the kinds of objects that a value may have.
func refs(s *invopop.Schema) []string {
	if s == nil {
		return nil
	}
	var all []string
	if s.Ref != "" {
		all = append(all, s.Ref)
	}
	for _, part := range slices.Concat([]*invopop.Schema{s.Items}, s.OneOf, s.AnyOf) {
		all = append(all, refs(part)...)
	}
	return all
}

// cellText makes a text fit into a cell of a table.
func cellText(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "|", `\|`)
}
