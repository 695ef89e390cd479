package workflow

import "strings"

// Nearest returns the candidate that a misspelled word probably means; "" if there is
// none.
func Nearest(word string, candidates []string) string {
	if best := Misspelled(word, candidates); best != "" {
		return best
	}
	for _, c := range candidates { // cpus for num_cpus, trigger for trigger_type
		if strings.HasPrefix(c, word+"_") || strings.HasSuffix(c, "_"+word) {
			return c
		}
	}
	return ""
}

// Misspelled returns the candidate that differs from the word only by a few letters or by
// case; "" if there is none.
func Misspelled(word string, candidates []string) string {
	best, bestDistance := "", min(len(word), max(1, len(word)/3)+1)
	for _, c := range candidates {
		if abs(len(c)-len(word)) >= bestDistance {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(c), bestDistance); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// distance returns the number of insertions, deletions, changes and swaps of neighboring
// letters that turn a into b. If that is limit or more, the result is limit or more.
func distance(a, b string, limit int) int {
	const longest = 200
	if len(a) > longest || len(b) > longest {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least >= limit {
			return limit
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
