package kdl

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value reads a string, number or keyword.
func (p *parser) value() Value {
	v := Value{Pos: p.pos}
	switch c := p.peek(); {
	case c == '"':
		v.Kind, v.Text = String, p.quoted()
	case c == '#':
		p.hash(&v)
	case c == 'r' && p.rawPrefix() > 0:
		p.next()
		v.Kind, v.Text = String, p.raw(true)
	case isWordPart(c):
		p.word(&v)
	default:
		hint := ""
		if c == '=' || c == '/' || c == '(' || c == '[' {
			hint = "a text with such characters needs quotes"
		}
		p.fail(hint, "expected a value, found %s", p.here())
	}
	if c := p.peek(); isWordPart(c) || c == '"' || c == '#' {
		p.fail("put a space before it", "unexpected %s after a value", p.here())
	}
	return v
}

// rawPrefix returns the number of hashes and quotes of a raw string of KDL 1; 0 if there is none.
func (p *parser) rawPrefix() int {
	rest := p.text[p.off+1:]
	hashes := len(rest) - len(strings.TrimLeft(rest, "#"))
	if strings.HasPrefix(rest[hashes:], `"`) {
		return hashes + 1
	}
	return 0
}

// hash reads a raw string or a keyword.
func (p *parser) hash(v *Value) {
	rest := p.text[p.off:]
	if strings.HasPrefix(strings.TrimLeft(rest, "#"), `"`) {
		v.Kind, v.Text = String, p.raw(false)
		return
	}
	p.next()
	start := p.off
	for isWordPart(p.peek()) {
		p.next()
	}
	switch word := p.text[start:p.off]; word {
	case "true", "false":
		v.Kind, v.Text = Bool, word
	case "null":
		v.Kind, v.Text = Null, word
	case "inf", "-inf", "nan":
		p.failAt(v.Pos, "", "#%s is not a usable number", word)
	default:
		p.failAt(v.Pos, "the keywords are #true, #false and #null", "unknown keyword #%s", word)
	}
}

// word reads a string without quotes, a number, or a keyword of KDL 1.
func (p *parser) word(v *Value) {
	start := p.off
	for isWordPart(p.peek()) {
		p.next()
	}
	text := p.text[start:p.off]
	v.Text = text
	switch text {
	case "true", "false":
		v.Kind = Bool
		return
	case "null":
		v.Kind = Null
		return
	}
	unsigned := strings.TrimLeft(text, "+-")
	if !utf8.ValidString(text) {
		p.failAt(v.Pos, "", "the text is not UTF-8")
	}
	dotted := strings.HasPrefix(unsigned, ".") && len(unsigned) > 1 && unsigned[1] >= '0' && unsigned[1] <= '9'
	if unsigned == "" || !dotted && (unsigned[0] < '0' || unsigned[0] > '9') || len(text)-len(unsigned) > 1 {
		v.Kind, v.Bare = String, true
		return
	}
	var ok bool
	if v.Kind, v.Text, ok = number(text[:len(text)-len(unsigned)], unsigned); !ok {
		p.failAt(v.Pos, "put a text that starts with a digit in quotes", "%s is not a number", text)
	}
}

// number reads a number without its sign.
func number(sign, text string) (Kind, string, bool) {
	sign = strings.TrimPrefix(sign, "+")
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "_") {
		return 0, "", false
	}
	if len(text) > 2 && text[0] == '0' && strings.ContainsRune("xob", rune(text[1])) {
		base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[text[1]]
		digits := strings.ReplaceAll(text[2:], "_", "")
		i, ok := new(big.Int).SetString(digits, base)
		if !ok || len(digits) > 100 || text[2] == '_' || digits[0] == '+' || digits[0] == '-' {
			return 0, "", false
		}
		return Int, sign + i.String(), true
	}
	if strings.Contains(text, "._") || strings.Trim(text, "0123456789_.eE+-") != "" {
		return 0, "", false
	}
	text = strings.ReplaceAll(text, "_", "")
	if strings.Trim(text, "0123456789") == "" {
		if text = strings.TrimLeft(text, "0"); text == "" {
			text = "0"
		}
		return Int, sign + text, true
	}
	f, err := strconv.ParseFloat(sign+text, 64)
	if err != nil || strings.HasSuffix(text, ".") || strings.Contains(text, ".e") || strings.Contains(text, ".E") {
		return 0, "", false
	}
	out := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(out, ".e") {
		out += ".0"
	}
	return Float, out, true
}

// raw reads a raw string from its first hash or quote on. Those of KDL 1 may have several
// lines.
func (p *parser) raw(old bool) string {
	at := p.pos
	hashes := 0
	for p.peek() == '#' {
		hashes++
		p.next()
	}
	quotes := `"`
	if !old && p.has(`"""`) {
		quotes = `"""`
	}
	p.skip(len(quotes))
	closing := quotes + strings.Repeat("#", hashes)
	length := strings.Index(p.text[p.off:], closing)
	if length < 0 {
		p.failAt(at, "close it with "+closing, "a raw string is not closed")
	}
	text := p.text[p.off : p.off+length]
	for stop := p.off + length; p.off < stop; {
		p.next()
	}
	p.skip(len(closing))
	switch {
	case len(quotes) == 3:
		return p.dedent(at, text)
	case !old && strings.ContainsFunc(text, isNewline):
		p.failAt(at, `use """ for a text of several lines`, "a string is not closed on its line")
	}
	return text
}

// quoted reads a string with its quotes.
func (p *parser) quoted() string {
	at := p.pos
	if p.has(`"""`) {
		p.skip(3)
		return p.multiline(at)
	}
	p.next()
	start := p.off
	for {
		switch c := p.peek(); {
		case c == '"':
			text := p.text[start:p.off]
			p.next()
			return p.unescape(at, p.dropBlanks(text))
		case c == '\\':
			p.next()
			p.skipEscaped()
		case c == end || isNewline(c):
			p.failAt(at, `close it with ", or use """ for a text of several lines`, "a string is not closed on its line")
		default:
			p.next()
		}
	}
}

// skipEscaped skips what follows a backslash: one character, or all blanks and line ends.
func (p *parser) skipEscaped() {
	if c := p.peek(); !isBlank(c) && !isNewline(c) {
		p.next()
		return
	}
	for c := p.peek(); isBlank(c) || isNewline(c); c = p.peek() {
		p.next()
	}
}

// multiline reads the rest of a string in three quotes.
func (p *parser) multiline(at Pos) string {
	start := p.off
	for !p.has(`"""`) {
		switch p.next() {
		case '\\':
			p.next()
		case end:
			p.failAt(at, `close it with """`, "a string is not closed")
		}
	}
	text := p.text[start:p.off]
	p.skip(3)
	return p.unescape(at, p.dedent(at, p.dropBlanks(text)))
}

// dropBlanks removes each backslash that precedes blanks and line ends, together with these.
func (p *parser) dropBlanks(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		rest := strings.TrimLeftFunc(text[i+1:], func(c rune) bool { return isBlank(c) || isNewline(c) })
		if skipped := len(text) - i - 1 - len(rest); skipped > 0 {
			i += skipped
			continue
		}
		b.WriteString(text[i : i+2])
		i++
	}
	return b.String()
}

// dedent removes the first and the last line end of a text of several lines, and from each line
// the indentation of the last one.
func (p *parser) dedent(at Pos, text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	if len(lines) < 2 || lines[0] != "" {
		p.failAt(at, "start the text on the next line", `the line must end after """`)
	}
	indent := lines[len(lines)-1]
	if strings.TrimFunc(indent, isBlank) != "" {
		p.failAt(at, `put the closing """ on a separate line`, `only blanks are allowed before the closing """`)
	}
	lines = lines[1 : len(lines)-1]
	for i, line := range lines {
		if strings.TrimFunc(line, isBlank) == "" {
			lines[i] = ""
			continue
		}
		rest, ok := strings.CutPrefix(line, indent)
		if !ok {
			p.failAt(at, `start each line with the blanks before the closing """`, "line %d of the text is indented less than its end", i+1)
		}
		lines[i] = rest
	}
	return strings.Join(lines, "\n")
}

var escapes = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", '\\': `\`, '"': `"`, 'b': "\b", 'f': "\f", 's': " ", '/': "/"}

// unescape replaces the escapes of a string.
func (p *parser) unescape(at Pos, text string) string {
	if !utf8.ValidString(text) {
		p.failAt(at, "", "the text is not UTF-8")
	}
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		i++
		if i == len(text) {
			p.failAt(at, "", "a string ends with a backslash")
		}
		if plain, ok := escapes[text[i]]; ok {
			b.WriteString(plain)
			continue
		}
		if !strings.HasPrefix(text[i:], "u{") {
			c, _ := utf8.DecodeRuneInString(text[i:])
			p.failAt(at, `a backslash itself is written \\; in a raw string #"..."# nothing is escaped`, "unknown escape \\%c in a string", c)
		}
		length := strings.IndexByte(text[i:], '}')
		if length < 0 {
			p.failAt(at, `write \u{1F600}`, "an escape is not closed")
		}
		code, err := strconv.ParseUint(text[i+2:i+length], 16, 32)
		if err != nil || length > 8 || !utf8.ValidRune(rune(code)) {
			p.failAt(at, `write \u{1F600}`, "%s is not a character", text[i-1:i+length+1])
		}
		b.WriteRune(rune(code))
		i += length
	}
	return b.String()
}
