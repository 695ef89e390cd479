package row

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Each setting of a job has one column with the name of its key.
func TestEachJobSettingHasItsColumn(t *testing.T) {
	var s workflow.JobSettings
	columns, fields := JobSettingColumns(), JobSettings(&s)
	for f := range reflect.TypeFor[workflow.JobSettings]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := reflect.ValueOf(&s).Elem().FieldByIndex(f.Index).Addr().Interface()
		i := slices.Index(columns, key)
		if i < 0 {
			t.Errorf("%s: no column %s in %v", f.Name, key, columns)
			continue
		}
		if fields[i] != field {
			t.Errorf("the column %s is that of another field than %s", key, f.Name)
		}
		columns, fields = slices.Delete(columns, i, i+1), slices.Delete(fields, i, i+1)
	}
	if len(columns) > 0 {
		t.Errorf("columns of no setting, or listed twice: %v", columns)
	}
}
