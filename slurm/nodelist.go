package slurm

import (
	"fmt"
	"slices"
	"strings"
)

// maxHosts limits how many hosts a node list may expand to.
const maxHosts = 1 << 17

// ExpandNodes returns the hosts of a node list such as n[1-3,07],gpu[1-2]x[1-4],
// in its order, without calling Slurm. Words for "none" are an empty list.
func ExpandNodes(list string) ([]string, error) {
	switch strings.ToLower(strings.TrimSpace(list)) {
	case "", "(null)", "none assigned", "none", "n/a", "unknown":
		return nil, nil
	}
	var hosts []string
	for _, word := range splitOutside(strings.TrimSpace(list)) {
		expanded, err := expandWord(word)
		if err != nil {
			return nil, fmt.Errorf("node list %q: %w", list, err)
		}
		if hosts = append(hosts, expanded...); len(hosts) > maxHosts {
			return nil, fmt.Errorf("node list %q names more than %d hosts", list, maxHosts)
		}
	}
	return hosts, nil
}

// splitOutside splits at commas outside of brackets.
func splitOutside(list string) []string {
	var words []string
	depth, start := 0, 0
	for i, c := range []byte(list) {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				words = append(words, list[start:i])
				start = i + 1
			}
		}
	}
	return append(words, list[start:])
}

// expandWord expands the bracketed parts of one word.
func expandWord(word string) ([]string, error) {
	before, rest, found := strings.Cut(word, "[")
	if !found {
		if word == "" || strings.ContainsAny(word, "] \t\n") {
			return nil, fmt.Errorf("%q is not a host name", word)
		}
		return []string{word}, nil
	}
	set, after, closed := strings.Cut(rest, "]")
	if !closed || strings.ContainsAny(before, "] \t\n") {
		return nil, fmt.Errorf("brackets of %q do not match", word)
	}
	numbers, err := expandSet(set)
	if err != nil {
		return nil, err
	}
	tails := []string{""}
	if after != "" {
		if tails, err = expandWord(after); err != nil {
			return nil, err
		}
	}
	if len(numbers)*len(tails) > maxHosts {
		return nil, fmt.Errorf("more than %d hosts", maxHosts)
	}
	hosts := make([]string, 0, len(numbers)*len(tails))
	for _, number := range numbers {
		for _, tail := range tails {
			hosts = append(hosts, before+number+tail)
		}
	}
	return hosts, nil
}

// expandSet returns the numbers of 1-3,07,10-12 with their leading zeros.
func expandSet(set string) ([]string, error) {
	var numbers []string
	for item := range strings.SplitSeq(set, ",") {
		from, to, isRange := strings.Cut(item, "-")
		if !isRange {
			to = from
		}
		low, err := parseNumber(from)
		if err != nil {
			return nil, err
		}
		high, err := parseNumber(to)
		if err != nil {
			return nil, err
		}
		if high < low || high-low >= maxHosts || len(numbers) > maxHosts {
			return nil, fmt.Errorf("%q is not a range of hosts", item)
		}
		for n := low; n <= high; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(from), n))
		}
	}
	return numbers, nil
}

// JoinNodes joins host names with commas, sorted and without duplicates, as sbatch
// expects them for --exclude and --nodelist.
func JoinNodes(hosts []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(hosts))), ",")
}
