package spec

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/titanous/json5"
)

func TestJSON5(t *testing.T) {
	for text, want := range map[string]string{
		"{}": "{}", "[]": "[]", " [1,] ": "[i<1>]", "{a:1,'b':2,\"c\":3,}": "{a: i<1>, b: i<2>, c: i<3>}",
		"{$_é1: null}": "{$_é1: _<null>}", `{\u0061b: 1}`: "{ab: i<1>}",
		"0x1f": "i<31>", "-0X10": "i<-16>", "+5": "i<5>", ".5": "f<0.5>", "5.": "f<5.0>", "1e2": "f<100.0>", "-0": "i<-0>", "-0.0": "f<-0.0>",
		"'a\"b'": `s<a"b>`, `"a'b"`: "s<a'b>", `'\x41\u00e9\0\v\'\a'`: "s<A\u00e9\x00\v'a>", `"\ud83d\ude00"`: "s<😀>", `"\ud83d"`: "s<\uFFFD>", `"\ud83dx\u0041"`: "s<\uFFFDxA>",
		"'a\\\nb\\\r\nc'": "s<abc>", "// c\n1 /* d\n */ // e": "i<1>", "\uFEFF1\u00a0": "i<1>", "'\u2028'": "s<\u2028>",
		"[true, false]": "[b<true>, b<false>]",
	} {
		n, err := readJSON([]byte(text), false)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := tree(n); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestJSON5Refuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "1:1", "{": "1:2", "[1 2]": "1:4", "{a 1}": "1:4", "[,]": "1:2", "{,}": "1:2", "[1,,2]": "1:4", "{a:1,a:2}": "1:6", "NaN": "1:1", "-Infinity": "1:1",
		"01": "1:1", "1e": "1:1", "1e+": "1:1", "0x": "1:1", "--1": "1:1", "1.2.3": "1:1", ".": "1:1", "+": "1:1", "1x": "1:1", "e5": "1:1", "0x-1": "1:1",
		"'a": "1:1", "'a\nb'": "1:1", `'\1'`: "1:2", `'\01'`: "1:2", `'\xg'`: "1:4", `'\u12'`: "1:6", "/* a": "1:1", "/": "1:1", "1 2": "1:3", "{a}": "1:3", "\x01": "1:1",
		"[1\n2]": "2:1", "tru": "1:1", "{1a: 2}": "1:2", `{\x41: 1}`: "1:3", `{\u0020: 1}`: "1:8",
	} {
		n, err := readJSON([]byte(text), false)
		if err == nil {
			t.Errorf("%q is %s", text, tree(n))
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, want+":") {
			t.Errorf("%q: %s, want it at %s", text, got, want)
		}
	}
}

func TestDeepJSONIsRefused(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000)
	if _, err := readJSON([]byte(deep), true); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Error(err)
	}
	if _, err := readYAML([]byte(strings.Repeat("- ", 100_000))); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Error(err)
	}
}

// FuzzJSON compares strict reading with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a": [1, -2.5e3, "x\n", true, null]}`, `"\ud83d\ude00"`, `01`, `{"a":1,"a":2}`, "[1,]", `"\u12"`, "\x01", `{"a": 1e999}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkText(data) != nil || bytes.HasPrefix(data, []byte("\uFEFF")) {
			return
		}
		n, err := readJSON(data, true)
		if err != nil {
			checkSyntaxError(t, data, err)
			for _, own := range []string{"duplicate key", "nested more than", "too large"} {
				if strings.Contains(err.Error(), own) {
					return
				}
			}
			if json.Valid(data) {
				t.Fatalf("%q: %v, but it is JSON", data, err)
			}
			return
		}
		var want, got any
		if err := json.Unmarshal(data, &want); err != nil {
			if strings.Contains(err.Error(), "cannot unmarshal number") {
				return // whole numbers may have any size here
			}
			t.Fatalf("%q: %v", data, err)
		}
		if err := json.Unmarshal(n.json(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", data, diff)
		}
	})
}

// FuzzJSON5 compares with the JSON5 library where both agree that it is JSON5.
func FuzzJSON5(f *testing.F) {
	for _, seed := range []string{`{a: [0x1F, .5, +1, 'x\
y'], /* c */ "b": null,} // d`, `{$a: '\x41'}`, `["\u2028"]`, `-0x10`, `{a:1,a:2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkReader(t, data, func(data []byte) (*node, error) { return readJSON(data, false) })
		n, err := readJSON(data, false)
		var want, got any
		if err != nil || !json.Valid(data) || json5.Unmarshal(data, &want) != nil {
			return
		}
		if err := json.Unmarshal(n.json(), &got); err == nil && !cmp.Equal(want, got) {
			t.Errorf("%q: %v, the library says %v", data, got, want)
		}
	})
}
