package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStrip(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"text", "a\tb\nγ 日本\n", "a\tb\nγ 日本\n"},
		{"colors", "\x1b[1;31mred\x1b[0m.", "red."},
		{"cursor", "a\x1b[2J\x1b[1Ab", "ab"},
		{"title", "a\x1b]0;owned\x07b", "ab"},
		{"title to ST", "a\x1b]8;;http://x\x1b\\b", "ab"},
		{"C1", "a\u009b31mb\u009d0;t\u009cc\u0085d", "abcd"},
		{"charset", "a\x1b(Bb", "aBb"},
		{"cut", "a\x1b[3", "a3"},
		{"cut title", "a\x1b]0;all of this stays", "a0;all of this stays"},
		{"progress", "x\n10%\r20%\r30%\ny", "x\n30%\ny"},
		{"windows", "a\r\nb\r\n", "a\nb\n"},
		{"C0", "a\a\b\x00\x7fb", "ab"},
		{"directions", "a\u202eb\u2066c", "abc"},
		{"invisible", "a\u200bb\u00adc\U000e0041\U000e0042d\ufeff", "abcd"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
		{"csi ended by newline", "a\x1b[12\nb", "a\nb"},
	} {
		if got := Strip(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzStrip(f *testing.F) {
	f.Add("a\x1b[31mb\r\u009d0;x\a\x1b")
	f.Fuzz(func(t *testing.T, text string) {
		got := Strip(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, stripped) {
			t.Errorf("%q: %q", text, got)
		}
		if again := Strip(got); again != got {
			t.Errorf("%q: %q, and again %q", text, got, again)
		}
	})
}
