package logs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTailOffset compares with the lines of the whole text.
func TestTailOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for _, n := range rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 7, tailBlock - 1, tailBlock, tailBlock + 1}), 0, 5).Draw(t, "lines") {
			b.WriteString(strings.Repeat("x", n) + "\n")
		}
		text := b.String() + strings.Repeat("y", rapid.IntRange(0, 3).Draw(t, "incomplete"))
		n := rapid.IntRange(0, 6).Draw(t, "n")
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		want := strings.Join(lines[max(0, len(lines)-n):], "")
		at, err := tailOffset(strings.NewReader(text), int64(len(text)), n)
		if err != nil || text[at:] != want {
			t.Fatalf("from %d: %d bytes, want %d: %v", at, len(text)-int(at), len(want), err)
		}
	})
}
