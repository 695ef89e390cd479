package spec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// jsonReader reads JSON, and JSON5 unless strict. Unlike encoding/json and the JSON5
// library, it records the places of keys and values.
type jsonReader struct {
	text   string
	off    int
	at     pos // of off
	strict bool
	depth  int
}

// syntaxError is an error of a parser, which stops reading.
type syntaxError struct {
	at            pos
	message, hint string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.at.line, e.at.col, e.message)
}

// readJSON reads a JSON text, or a JSON5 text if strict is false.
func readJSON(data []byte, strict bool) (n *node, err error) {
	r := &jsonReader{text: strings.TrimPrefix(string(data), "\uFEFF"), at: pos{1, 1}, strict: strict}
	defer func() {
		if thrown := recover(); thrown != nil {
			syntax, ok := thrown.(*syntaxError)
			if !ok {
				panic(thrown)
			}
			n, err = nil, syntax
		}
	}()
	r.space()
	n = r.value()
	r.space()
	if r.off < len(r.text) {
		r.fail("", "unexpected %s after the end of the document", r.here())
	}
	return n, nil
}

// fail stops reading; readJSON recovers.
func (r *jsonReader) fail(hint, format string, args ...any) {
	r.failAt(r.at, hint, format, args...)
}

func (r *jsonReader) failAt(at pos, hint, format string, args ...any) {
	panic(&syntaxError{at, fmt.Sprintf(format, args...), hint})
}

// five stops reading if strict, before something that only JSON5 has.
func (r *jsonReader) five(what string) {
	if r.strict {
		r.fail("JSON5 has it: give the file the extension .json5", "JSON has no %s", what)
	}
}

// peek returns the next character, -1 at the end.
func (r *jsonReader) peek() rune {
	if r.off >= len(r.text) {
		return -1
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.off:])
	return c
}

// next consumes a character.
func (r *jsonReader) next() rune {
	if r.off >= len(r.text) {
		return -1
	}
	c, size := utf8.DecodeRuneInString(r.text[r.off:])
	r.off += size
	r.at.col++
	if c == '\n' {
		r.at.line, r.at.col = r.at.line+1, 1
	}
	return c
}

// here returns the next character for a message.
func (r *jsonReader) here() string {
	if c := r.peek(); c >= 0 {
		return strconv.QuoteRune(c)
	}
	return "end of file"
}

// space skips blanks and comments.
func (r *jsonReader) space() {
	for {
		c := r.peek()
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.next()
		case c == '/':
			r.five("comments")
			r.comment()
		case c == '\v' || c == '\f' || c == '\uFEFF' || c == '\u2028' || c == '\u2029' || c > 0x7f && unicode.Is(unicode.Zs, c):
			r.five("such white space")
			r.next()
		default:
			return
		}
	}
}

func (r *jsonReader) comment() {
	start := r.at
	rest := r.text[r.off:]
	switch {
	case strings.HasPrefix(rest, "//"):
		for c := r.peek(); c != '\n' && c >= 0; c = r.peek() {
			r.next()
		}
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			r.failAt(start, "close it with */", "a comment is not closed")
		}
		for stop := r.off + end + 4; r.off < stop; {
			r.next()
		}
	default:
		r.fail("comments start with // or /*", "unexpected '/'")
	}
}

func (r *jsonReader) value() *node {
	at := r.at
	switch c := r.peek(); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"':
		return &node{kind: kindString, at: at, text: r.quoted()}
	case c == '\'':
		r.five("strings in single quotes")
		return &node{kind: kindString, at: at, text: r.quoted()}
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	case isIdentStart(c):
		return r.word()
	}
	r.fail("", "expected a value, found %s", r.here())
	return nil
}

// deeper counts the nesting of lists and maps.
func (r *jsonReader) deeper() {
	if r.depth++; r.depth > maxDepth {
		r.fail("", "lists and maps are nested more than %d deep", maxDepth)
	}
}

func (r *jsonReader) object() *node {
	r.deeper()
	n := &node{kind: kindMap, at: r.at}
	r.next()
	for {
		r.space()
		if r.peek() == '}' {
			if len(n.items) > 0 {
				r.five("comma before a closing brace")
			}
			break
		}
		keyAt := r.at
		key := r.key()
		if first := n.child(key); first != nil {
			r.failAt(keyAt, "", "duplicate key %q; the first one is in line %d", key, first.keyAt.line)
		}
		r.space()
		if r.peek() != ':' {
			r.fail("", "expected ':' after the key %q, found %s", key, r.here())
		}
		r.next()
		r.space()
		v := r.value()
		v.key, v.keyAt = key, keyAt
		n.add(v)
		if r.separator('}') {
			break
		}
	}
	r.next()
	r.depth--
	return n
}

func (r *jsonReader) array() *node {
	r.deeper()
	n := &node{kind: kindList, at: r.at}
	r.next()
	for {
		r.space()
		if r.peek() == ']' {
			if len(n.items) > 0 {
				r.five("comma before a closing bracket")
			}
			break
		}
		n.add(r.value())
		if r.separator(']') {
			break
		}
	}
	r.next()
	r.depth--
	return n
}

// separator consumes a comma. It reports whether the closing character follows instead,
// which it leaves.
func (r *jsonReader) separator(closing rune) bool {
	r.space()
	switch r.peek() {
	case ',':
		r.next()
		return false
	case closing:
		return true
	}
	r.fail("", "expected ',' or %q, found %s", closing, r.here())
	return false
}

func (r *jsonReader) key() string {
	switch c := r.peek(); {
	case c == '"':
		return r.quoted()
	case c == '\'':
		r.five("keys in single quotes")
		return r.quoted()
	case isIdentStart(c) || c == '\\':
		r.five("keys without quotes")
		return r.identifier()
	}
	r.fail(`a key is a string, for example "name"`, "expected a key, found %s", r.here())
	return ""
}

func isIdentStart(c rune) bool {
	return c == '_' || c == '$' || unicode.IsLetter(c) || unicode.Is(unicode.Nl, c)
}

func isIdentPart(c rune) bool {
	return isIdentStart(c) || unicode.In(c, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc) || c == '\u200c' || c == '\u200d'
}

func (r *jsonReader) identifier() string {
	var b strings.Builder
	for {
		c := r.peek()
		switch {
		case c == '\\':
			r.next()
			if r.peek() != 'u' {
				r.fail("", "unexpected escape in a key")
			}
			r.next()
			c = r.hex(4)
			if !isIdentStart(c) && (b.Len() == 0 || !isIdentPart(c)) {
				r.fail("put the key in quotes", "%q is not allowed in a key without quotes", c)
			}
			b.WriteRune(c)
		case isIdentPart(c):
			b.WriteRune(r.next())
		default:
			return b.String()
		}
	}
}
