// Package terminal protects the terminal from texts of others: names, messages and output
// of jobs may contain escape sequences that set the title, send input, or hide text.
//
// It parses only SGR, the sequences for colors. Every other ESC or C1 is written as text,
// and so is what follows. A parser of all sequences (github.com/charmbracelet/x/ansi has
// one) would have to agree with each terminal about where each of them ends.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Kind is the kind of text.
type Kind int

const (
	// Messages are our own lines, with names and texts of others. They keep newlines and
	// tabs.
	Messages Kind = iota
	// Output is that of jobs. It also keeps colors, and carriage returns, with which
	// programs draw progress.
	Output
)

// Writer writes safe text to a terminal, and the rest as escapes like \x1b. It is safe for
// concurrent use. Sequences and characters may be split over calls of Write.
type Writer struct {
	kind Kind

	mu      sync.Mutex
	to      io.Writer
	rest    []byte // the beginning of a sequence or of a character
	out     []byte
	colored bool // since the last reset
}

// NewWriter returns a Writer to a terminal.
func NewWriter(to io.Writer, kind Kind) *Writer { return &Writer{to: to, kind: kind} }

// Write writes p, except for an incomplete sequence at the end, which waits for the next
// call.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.write(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes an incomplete sequence, and resets the colors.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(nil, true)
}

func (w *Writer) write(p []byte, last bool) error {
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
	}
	w.out = w.out[:0]
	for len(text) > 0 {
		n := w.next(text, last)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	w.rest = append(w.rest[:0], text...)
	if last && w.colored {
		w.out = append(w.out, "\x1b[m"...)
		w.colored = false
	}
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.to.Write(w.out)
	return err
}

// next handles the first character or sequence of a text and returns its length; 0 if it
// is incomplete.
func (w *Writer) next(text []byte, last bool) int {
	if text[0] == '\x1b' && w.kind == Output {
		n, whole := colors(text)
		switch {
		case n > 0:
			w.out = append(w.out, text[:n]...)
			w.colored = strings.Trim(string(text[2:n-1]), "0") != ""
			return n
		case !whole && !last:
			return 0
		}
	}
	if !last && !utf8.FullRune(text) {
		return 0
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && n == 1:
		w.out = append(w.out, visibleByte(text[0])...)
	case r == '\n' || r == '\t' || !isUnsafe(r) || w.kind == Output && (r == '\r' || isBidi(r)):
		w.out = append(w.out, text[:n]...)
	default:
		w.out = append(w.out, visible(r)...)
	}
	return n
}

// maxColors limits the length of an SGR sequence, and so what waits for its end.
const maxColors = 64

// colors returns the length of the SGR sequence at the beginning of a text, 0 if there is
// none. whole says that it is complete.
func colors(text []byte) (n int, whole bool) {
	for i, c := range text[:min(len(text), maxColors)] {
		switch {
		case i == 0: // ESC
		case i == 1:
			if c != '[' {
				return 0, true
			}
		case c == 'm':
			return i + 1, true
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0, true
		}
	}
	return 0, len(text) >= maxColors
}

// isUnsafe reports whether r is a control character or changes the direction of writing.
func isUnsafe(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || isBidi(r) }

// isBidi reports whether r overrides or isolates a direction of writing.
func isBidi(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// visible returns the escape for a character, which JSON can read if JSON allows the
// character in strings.
func visible(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < ' ':
		return visibleByte(byte(r))
	}
	return fmt.Sprintf(`\u%04x`, r)
}

func visibleByte(b byte) string { return fmt.Sprintf(`\x%02x`, b) }

// Escape returns a text with escapes for everything unsafe except newlines; tabs and
// invalid UTF-8 are escaped, too.
func Escape(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return r != '\n' && isUnsafe(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(visibleByte(text[0]))
		case r == '\n' || !isUnsafe(r):
			b.WriteString(text[:n])
		default:
			b.WriteString(visible(r))
		}
		text = text[n:]
	}
	return b.String()
}
