package spec

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// texts are the values of an axis as templates show them, with their types.
func texts(a *axis) []string {
	out := []string{}
	for i := range a.len() {
		v := a.value(i)
		out = append(out, "ifs"[v.kind:v.kind+1]+" "+v.String())
	}
	return out
}

func TestParseAxis(t *testing.T) {
	for text, want := range map[string][]string{
		"1:3":                  {"i 1", "i 2", "i 3"},
		" 0 : 10 : 5 ":         {"i 0", "i 5", "i 10"},
		"0:9:5":                {"i 0", "i 5"},
		"3:1:-1":               {"i 3", "i 2", "i 1"},
		"3:1":                  {},
		"1:3:-1":               {},
		"5:5":                  {"i 5"},
		"{1:2}":                {"i 1", "i 2"},
		"-2:2:2":               {"i -2", "i 0", "i 2"},
		"0:1:0.5":              {"f 0", "f 0.5", "f 1"},
		"0.0:2.0":              {"f 0", "f 1", "f 2"},
		"0.0:1.0:0.1":          {"f 0", "f 0.1", "f 0.2", "f 0.3", "f 0.4", "f 0.5", "f 0.6", "f 0.7", "f 0.8", "f 0.9", "f 1"},
		"0.1:1.0:0.1":          {"f 0.1", "f 0.2", "f 0.3", "f 0.4", "f 0.5", "f 0.6", "f 0.7", "f 0.8", "f 0.9", "f 1"},
		"0.25:1:0.5":           {"f 0.25", "f 0.75"},
		"1e-12:3e-12:1e-12":    {"f 0.000000000001", "f 0.000000000002", "f 0.000000000003"},
		"1.0:0.7:-0.1":         {"f 1", "f 0.9", "f 0.8", "f 0.7"},
		"1.0:0.0:-0.5":         {"f 1", "f 0.5", "f 0"},
		"1e-5:2e-5:1e-5":       {"f 0.00001", "f 0.00002"},
		"[1,5, 10]":            {"i 1", "i 5", "i 10"},
		"['a','b b', \"c\",d]": {"s a", "s b b", "s c", "s d"},
		"[0.10, 1, x, '1']":    {"f 0.1", "i 1", "s x", "s 1"},
		"[]":                   {},
		"[ ]":                  {},
		"42":                   {"i 42"},
		"1e3":                  {"f 1000"},
		"abc":                  {"s abc"},
		"":                     {"s "},
		"0x10":                 {"s 0x10"},
		"1_000":                {"s 1_000"},
		"true":                 {"s true"},
		"nan":                  {"f NaN"},
		"{a}":                  {"s a"},
		"@values":              {"i 3", "i 5", "s five"},
		"9223372036854775806:9223372036854775807":                       {"i 9223372036854775806", "i 9223372036854775807"},
		"-9223372036854775808:-9223372036854775807":                     {"i -9223372036854775808", "i -9223372036854775807"},
		"-9223372036854775808:9223372036854775807:9223372036854775807":  {"i -9223372036854775808", "i -1", "i 9223372036854775806"},
		"9223372036854775807:-9223372036854775808:-9223372036854775808": {"i 9223372036854775807", "i -1"},
	} {
		a, err := parseAxis(text, func(string) ([]byte, error) { return []byte("# c\n3\n\n 5 \nfive"), nil })
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, texts(a)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseAxisRefuses(t *testing.T) {
	for _, text := range []string{
		"http://x", "12:30:x", "a:b", "1:", ":", "1:2:3:4", "1:10:0", "0.0:1.0:0", "1:99999999999", "0:1:1e-300",
		"nan:1", "0.0:inf", "1e300:1e301:1", "-9223372036854775808:9223372036854775807", "@", "@none",
	} {
		a, err := parseAxis(text, func(string) ([]byte, error) { return nil, os.ErrNotExist })
		var why *badValue
		if !errors.As(err, &why) {
			t.Errorf("%q: %v, %v", text, a, err)
		}
	}
}

func TestIntRangeIsWhatALoopGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(-1000, 1000).Draw(t, "start")
		end := rapid.Int64Range(-1000, 1000).Draw(t, "end")
		step := rapid.Int64Range(-20, 20).Filter(func(s int64) bool { return s != 0 }).Draw(t, "step")
		a, err := parseAxis(fmt.Sprintf("%d:%d:%d", start, end, step), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		for v := start; step > 0 && v <= end || step < 0 && v >= end; v += step {
			want = append(want, "i "+strconv.FormatInt(v, 10))
		}
		if diff := cmp.Diff(want, texts(a)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestFloatRangeStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Float64Range(-100, 100).Draw(t, "start")
		end := rapid.Float64Range(-100, 100).Draw(t, "end")
		step := rapid.Float64Range(0.01, 10).Draw(t, "step")
		if end < start {
			step = -step
		}
		a, err := floatRange(start, end, step)
		if err != nil {
			t.Fatal(err)
		}
		if want := math.Floor((end-start)/step + 1e-9); math.Abs(float64(a.len())-1-want) > 1 {
			t.Fatalf("%d values, want about %v", a.len(), want+1)
		}
		low, high := min(start, end)-1e-9, max(start, end)+1e-9
		for i := range a.len() {
			if v := a.value(i).f; v < low || v > high {
				t.Fatalf("value %d is %v", i, v)
			}
		}
	})
}

func drawAxes(t *rapid.T, smallest int) ([]string, []*axis) {
	n := rapid.IntRange(1, 4).Draw(t, "axes")
	var columns []string
	var axes []*axis
	for k := range n {
		columns = append(columns, fmt.Sprintf("p%d", k))
		values := make([]Value, rapid.IntRange(smallest, 5).Draw(t, "values"))
		for i := range values {
			values[i] = StringValue(fmt.Sprintf("%d.%d", k, i))
		}
		axes = append(axes, &axis{values: values})
	}
	return columns, axes
}

func TestProductIsNestedLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, axes := drawAxes(t, 0)
		s, err := combine(columns, axes, false)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{""}
		for _, a := range axes {
			var longer []string
			for _, head := range want {
				for i := range a.len() {
					longer = append(longer, head+" "+a.value(i).String())
				}
			}
			want = longer
		}
		var got []string
		row := make([]Value, len(axes))
		for i := range s.count {
			s.row(i, row)
			text := ""
			for _, v := range row {
				text += " " + v.String()
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestZipNeedsEqualLengths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, axes := drawAxes(t, 1)
		s, err := combine(columns, axes, true)
		equal := true
		for _, a := range axes {
			equal = equal && a.len() == axes[0].len()
		}
		if equal != (err == nil) {
			t.Fatalf("equal lengths: %v, error: %v", equal, err)
		}
		if !equal {
			if !strings.Contains(err.Error(), columns[0]) {
				t.Fatal(err)
			}
			return
		}
		row := make([]Value, len(axes))
		for i := range s.count {
			s.row(i, row)
			for k, v := range row {
				if want := fmt.Sprintf("%d.%d", k, i); v.String() != want {
					t.Fatalf("row %d has %s, want %s", i, v, want)
				}
			}
		}
	})
}

func TestTables(t *testing.T) {
	for _, path := range []string{"sweep.csv", "sweep.json", "sweep.jsonl"} {
		tab, err := readTable("testdata/tables/"+path, os.ReadFile)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := fmt.Sprintf("%q %v", tab.columns, tab.rows); got != `["lr" "batch" "tag"] [[0.1 16 alpha] [0.01 32 beta, gamma]]` {
			t.Errorf("%s: %s", path, got)
		}
		if tab.rows[0][1].kind != intValue || tab.rows[0][0].kind != floatValue {
			t.Errorf("%s: the types are lost", path)
		}
	}
}

func TestTableOfNestedJSON(t *testing.T) {
	tab, err := readJSONTable([]byte(`[{"a": {"b": [1, null]}, "c": true, "d": 1.0, "e": 123456789012345678901234567890}]`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tab.rows[0]); got != `[{"b":[1,null]} true 1 123456789012345680000000000000]` {
		t.Error(got)
	}
}
