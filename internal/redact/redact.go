// Package redact removes secrets from texts that leave this machine: tokens, keys and
// passwords, found by their form or by the name before them.
package redact

import (
	"fmt"
	"regexp"
)

// mark stands for a secret.
const mark = "[redacted]"

// rule is a pattern with what replaces its matches.
type rule struct {
	pattern *regexp.Regexp
	stands  string
}

// names are the ends of names whose values are secret.
const names = `(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|secret[_-]?key|credentials?|cookie)`

// known are the rules that always apply, in their order.
var known = []rule{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`), mark},
	{regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), mark},
	{regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})`), mark},
	{regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), mark},
	{regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`), mark},
	{regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`), mark},
	{regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{30,}`), mark},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), mark},
	{regexp.MustCompile(`(?i)(://[^\s/:@]*:)[^\s/@]+@`), "${1}" + mark + "@"},
	{regexp.MustCompile(`(?i)\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?)[^\s"',;]+`), "${1}" + mark},
	{regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{12,}`), "${1}" + mark},
	{regexp.MustCompile(`(?i)(--?[\w-]*` + names + `[ =]["']?)[^\s"']+`), "${1}" + mark},
	{regexp.MustCompile(`(?i)([\w.-]*` + names + `["']?\s*(?:=>|[:=])\s*)"[^"\n]+"`), `${1}"` + mark + `"`},
	{regexp.MustCompile(`(?i)([\w.-]*` + names + `["']?\s*(?:=>|[:=])\s*)'[^'\n]+'`), `${1}'` + mark + `'`},
	{regexp.MustCompile(`(?i)([\w.-]*` + names + `["']?\s*(?:=>|[:=])\s*)[^\s"',;&\[]{4,}`), "${1}" + mark},
}

// Redactor removes secrets. The zero value knows the usual ones.
type Redactor struct {
	own []*regexp.Regexp
}

// New returns a Redactor that also removes what the patterns, regular expressions in the
// syntax of Go, match. It returns an error for an invalid pattern, and for one that matches
// the empty text.
func New(patterns []string) (*Redactor, error) {
	r := new(Redactor)
	for _, p := range patterns {
		compiled, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("pattern of secrets: %w", err)
		}
		if compiled.MatchString("") {
			return nil, fmt.Errorf("pattern of secrets %q matches the empty text", p)
		}
		r.own = append(r.own, compiled)
	}
	return r, nil
}

// Text returns a text with a mark in the place of each secret.
func (r *Redactor) Text(text string) string {
	for _, p := range r.own {
		text = p.ReplaceAllLiteralString(text, mark)
	}
	for _, k := range known {
		text = k.pattern.ReplaceAllString(text, k.stands)
	}
	return text
}
