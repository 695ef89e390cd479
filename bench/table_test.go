package main

import (
	"strings"
	"testing"
)

func TestQuantile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for _, tc := range []struct{ q, want float64 }{{0, 1}, {0.5, 3}, {0.99, 5}, {1, 5}} {
		if got := quantile(values, tc.q); got != tc.want {
			t.Errorf("quantile %g = %g, want %g", tc.q, got, tc.want)
		}
	}
	if got := median([]int64(nil)); got != 0 {
		t.Errorf("median of nothing = %d", got)
	}
}

func TestReplaceSection(t *testing.T) {
	const old = "# Performance\n<!-- bench-a:begin -->\nold\n<!-- bench-a:end -->\nmore\n<!-- bench-b:begin -->\n"
	got, err := replaceSection([]byte(old), "bench-a", "new\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(old, "old", "new", 1); string(got) != want {
		t.Errorf("got %q", got)
	}
	for _, section := range []string{"bench", "bench-b"} {
		if _, err := replaceSection([]byte(old), section, "x"); err == nil || !strings.Contains(err.Error(), "no line") {
			t.Errorf("%q: got %v", section, err)
		}
	}
}
