package row

import (
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// statusSets are sets of statuses that SQL asks for by name.
var statusSets = map[string]func(workflow.JobStatus) bool{
	"live":         workflow.JobStatus.IsLive,
	"unsuccessful": workflow.JobStatus.IsUnsuccessful,
	"open":         func(s workflow.JobStatus) bool { return !s.IsComplete() },
}

// statusNumbers replaces the names of statuses and of sets by numbers.
var statusNumbers = newStatusNumbers()

func newStatusNumbers() *strings.Replacer {
	var pairs []string
	for _, s := range workflow.JobStatuses() {
		pairs = append(pairs, "{"+s.String()+"}", strconv.Itoa(int(s)))
	}
	for name, has := range statusSets {
		pairs = append(pairs, "{"+name+"}", statusList(has))
	}
	return strings.NewReplacer(pairs...)
}

// statusList is a set of statuses in the form that SQL wants after IN, ascending:
// the conditions of partial indexes have it so.
func statusList(has func(workflow.JobStatus) bool) string {
	var numbers []string
	for _, s := range workflow.JobStatuses() {
		if has(s) {
			numbers = append(numbers, strconv.Itoa(int(s)))
		}
	}
	return "(" + strings.Join(numbers, ", ") + ")"
}

// WithStatuses returns a statement with the number of each status that it names in
// braces, and with the list of each set: `status = {ready}`, `status IN {live}`. The
// numbers are literals, since SQLite uses a partial index only if the statement has the
// index's condition in it, not a parameter. Whatever prepares a statement calls it, so
// the texts in the code are constants. SQLite rejects an unknown name in braces.
func WithStatuses(query string) string {
	if !strings.Contains(query, "{") {
		return query
	}
	return statusNumbers.Replace(query)
}
