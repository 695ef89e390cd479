package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is an error in a value that a user wrote.
type Problem struct {
	Path    string // of the key, for example "rules[1].when.stderr"; empty: the whole value
	Message string
	Hint    string // what to do about it
}

// problems collects all errors, so that a user sees them at once.
type problems []Problem

func (p *problems) add(path, hint, format string, args ...any) {
	*p = append(*p, Problem{Path: strings.TrimPrefix(path, "."), Message: fmt.Sprintf(format, args...), Hint: hint})
}

// err adds the error of a parser; nil adds nothing.
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

// notAllowed adds a problem if a key is given where it has no meaning.
func (p *problems) notAllowed(path string, given bool, hint, message string) {
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
	p.add(path, "use one of "+strings.Join(shown, ", "), "invalid value %q of %s", value, key)
}

// ProblemsError returns an error of CodeInvalid with all problems of a value; nil if there
// are none. The argument what names the value in front of each problem, for example "retry
// policy infra".
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
