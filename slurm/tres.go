package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TRES is a set of counted resources by Slurm's names ("cpu", "node",
// "gres/gpu", "gres/gpu:a100", "billing"); "mem" is in bytes.
type TRES map[string]int64

// ParseTRES parses cpu=4,mem=4000M,node=1,gres/gpu:a100=2.
func ParseTRES(text string) (TRES, error) {
	if text = strings.TrimSpace(text); text == "" || text == "(null)" || text == "N/A" {
		return nil, nil
	}
	set := TRES{}
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not a set of resources", text)
		}
		if name == "mem" {
			m, err := ParseMemory(value, MiB)
			if err != nil {
				return nil, err
			}
			set[name] = m.Bytes
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			if n, err = scale(strings.TrimRight(value, "KMGTP"), 1); err != nil {
				return nil, fmt.Errorf("%q is not a set of resources", text)
			}
		}
		set[name] = n
	}
	return set, nil
}

// GRES is one generic resource of a node.
type GRES struct {
	Name  string // "gpu"
	Type  string // "a100"; may be empty
	Count int64
}

// ParseGRES parses gpu:a100:4(S:0-1),nvme:1 and gpu:2(IDX:0,1).
func ParseGRES(text string) ([]GRES, error) {
	if text = strings.TrimSpace(text); text == "" || text == "(null)" || text == "N/A" {
		return nil, nil
	}
	var all []GRES
	for item := range strings.SplitSeq(withoutParentheses(text), ",") {
		parts := slices.DeleteFunc(strings.Split(item, ":"), func(part string) bool { return part == "no_consume" }) // a flag
		g := GRES{Name: parts[0], Count: 1}
		if last := parts[len(parts)-1]; len(parts) > 1 {
			if count, err := countOf(last); err == nil {
				g.Count, parts = count, parts[:len(parts)-1]
			}
		}
		if len(parts) > 1 {
			g.Type = strings.Join(parts[1:], ":")
		}
		if g.Name == "" {
			return nil, fmt.Errorf("%q is not a list of generic resources", text)
		}
		all = append(all, g)
	}
	return all, nil
}

// countOf parses 4, 2K, 1M.
func countOf(text string) (int64, error) {
	n := strings.TrimRight(text, "KMGTP")
	unit := int64(1)
	if len(n) == len(text)-1 {
		unit = KiB << (10 * strings.IndexByte("KMGTP", text[len(n)]))
	}
	return scale(n, unit)
}

// withoutParentheses removes (S:0-1) and (IDX:0,1).
func withoutParentheses(text string) string {
	var b strings.Builder
	depth := 0
	for _, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(depth-1, 0)
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}
