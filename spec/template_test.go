package spec

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTemplate(t *testing.T) {
	columns := []string{"i", "lr", "s"}
	row := []Value{IntValue(7), FloatValue(0.1), StringValue("a{i}b")}
	for text, want := range map[string]string{
		"":                          "",
		"plain":                     "plain",
		"{i}":                       "7",
		"{i}{i}_{lr}":               "77_0.1",
		"{i:03d}-{i:1d}":            "007-7",
		"{lr:.3f} {lr:.0f}":         "0.100 0",
		"{i:.2f} {lr:03d}":          "7 0.1",
		"{i:05} {i:x} {s:03d}":      "7 7 a{i}b",
		"{i:0999d}{lr:.999f}":       "70.1",
		"{k} {} { i } {i":           "{k} {} { i } {i",
		"${i} ${files.input.f_{i}}": "$7 ${files.input.f_7}",
		`{"x": {i}}`:                `{"x": 7}`,
		"{{i}} }{ {i}":              "{7} }{ 7",
		"{i:}":                      "7",
		"{x{i}y}":                   "{x7y}",
	} {
		tm := parseTemplate(text, columns)
		if got := string(tm.fill(nil, row)); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
		if constant := text == want; tm.constant() != constant {
			t.Errorf("%q: constant is %v", text, tm.constant())
		}
	}
}

func TestTemplateWithoutColumnsIsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("{}:$ai0.d "))).Draw(t, "text")
		tm := parseTemplate(text, nil)
		if got := string(tm.fill(nil, nil)); got != text {
			t.Fatalf("%q", got)
		}
	})
}

// TestTemplateReplacesAllPlainPlaceholders compares with simple replacement.
func TestTemplateReplacesAllPlainPlaceholders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"{a}", "{b}", "{c}", "{", "}", "x", "$", ":"})).Draw(t, "parts"), "")
		tm := parseTemplate(text, []string{"a", "b"})
		got := string(tm.fill(nil, []Value{IntValue(1), IntValue(2)}))
		if want := strings.NewReplacer("{a}", "1", "{b}", "2").Replace(text); got != want && !strings.ContainsAny(text, ":") {
			t.Fatalf("%q gives %q, want %q", text, got, want)
		}
	})
}

func TestPaddedIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64().Draw(t, "i")
		width := rapid.IntRange(0, 30).Draw(t, "width")
		if got, want := string(appendPadded(nil, i, width)), fmt.Sprintf("%0*d", width, i); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestJSONTemplate(t *testing.T) {
	n, err := readJSON([]byte(`{"{i}": ["n {i:02d}", {"x": "{s}", "y": 1.50, "z": [null, true]}], "k": "<{k}>"}`), true)
	if err != nil {
		t.Fatal(err)
	}
	tm := parseJSONTemplate(n, []string{"i", "s"})
	got := string(tm.fill(nil, []Value{IntValue(3), StringValue("a \"b\"\n")}))
	if want := `{"{i}":["n 03",{"x":"a \"b\"\n","y":1.5,"z":[null,true]}],"k":"<{k}>"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !json.Valid([]byte(got)) {
		t.Error("not JSON")
	}
}

func TestArenaKeepsStringsApart(t *testing.T) {
	var a textArena
	var kept, want []string
	for i := range 20_000 {
		text := strings.Repeat(fmt.Sprint(i, " "), i%40)
		kept, want = append(kept, a.keep([]byte(text))), append(want, text)
	}
	big := strings.Repeat("x", arenaBlock)
	kept, want = append(kept, a.keep([]byte(big))), append(want, big)
	for i := range kept {
		if kept[i] != want[i] {
			t.Fatalf("string %d is %q, want %q", i, kept[i], want[i])
		}
	}
}
