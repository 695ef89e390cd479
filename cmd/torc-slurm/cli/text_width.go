package cli

import (
	"unicode"

	"golang.org/x/text/width"
)

// Cut shortens a text to the width n; n-1 if the next character is wide.
func Cut(text string, n int) string {
	if TextWidth(text) <= n {
		return text
	}
	used := 0
	for i, r := range text {
		if used += runeWidth(r); used > n-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// TextWidth returns how many terminal columns a text needs.
func TextWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns 2 for the wide characters of East Asia and pictures, 0 for combining
// marks.
func runeWidth(r rune) int {
	switch {
	case r < unicode.MaxLatin1:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
