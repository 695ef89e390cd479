package cli

import (
	"unicode"

	"golang.org/x/text/width"
)

// Cut shortens a text to a width of n or, before a wide character, of n-1.
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

// TextWidth is how many columns of a terminal a text takes.
func TextWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is 2 for the wide characters of East Asia and pictures, 0 for marks
// on the character before.
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
