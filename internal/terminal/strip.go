package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Strip returns a text without what a terminal would obey and a reader would not see:
// escape sequences, control characters except newlines and tabs, overrides of the
// direction of writing, and invisible characters. Of a line that was drawn several times,
// as progress bars are, only the last is kept. Invalid UTF-8 becomes U+FFFD.
func Strip(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if utf8.ValidString(text) && strings.IndexFunc(text, stripped) < 0 {
		return text
	}
	b := make([]byte, 0, len(text))
	line := 0 // where the current line begins in b
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == 0x1b || r == 0x9b || r == 0x90 || r == 0x9d:
			n = sequence(text)
		case r == '\r':
			b = b[:line]
		case r == '\n':
			b = append(b, '\n')
			line = len(b)
		case r == utf8.RuneError && n == 1:
			b = utf8.AppendRune(b, utf8.RuneError)
		case !stripped(r):
			b = append(b, text[:n]...)
		}
		text = text[n:]
	}
	return string(b)
}

// stripped reports whether Strip removes a character.
func stripped(r rune) bool {
	return r != '\n' && r != '\t' && (isUnsafe(r) || unicode.Is(unicode.Cf, r) || r >= 0xe0000 && r <= 0xe01ef)
}

// maxSequence limits the length of a sequence, so that one that never ends hides little.
const maxSequence = 4096

// sequence returns the length of the escape sequence at the beginning of a text: CSI to its
// final byte, OSC and other strings to BEL or ST, else two characters. Of one that does not
// end only the introducer counts.
func sequence(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	if r == 0x1b {
		if len(text) == n {
			return n
		}
		switch text[n] {
		case '[':
			r = 0x9b
		case 'P', 'X', ']', '^', '_':
			r = 0x9d
		default:
			if text[n] >= ' ' && text[n] < 0x7f {
				return n + 1
			}
			return n
		}
		n++
	}
	rest := text[n:min(len(text), maxSequence)]
	if r == 0x9b {
		for i := range len(rest) {
			switch c := rest[i]; {
			case c >= 0x40 && c <= 0x7e:
				return n + i + 1
			case c < 0x20 || c > 0x7e:
				return n + i
			}
		}
		return n
	}
	end := -1
	for _, st := range []string{"\a", "\x1b\\", "\u009c"} {
		if i := strings.Index(rest, st); i >= 0 && (end < 0 || i+len(st) < end) {
			end = i + len(st)
		}
	}
	if end < 0 {
		return n
	}
	return n + end
}
