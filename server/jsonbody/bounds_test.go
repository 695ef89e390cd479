package jsonbody

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

type inner struct {
	Name  string  `json:"name"`
	IDs   []int64 `json:"ids,omitempty"`
	Space [1024]byte
}

type outer struct {
	Jobs []inner           `json:"jobs"`
	Env  map[string]string `json:"env"`
	Free json.RawMessage   `json:"free"`
	Any  any               `json:"any"`
	One  *inner            `json:"one"`
}

func TestCost(t *testing.T) {
	many := strings.Repeat
	for _, c := range []struct {
		what, text, want string
	}{
		{"nothing", `{}`, ""},
		{"objects", `{"jobs": [ {"name":"a\"]","ids":[1,-2.5e+3]} , {} ,null],"x":[[1],{"y":[true]}]}`, ""},
		{"plain values", `{"jobs":[1` + many(`,1`, 1000) + `]}`, "invalid type: number for field `jobs`, expected an object"},
		{"a text late", `{"jobs":[{},{},"x"]}`, "invalid type: string for field `jobs`, expected an object"},
		{"too many", `{"jobs":[{}` + many(`,{}`, 1000) + `]}`, "the list of jobs has 1001 entries; at most 1000 are accepted at once"},
		{"with another name for it", `{"\u006aoBs":[{}` + many(`,{}`, 1000) + `]}`, "the list of jobs has 1001 entries; at most 1000 are accepted at once"},
		{"with a letter that folds", `{"jobſ":[1]}`, "invalid type: number for field `jobs`, expected an object"},
		{"values in objects", `{"jobs":[{"ids":[1` + many(`,1`, MaxValues) + `]}]}`, "the list of ids has 1000001 entries; at most 1000000 are accepted at once"},
		{"entries", `{"env":{"":""` + many(`,"":""`, 4<<20) + `}}`, "more than 256 MiB"},
		{"objects again and again", `{"one":{}` + many(`,"one":{}`, 300_000) + `}`, "more than 256 MiB"},
		{"free values", `{"any":[0` + many(`,[]`, 999_000) + `]}`, ""},
		{"deep", many(`[`, 101) + many(`]`, 101), "nested deeper than 100 levels"},
		{"deep in what is stored as text", `{"free":` + many(`[`, 100) + many(`]`, 100) + `}`, "nested deeper than 100 levels"},
		{"not too deep", `{"free":` + many(`[`, 99) + many(`]`, 99) + `}`, ""},
	} {
		_, err := Cost([]byte(c.text), reflect.TypeFor[outer](), 1000)
		if err == nil != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	if cost, err := Cost([]byte(`{"jobs":[{},{}],"env":{"a":"b"}}`), reflect.TypeFor[outer](), 9); err != nil || cost < 2*1024 || cost > 3*1024 {
		t.Errorf("two objects cost %d, %v", cost, err)
	}
}

// FuzzCost: a text that encoding/json can read is scanned to its end, and errors in a
// list of objects are those that encoding/json reports.
func FuzzCost(f *testing.F) {
	for _, text := range []string{`{"jobs":[{"name":"a","ids":[1]}],"free":{"a":[]}}`, `{"jobs":[1]}`, `[`, `{"a":"\\"}`, `{"jobs":[{"name":"\""},true]}`, "", `{"env":{"a":1}}`, ` {"one" : null}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := walker{text: []byte(text), maxObjects: 1000}
		err := w.value(planOf(reflect.TypeFor[outer]()))
		if !json.Valid([]byte(text)) {
			return
		}
		if w.broken || err == nil && w.next() != 0 {
			t.Fatalf("%q is JSON, and was not read to its end", text)
		}
		var mismatch *Mismatch
		var into outer
		if errors.As(err, &mismatch) && json.Unmarshal([]byte(text), &into) == nil {
			t.Fatalf("%q: %v, but encoding/json reads it", text, err)
		}
	})
}
