package spec

import (
	"fmt"
	"reflect"
	"regexp"
	"testing"
)

// A key with a hint must not be a key of the specification, as it would then never be shown.
func TestForeignKeysAreUnknown(t *testing.T) {
	for typ, hints := range foreignKeys {
		s := schemaOf(typ)
		for key, hint := range hints {
			if s.byKey[key] != nil || hint == "" {
				t.Errorf("%s: %q has the hint %q", typ.Name(), key, hint)
			}
		}
	}
}

// What the hints tell the user to write is valid.
func TestForeignKeyHints(t *testing.T) {
	written := regexp.MustCompile(`^write (?:a retry policy: )?(.*?)(?:;.*)?$`)
	for key, spec := range map[string]string{
		"retries":     "jobs: [{name: a, command: 'true', %s}]",
		"timeout":     "jobs: [{name: a, command: 'true', %s}]",
		"deps":        "jobs: [{name: a, command: 'true'}, {name: b, command: 'true'}, {name: c, command: 'true', %s}]",
		"environment": "jobs: [{name: a, command: 'true', %s}]",
	} {
		m := written.FindStringSubmatch(foreignKeys[reflect.TypeFor[Job]()][key])
		if m == nil {
			t.Fatalf("the hint for %s says nothing to write", key)
		}
		parseText(t, fmt.Sprintf("name: x\n"+spec+"\n", m[1]))
	}
}
