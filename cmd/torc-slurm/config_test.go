package main

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

// TestTrustIn: the rest of a configuration stays as it is written.
func TestTrustIn(t *testing.T) {
	const rest = "# mine\n[client]\nformat = \"json\" # as I like it\n"
	text := rest
	for _, tc := range []struct {
		folder string
		remove bool
		want   string
	}{
		{"/a", false, "trusted_folders = [\"/a\"]\n" + rest},
		{"/b c", false, "trusted_folders = [\"/a\", \"/b c\"]\n" + rest},
		{"/a", false, "trusted_folders = [\"/b c\", \"/a\"]\n" + rest},
		{"/b c", true, "trusted_folders = [\"/a\"]\n" + rest},
		{"/a", true, rest},
		{"/a", true, rest},
	} {
		changed, _, err := trustIn(text, tc.folder, tc.remove)
		if err != nil || changed != tc.want {
			t.Fatalf("%s, %v:\n%s\nwant:\n%s", tc.folder, err, changed, tc.want)
		}
		text = changed
	}
	if _, _, err := trustIn("\"trusted_folders\" = ['/x']\n", "/a", false); err == nil {
		t.Error("a way of writing that the command does not understand is overwritten")
	}
	if changed, _, err := trustIn("# x\ntrusted_folders = [\n  \"/x\",\n]\n[server]\n", "/a", false); err != nil || changed != "trusted_folders = [\"/x\", \"/a\"]\n# x\n[server]\n" {
		t.Errorf("of several lines: %q, %v", changed, err)
	}
}
