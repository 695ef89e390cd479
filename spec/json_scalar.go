package spec

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// word reads true, false or null; anything else is an error.
func (r *jsonReader) word() *node {
	n := &node{at: r.at}
	switch word := r.identifier(); word {
	case "null":
		n.text = word
	case "true", "false":
		n.kind, n.text = kindBool, word
	case "NaN", "Infinity":
		r.failAt(n.at, "", "%s is not a usable number", word)
	default:
		r.failAt(n.at, fmt.Sprintf("put a string in quotes: %q", word), "expected a value, found %s", word)
	}
	return n
}

// number reads a number; n.text gets its JSON form.
func (r *jsonReader) number() *node {
	n := &node{kind: kindInt, at: r.at}
	start := r.off
	for c := r.peek(); c >= '0' && c <= '9' || isIdentPart(c) || c == '.' || c == '+' || c == '-'; c = r.peek() {
		r.next()
	}
	literal := r.text[start:r.off]
	sign, digits := "", strings.TrimPrefix(literal, "+")
	if rest, negative := strings.CutPrefix(literal, "-"); negative {
		sign, digits = "-", rest
	}
	if len(digits) > 1 && (digits[:2] == "0x" || digits[:2] == "0X") {
		v, ok := new(big.Int).SetString(digits[2:], 16)
		if !ok || len(digits) > 64 || strings.ContainsAny(digits, "+-") {
			r.failAt(n.at, "", "%q is not a number", literal)
		}
		r.strictly(n.at, "hexadecimal numbers")
		n.text = sign + v.String()
		return n
	}
	m := decimal.FindStringSubmatch(digits)
	if m == nil || m[1] == "" && len(m[2]) < 2 || len(m[1]) > 1 && m[1][0] == '0' {
		r.failAt(n.at, "", "%q is not a number", literal)
	}
	whole, fraction, exponent := m[1], m[2], m[3]
	if literal[0] == '+' || whole == "" || fraction == "." {
		r.strictly(n.at, "such numbers")
	}
	if fraction == "" && exponent == "" {
		n.text = sign + whole
		return n
	}
	v, err := strconv.ParseFloat(sign+digits, 64)
	if err != nil {
		r.failAt(n.at, "", "the number %s is too large", literal)
	}
	n.kind, n.text = kindFloat, jsonFloat(v)
	return n
}

// decimal is a number without its sign: whole part, fraction, exponent.
var decimal = regexp.MustCompile(`^([0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?$`)

// strictly stops reading if strict, after something that only JSON5 has.
func (r *jsonReader) strictly(at pos, what string) {
	if r.strict {
		r.failAt(at, "JSON5 has them: give the file the extension .json5", "JSON has no %s", what)
	}
}

// jsonFloat formats a float so that it is read as a float again.
func jsonFloat(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// quoted reads a string with its quotes.
func (r *jsonReader) quoted() string {
	start := r.at
	quote := r.next()
	from := r.off
	for r.plainCharacter(quote) {
		r.next()
	}
	text := r.text[from:r.off]
	if r.peek() == quote { // the usual case: no escapes
		r.next()
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	for {
		c := r.next()
		switch {
		case c == quote:
			return b.String()
		case c < 0:
			r.failAt(start, "", "a string is not closed")
		case c == '\n' || c == '\r':
			r.failAt(start, `write a line break as \n`, "a string is not closed on its line")
		case c < ' ' && r.strict:
			r.failAt(start, fmt.Sprintf(`write it as \u%04x`, c), "a string contains a control character")
		case c == '\\':
			r.escape(&b)
		default:
			b.WriteRune(c)
		}
	}
}

// plainCharacter reports whether the next character of a string needs no escape.
func (r *jsonReader) plainCharacter(quote rune) bool {
	c := r.peek()
	return c >= ' ' && c != quote && c != '\\'
}

// escape reads what follows a backslash in a string.
func (r *jsonReader) escape(b *strings.Builder) {
	simple := map[rune]string{'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}
	at := r.at
	at.col--
	c := r.next()
	if text, ok := simple[c]; ok {
		b.WriteString(text)
		return
	}
	if c == 'u' {
		u := r.hex(4)
		if utf16.IsSurrogate(u) {
			u = utf16.DecodeRune(u, r.lowSurrogate(u))
		}
		b.WriteRune(u)
		return
	}
	if r.strict || c < 0 || c >= '1' && c <= '9' {
		r.failAt(at, `a backslash itself is written \\`, "unknown escape in a string")
	}
	switch c {
	case 'v':
		b.WriteByte('\v')
	case 'x':
		b.WriteRune(r.hex(2))
	case '0':
		if d := r.peek(); d >= '0' && d <= '9' {
			r.failAt(at, "", "octal escapes are not allowed")
		}
		b.WriteByte(0)
	case '\n', '\u2028', '\u2029': // the string continues on the next line
	case '\r':
		if r.peek() == '\n' {
			r.next()
		}
	default:
		b.WriteRune(c)
	}
}

// lowSurrogate consumes the second half of a character written as two escapes; -1 if there
// is none.
func (r *jsonReader) lowSurrogate(high rune) rune {
	if high >= 0xDC00 || !strings.HasPrefix(r.text[r.off:], `\u`) {
		return -1
	}
	saved, at := r.off, r.at
	r.next()
	r.next()
	if u := r.hex(4); u >= 0xDC00 && u <= 0xDFFF {
		return u
	}
	r.off, r.at = saved, at
	return -1
}

// hex reads so many hexadecimal digits.
func (r *jsonReader) hex(digits int) rune {
	var v rune
	for range digits {
		c := unicode.ToLower(r.peek())
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | (c - '0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | (c - 'a' + 10)
		default:
			r.fail("", "expected %d hexadecimal digits", digits)
		}
		r.next()
	}
	return v
}
