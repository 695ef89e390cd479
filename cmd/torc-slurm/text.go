package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// joined writes a list with commas.
func joined[T any](items []T) string {
	return strings.Join(texts(items), ", ")
}

// environmentText writes variables as NAME=value, sorted.
func environmentText(env map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		pairs = append(pairs, name+"="+env[name])
	}
	return strings.Join(pairs, ", ")
}

// joinedLines writes sentences below each other.
func joinedLines(sentences []string) string { return strings.Join(sentences, "\n") }

// texts writes each item of a list.
func texts[T any](items []T) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = fmt.Sprint(item)
	}
	return all
}
