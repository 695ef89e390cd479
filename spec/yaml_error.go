package spec

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	goccy "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// explainYAML returns the error of a text that is not YAML, with its place if possible. The
// reader's own error has no column and often no line.
func explainYAML(data []byte, err error) error {
	own, exact := ownYAMLError(data, err)
	if !exact {
		if better := goccyError(data); better != nil {
			return better
		}
	}
	return own
}

var (
	errorLine     = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// ownYAMLError converts the reader's error; exact says that its place is known.
func ownYAMLError(data []byte, err error) (e *syntaxError, exact bool) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	e = &syntaxError{pos{1, 1}, "YAML: " + errorLine.ReplaceAllString(text, ""), ""}
	if m := errorLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.ParseInt(m[1], 10, 32) // digits
		e.at.line = max(1, int32(line))
	}
	switch m := unknownAnchor.FindStringSubmatch(text); {
	case m != nil:
		e.at, exact = find(data, func(rest string) bool { return strings.HasPrefix(rest, "*"+m[1]) }), true
		e.message, e.hint = "unknown alias *"+m[1], fmt.Sprintf("mark the value with &%s before its first use", m[1])
	case strings.Contains(text, "exceeded max depth"):
		e.message, exact = fmt.Sprintf("lists and maps are nested more than %d deep", maxDepth), true
	case strings.Contains(text, "control characters"):
		exact = true
		e.at = find(data, func(rest string) bool {
			c, _ := utf8.DecodeRuneInString(rest)
			return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c >= 0x7f && c < 0xa0 && c != 0x85 || c == 0xfffe || c == 0xffff
		})
		e.hint = `in double quotes a character can be written as \x07`
	}
	return e, exact
}

// find returns the first place of a text whose rest has a property; the start if there is none.
func find(data []byte, is func(rest string) bool) pos {
	at := pos{1, 1}
	for rest := string(data); rest != ""; {
		if is(rest) {
			return at
		}
		c, size := utf8.DecodeRuneInString(rest)
		if at.col++; c == '\n' {
			at = pos{at.line + 1, 1}
		}
		rest = rest[size:]
	}
	return pos{1, 1}
}

// goccyError returns the error of the other library for a text; nil if it finds none. Files come
// from anywhere and its parser has no limits, so a panic in it must not end the process.
func goccyError(data []byte) (explained error) {
	defer func() {
		if recover() != nil {
			explained = nil
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if t := tooDeep(tokens); t != nil {
		return &syntaxError{tokenPlace(t), fmt.Sprintf("lists and maps are nested more than %d deep", maxDepth), ""}
	}
	for _, t := range tokens {
		if t.Type == token.InvalidType {
			return yamlSyntax(t, t.Error)
		}
	}
	_, err := parser.Parse(tokens, 0)
	var withToken goccy.Error
	if !errors.As(err, &withToken) || withToken.GetToken() == nil {
		return nil
	}
	return yamlSyntax(withToken.GetToken(), withToken.GetMessage())
}

// tooDeep finds nesting that would exhaust the stack of the parser.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			dashes++
		}
		if flow+dashes > maxDepth || t.Position.IndentLevel > maxDepth {
			return t
		}
	}
	return nil
}

// yamlSyntax returns an error with a hint for the most common mistakes.
func yamlSyntax(t *token.Token, message string) *syntaxError {
	first, _, _ := strings.Cut(message, "\n")
	e := &syntaxError{tokenPlace(t), "YAML: " + strings.ReplaceAll(first, "\t", `\t`), ""}
	switch {
	case strings.Contains(message, "mapping value is not allowed"):
		e.hint = "a text that contains ': ' needs quotes; otherwise check the indentation"
	case strings.Contains(message, "\t"):
		e.hint = "YAML is indented with spaces, not with tabs"
	case strings.Contains(message, "not allowed in this context"):
		e.hint = "check the indentation of this line and of the one before"
	}
	return e
}

func tokenPlace(t *token.Token) pos {
	if t == nil || t.Position == nil {
		return pos{1, 1}
	}
	return pos{int32(max(1, t.Position.Line)), int32(max(1, t.Position.Column))}
}
