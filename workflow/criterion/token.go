package criterion

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a token of the text; kind 0 is the end of the text.
type token struct {
	kind   byte // 'n' number, 'w' word, 's' string, 'o' operator, 0 the end
	text   string
	offset int
}

func (t token) is(operator string) bool { return t.kind == 'o' && t.text == operator }

func (t token) fail(message, hint string) *Error {
	return &Error{Offset: t.offset, Length: max(1, len(t.text)), Message: message, Hint: hint}
}

// operators, longer ones first.
var operators = []string{"&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "(", ")"}

// instead has our operators for those of other languages.
var instead = map[string]string{"=": "==", "&": "&&", "|": "||", "and": "&&", "or": "||", "'": `"`}

func (t token) unexpected() *Error {
	hint := ""
	if right := instead[t.text]; right != "" {
		hint = "write " + right
	}
	return t.fail("unexpected "+t.text, hint)
}

// tokens splits a text into tokens, or returns an *Error.
func tokens(text string) ([]token, *Error) {
	var all []token
	for at := 0; at < len(text); {
		rest := text[at:]
		first, size := utf8.DecodeRuneInString(rest)
		t := token{offset: at}
		switch {
		case unicode.IsSpace(first):
			at += size
			continue
		case first >= '0' && first <= '9' || first == '.':
			t.kind, t.text = 'n', rest[:span(rest, "0123456789.")]
		case first == '_' || unicode.IsLetter(first):
			t.kind, t.text = 'w', word(rest)
		case first == '"':
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				t.text = rest
				return nil, t.fail("the closing quote is missing", `put a " at the end of the text`)
			}
			t.kind, t.text = 's', rest[:end+2]
		default:
			if t.text = operator(rest); t.text == "" {
				t.text = rest[:size]
				return nil, t.unexpected()
			}
			t.kind = 'o'
		}
		all = append(all, t)
		at += len(t.text)
	}
	return append(all, token{offset: len(text)}), nil
}

// span returns the length of the prefix that has only characters of a set.
func span(text, set string) int {
	return len(text) - len(strings.TrimLeft(text, set))
}

func word(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		return text
	}
	return text[:end]
}

func operator(text string) string {
	for _, o := range operators {
		if strings.HasPrefix(text, o) {
			return o
		}
	}
	return ""
}
