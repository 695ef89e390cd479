package spec

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each key of a specification is used in a sub-workflow, refused there, or said to
// be without effect: none is lost in silence.
func TestKeysOfSubWorkflows(t *testing.T) {
	used := []string{"name", "user", "description", "project", "metadata", "variables", "parameters", "parameters_file", "env", "jobs", "files",
		"user_data", "resource_requirements", "failure_handlers", "retry_policies", "end"}
	refused := []string{"on_failure"}
	document := reflect.TypeFor[Document]()
	for i := range document.NumField() {
		key, _, _ := strings.Cut(document.Field(i).Tag.Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		n := 0
		for _, list := range [][]string{used, refused, ofParents} {
			if slices.Contains(list, key) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s stands in %d of the lists, want 1", key, n)
		}
	}
}

// What sub-workflows expand to counts as if it were written in one file.
func TestSubWorkflowsCountTogether(t *testing.T) {
	b, _ := parse("top.yaml", []byte("name: top\njobs: [{name: a, command: 'true'}]\n"), Options{User: "me"})
	sub := func(instances, size int) *builder {
		return &builder{expansion: &expansion{instances: instances, size: size}, policies: &policies{}}
	}
	b.expansion.instances = maxInstances - 3
	for i, want := range []bool{true, true, true, false} {
		if got := b.takes(b.doc.at, sub(1, 0), 0); got != want {
			t.Errorf("sub-workflow %d: taken is %v", i, got)
		}
	}
	b.expansion.instances = 0
	if b.takes(b.doc.at, sub(maxInstances, 1000), maxSize/maxInstances+1) {
		t.Error("names of any length are taken")
	}
	if len(b.errors) != 2 || !strings.Contains(b.errors[0].Error(), "more than 10000000 instances") || !strings.Contains(b.errors[1].Error(), "GiB of text") {
		t.Errorf("errors: %v", b.errors)
	}
}
