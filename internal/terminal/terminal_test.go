package terminal

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
	"unicode/utf8"
)

// written returns what a Writer of a kind makes of chunks.
func written(t testing.TB, kind Kind, chunks ...[]byte) string {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, kind)
	for _, chunk := range chunks {
		if n, err := w.Write(chunk); n != len(chunk) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", chunk, n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriter(t *testing.T) {
	for _, test := range []struct {
		name, text, output, messages string
	}{
		{"text", "a\tb\nγ 日本\n", "a\tb\nγ 日本\n", "a\tb\nγ 日本\n"},
		{"progress", "10%\r20%\n", "10%\r20%\n", `10%\r20%` + "\n"},
		{"colors", "\x1b[31mred\x1b[0m.", "\x1b[31mred\x1b[0m.", `\x1b[31mred\x1b[0m.`},
		{"colors end", "\x1b[1;38:2::1:2:3mred", "\x1b[1;38:2::1:2:3mred\x1b[m", `\x1b[1;38:2::1:2:3mred`},
		{"title", "\x1b]0;owned\x07", `\x1b]0;owned\x07`, `\x1b]0;owned\x07`},
		{"title to ST", "\x1b]0;owned\x1b\\", `\x1b]0;owned\x1b\`, `\x1b]0;owned\x1b\`},
		{"DCS", "\x1bP$q\x1b\\", `\x1bP$q\x1b\`, `\x1bP$q\x1b\`},
		{"cursor", "\x1b[2J\x1b[1A\x1b[6n", `\x1b[2J\x1b[1A\x1b[6n`, `\x1b[2J\x1b[1A\x1b[6n`},
		{"private SGR", "\x1b[>4;2m", `\x1b[>4;2m`, `\x1b[>4;2m`},
		{"C1 in UTF-8", "\u009b2J\u0085", `\u009b2J\u0085`, `\u009b2J\u0085`},
		{"C1 as bytes", "\x9b2J\x90q\x9c", `\x9b2J\x90q\x9c`, `\x9b2J\x90q\x9c`},
		{"C1 after a lead byte", "\xc3\x1b[2J", `\xc3\x1b[2J`, `\xc3\x1b[2J`},
		{"C0", "\a\b\x0b\x0c\x0e\x00\x7f", `\x07\x08\x0b\x0c\x0e\x00\u007f`, `\x07\x08\x0b\x0c\x0e\x00\u007f`},
		{"directions", "a\u202eb\u2066", "a\u202eb\u2066", `a\u202eb\u2066`},
		{"cut", "a\x1b[3", `a\x1b[3`, `a\x1b[3`},
		{"cut character", "a\xe6\x97", `a\xe6\x97`, `a\xe6\x97`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := written(t, Output, []byte(test.text)); got != test.output {
				t.Errorf("output: %q, want %q", got, test.output)
			}
			if got := written(t, Messages, []byte(test.text)); got != test.messages {
				t.Errorf("messages: %q, want %q", got, test.messages)
			}
		})
	}
}

// A line is on the terminal at once, even if an escape may follow.
func TestWriterKeepsNothingBack(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, Output)
	if _, err := w.Write([]byte("Password: ")); err != nil {
		t.Fatal(err)
	}
	if out.String() != "Password: " {
		t.Errorf("%q", out.String())
	}
}

type brokenTerminal struct{}

func (brokenTerminal) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestWriterTellsErrors(t *testing.T) {
	if _, err := NewWriter(brokenTerminal{}, Output).Write([]byte("a")); err == nil {
		t.Error("no error")
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"two\nlines":              "two\nlines",
		"\ta\r\x1b[31m\u009b\xff": `\ta\r\x1b[31m\u009b\xff`,
		"a\u202eb":                `a\u202eb`,
	} {
		if got := Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

// sgr matches the only sequences that output may have.
var sgr = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// Whatever is written, in whatever pieces, the terminal gets text, and colors that are
// reset.
func FuzzWriter(f *testing.F) {
	for _, seed := range []string{
		"plain\n", "\x1b[31mred\x1b[0m", "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://a\x1b\\", "\x1bPq\x1b\\",
		"\x9b2J", "\u009b2J", "\xc2\x1b[2J", "\xe6\x97\xa5\x9b", "\x1b\x1b[1m", "\x1b[1\x1b[1m", "\x1b[" + string(bytes.Repeat([]byte("1;"), 50)) + "m",
		"a\rb\u202ec\u2069", "\x1b[", "\xf0\x9f\x98", "\x1b[?25l", "\x1b[0;0m", "\x1b[00m",
	} {
		f.Add([]byte(seed), uint(1))
		f.Add([]byte(seed), uint(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint) {
		for _, kind := range []Kind{Messages, Output} {
			whole := written(t, kind, text)
			var chunks [][]byte
			for left := text; len(left) > 0; {
				n := min(len(left), int(size%16)+1)
				chunks = append(chunks, left[:n])
				left = left[n:]
			}
			if cut := written(t, kind, chunks...); cut != whole {
				t.Errorf("in pieces of %d: %q\nin one piece: %q", size%16+1, cut, whole)
			}
			if !utf8.ValidString(whole) {
				t.Errorf("%q is not UTF-8", whole)
			}
			text := whole
			if kind == Output {
				if all := sgr.FindAllString(whole, -1); len(all) > 0 && !regexp.MustCompile(`^\x1b\[0*m$`).MatchString(all[len(all)-1]) {
					t.Errorf("%q leaves colors", whole)
				}
				text = sgr.ReplaceAllString(whole, "")
			}
			for _, r := range text {
				switch {
				case r == '\n' || r == '\t' || kind == Output && (r == '\r' || isBidi(r)):
				case isUnsafe(r):
					t.Errorf("%q has %q", whole, r)
				}
			}
		}
	})
}
