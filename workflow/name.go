package workflow

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the maximum length of all names, in bytes.
const MaxName = 512

// CheckName returns an error of CodeInvalid for a name that would garble a list, a log or
// a terminal: it is too long, contains control characters such as a newline or NUL, or is
// not UTF-8. The argument what says what has the name, for example "job". An empty name is
// allowed.
func CheckName(what, name string) error {
	if len(name) > MaxName {
		return Errorf(CodeInvalid, "the name of a %s has %d bytes, the limit is %d: %q…", what, len(name), MaxName, firstRunes(name, 40)).
			WithHint("shorten it; put long texts into a description, the environment or user data")
	}
	if !utf8.ValidString(name) {
		return Errorf(CodeInvalid, "the name of a %s is not UTF-8: %q", what, name).WithHint("write it in UTF-8")
	}
	if i := strings.IndexFunc(name, unicode.IsControl); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		return Errorf(CodeInvalid, "the name %q of a %s contains the control character %U", name, what, r).
			WithHint("remove newlines, tabs and other control characters")
	}
	return nil
}

// firstRunes returns the beginning of a text: whole runes of at most n bytes.
func firstRunes(text string, n int) string {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:min(n, len(text))]
}
