package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/setting"
)

// TestEveryKeyHasAClass: a new key of the configuration is not read from anybody's
// folder before somebody has decided that it may be.
func TestEveryKeyHasAClass(t *testing.T) {
	var keys []string
	collectKeys(reflect.TypeFor[Config](), "", &keys)
	if len(keys) < 50 {
		t.Fatalf("found only %d keys: %s", len(keys), keys)
	}
	for _, key := range keys {
		if setting.ClassOf(key) == setting.Unknown {
			t.Errorf("cmd/torc-slurm/setting has no class for %s", key)
		}
	}
}

// collectKeys lists the keys that a TOML file can set in a struct. For a map it names
// one key of many.
func collectKeys(of reflect.Type, prefix string, keys *[]string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if !f.IsExported() {
			continue
		}
		switch key := prefix + name; {
		case name == "":
			*keys = append(*keys, prefix+f.Name) // has no class
		case f.Type.Kind() == reflect.Struct:
			collectKeys(f.Type, key+".", keys)
		case f.Type.Kind() == reflect.Map:
			*keys = append(*keys, key+".any")
		default:
			*keys = append(*keys, key)
		}
	}
}
