package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/argument"
)

// Joined returns items separated by commas.
func Joined[T any](items []T) string {
	return strings.Join(Texts(items), ", ")
}

// EnvironmentText returns variables as NAME=value, sorted.
func EnvironmentText(env map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		pairs = append(pairs, name+"="+env[name])
	}
	return strings.Join(pairs, ", ")
}

// JoinedLines returns sentences as lines.
func JoinedLines(sentences []string) string { return strings.Join(sentences, "\n") }

// Texts formats each item of a list.
func Texts[T any](items []T) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = fmt.Sprint(item)
	}
	return all
}

// FirstOf returns the first text that is not empty.
func FirstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// Seconds returns a number of seconds as a duration.
func Seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// QuoteWords returns a shell command of words, each quoted if needed. Braces of parameters
// are not quoted, since they are replaced before the shell reads them.
func QuoteWords(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, word := range words {
		text, err := argument.Quote(word)
		if err != nil {
			return "", UsageErrorf("%v", err)
		}
		quoted[i] = text
	}
	return strings.Join(quoted, " "), nil
}
