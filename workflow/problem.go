package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is something wrong with a value that a user wrote.
type Problem struct {
	Path    string // of the key, for example "rules[1].when.stderr"; empty: the whole
	Message string
	Hint    string // what would be right
}

// problems collects what is wrong, so that a user hears of all at once.
type problems []Problem

func (p *problems) add(path, hint, format string, args ...any) {
	*p = append(*p, Problem{Path: strings.TrimPrefix(path, "."), Message: fmt.Sprintf(format, args...), Hint: hint})
}

// err adds what a parser says.
func (p *problems) err(path string, err error) {
	if err == nil {
		return
	}
	if e, ok := errors.AsType[*Error](err); ok {
		p.add(path, e.Hint, "%s", e.Message)
		return
	}
	p.add(path, "", "%v", err)
}

// without rejects what is given where it means nothing.
func (p *problems) without(path string, given bool, hint, message string) {
	if given {
		p.add(path, hint, "%s", message)
	}
}

func (p *problems) duration(path, text string) {
	if text != "" {
		_, err := ParseDuration(text)
		p.err(path, err)
	}
}

func (p *problems) oneOf(path, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	shown := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	key, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	p.add(path, "use one of "+strings.Join(shown, ", "), "%q is not a value for %s", value, key)
}

// ProblemsError is the error for a value with problems, nil if there are none.
// The value is named in front of each, for example "retry policy infra".
func ProblemsError(what string, all []Problem) error {
	if len(all) == 0 {
		return nil
	}
	var lines, hints []string
	for _, p := range all {
		at := what
		if p.Path != "" {
			at += ": " + p.Path
		}
		lines = append(lines, at+": "+p.Message)
		if p.Hint != "" && !slices.Contains(hints, p.Hint) {
			hints = append(hints, p.Hint)
		}
	}
	return Errorf(CodeInvalid, "%s", strings.Join(lines, "\n")).WithHint("%s", strings.Join(hints, "; "))
}
