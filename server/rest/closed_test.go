package rest

import (
	"reflect"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestPoliciesAreClosed: every object within a policy rejects unknown keys.
func TestPoliciesAreClosed(t *testing.T) {
	seen := map[reflect.Type]bool{reflect.TypeFor[workflow.PolicyRef](): true} // it decodes itself
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		if seen[typ] = true; !closedTypes[typ] {
			t.Errorf("%s accepts any key", typ)
		}
		for i := range typ.NumField() {
			if !typ.Field(i).Anonymous {
				look(typ.Field(i).Type)
			}
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[workflow.RunPolicy](), reflect.TypeFor[workflow.JobPolicy](), reflect.TypeFor[workflow.RetryPolicy](), reflect.TypeFor[workflow.RetrySettings](),
		reflect.TypeFor[api.HoldVerdicts](), reflect.TypeFor[api.HoldResolution](),
	} {
		look(typ)
	}
	if len(seen) < 20 {
		t.Errorf("only %d types", len(seen))
	}
}
