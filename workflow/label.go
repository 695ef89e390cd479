package workflow

import (
	"slices"
	"strings"
)

// NormalizeLabels returns labels sorted and without duplicates; nil if there are none. It
// returns an error of CodeInvalid for a label that is empty, contains a comma, or begins
// or ends with a space.
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
			why = "it begins or ends with a space"
		case strings.Contains(l, ","):
			why = "it contains a comma"
		default:
			if err := CheckName("label", l); err != nil {
				return nil, err
			}
			continue
		}
		return nil, Errorf(CodeInvalid, "invalid label %q: %s", l, why).
			WithHint("write a label without commas and surrounding spaces; write several labels as a list")
	}
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	return slices.Compact(sorted), nil
}

// ParseLabels reads labels joined by commas and drops empty items. It returns them like
// NormalizeLabels, with the same errors.
func ParseLabels(joined string) ([]string, error) {
	var labels []string
	for _, l := range strings.Split(joined, ",") {
		if l != "" {
			labels = append(labels, l)
		}
	}
	return NormalizeLabels(labels)
}

// JoinLabels returns normalized labels in the form that ParseLabels reads.
func JoinLabels(labels []string) string { return strings.Join(labels, ",") }

// LabelsMatch reports whether the labels of a runner allow it to claim a job; both must be
// normalized. A runner without labels takes only jobs without labels. A runner with labels
// takes only jobs with labels, and it must have all of them.
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
