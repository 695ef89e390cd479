package spec

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad reads anything as any format: it must neither panic nor take long,
// errors must have places, and what is taken must survive being expanded.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || strings.HasSuffix(file, ".golden") || len(data) > 10_000 {
			continue
		}
		f.Add("x"+filepath.Ext(file), data)
		f.Add("x", data)
	}
	opts := Options{
		User:     "me",
		ReadFile: func(string) ([]byte, error) { return []byte("a,b\n1,2\n"), nil },
		Stat:     func(string) (fs.FileInfo, error) { return nil, fs.ErrNotExist },
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if strings.Contains(string(data), "000") {
			t.Skip("may expand to many instances")
		}
		r, err := Parse(name, data, opts)
		if err != nil {
			errs := err.(Errors)
			checkPlaces(t, data, errs)
			if errs.Render() == "" {
				t.Error("nothing to show")
			}
			return
		}
		text, err := Expanded(r.Definition).JSON()
		if err != nil || !json.Valid(text) {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := Parse("x.json", text, opts)
		if err != nil {
			t.Fatalf("%s\n%s", text, rendered(err))
		}
		if diff := sameDefinitions(r.Definition, again.Definition); diff != "" {
			t.Errorf("-original +expanded:\n%s", diff)
		}
	})
}
