package workflow_test

import (
	"reflect"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

// An update has every setting: one that it does not overwrite could not be changed.
func TestUpdateSettingsTakesEachOfThem(t *testing.T) {
	for f := range reflect.TypeFor[JobSettings]().Fields() {
		if f.Type.Kind() != reflect.Pointer {
			t.Errorf("%s is a %s, not a pointer: an update cannot leave it out", f.Name, f.Type)
			continue
		}
		var kept, change JobSettings
		value := reflect.New(f.Type.Elem())
		reflect.ValueOf(&change).Elem().FieldByIndex(f.Index).Set(value)
		kept.UpdateSettings(change)
		if got := reflect.ValueOf(kept).FieldByIndex(f.Index).Interface(); got != value.Interface() {
			t.Errorf("%s: the update was %v, and left %v", f.Name, value, got)
		}
		kept.UpdateSettings(JobSettings{})
		if got := reflect.ValueOf(kept).FieldByIndex(f.Index).Interface(); got != value.Interface() {
			t.Errorf("%s: an update without it left %v", f.Name, got)
		}
	}
}
