package workflow

import (
	"slices"
	"strings"
)

// NormalizeLabels checks labels and returns them sorted, without repeats; nil
// if there are none. A label is a name that is not empty, has no comma and no space around it.
func NormalizeLabels(labels []string) ([]string, error) {
	if len(labels) == 0 {
		return nil, nil
	}
	for _, l := range labels {
		var why string
		switch {
		case l == "":
			why = "it is empty"
		case strings.TrimSpace(l) != l:
			why = "it has space around it"
		case strings.Contains(l, ","):
			why = "it contains a comma"
		default:
			if err := CheckName("label", l); err != nil {
				return nil, err
			}
			continue
		}
		return nil, Errorf(CodeInvalid, "invalid label %q: %s", l, why).
			WithHint("a label is a text without commas and without space around it; several of them are a list")
	}
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	return slices.Compact(sorted), nil
}

// ParseLabels reads labels joined by commas; empty items are dropped.
func ParseLabels(joined string) ([]string, error) {
	var labels []string
	for _, l := range strings.Split(joined, ",") {
		if l != "" {
			labels = append(labels, l)
		}
	}
	return NormalizeLabels(labels)
}

// JoinLabels writes normalized labels as ParseLabels reads them.
func JoinLabels(labels []string) string { return strings.Join(labels, ",") }

// LabelsMatch reports whether a runner with these labels may claim a job with
// those; both are normalized. A runner without labels takes only jobs without,
// a runner with labels only jobs that have some, all of them among its own.
func LabelsMatch(job, runner []string) bool {
	if len(job) == 0 || len(runner) == 0 {
		return len(job) == len(runner)
	}
	for _, l := range job {
		if _, found := slices.BinarySearch(runner, l); !found {
			return false
		}
	}
	return true
}
