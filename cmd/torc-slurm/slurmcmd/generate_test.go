package slurmcmd

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPatternFor(t *testing.T) {
	for _, tc := range []struct {
		names []string
		some  []int
		want  string
	}{
		{[]string{"a_1", "a_2", "b"}, []int{0, 1}, `^a_.*$`},
		{[]string{"a_1.x", "a_2.x", "a_1.y"}, []int{0, 1}, `^a_.*\.x$`},
		{[]string{"a_1", "a_2", "a_3"}, []int{0, 1}, ""},
		{[]string{"a", "b"}, []int{0, 1}, "^.*$"},
		{[]string{"aa", "aaa", "a"}, []int{0, 1}, "^aa.*$"},
		{[]string{"xé", "xè"}, []int{0, 1}, "^x.*$"},
		{[]string{"one", "two"}, []int{0}, "^one.*$"},
	} {
		if got := patternFor(tc.names, tc.some); got != tc.want {
			t.Errorf("%q %v: got %q, want %q", tc.names, tc.some, got, tc.want)
		}
	}
}

// TestPatternSelectsExactly: a pattern selects what it is for.
func TestPatternSelectsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab.é]{1,4}`), 1, 8, rapid.ID).Draw(t, "names")
		n := rapid.IntRange(1, len(names)).Draw(t, "n")
		some := make([]int, n)
		for i := range some {
			some[i] = i
		}
		pattern := patternFor(names, some)
		if pattern == "" {
			return
		}
		selected := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !regexp.MustCompile(pattern).MatchString(name) })
		if diff := cmp.Diff(names[:n], selected); diff != "" {
			t.Fatalf("%s: %s", pattern, diff)
		}
	})
}
