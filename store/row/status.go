package row

import (
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// statusSets are the sets of statuses that SQL can name.
var statusSets = map[string]func(workflow.JobStatus) bool{
	"live":         workflow.JobStatus.IsLive,
	"unsuccessful": workflow.JobStatus.IsUnsuccessful,
	"open":         func(s workflow.JobStatus) bool { return !s.IsComplete() },
}

// statusNumbers replaces the names of statuses and sets by numbers.
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

// statusList returns a set of statuses as an ascending SQL list, as in the conditions of
// partial indexes.
func statusList(has func(workflow.JobStatus) bool) string {
	var numbers []string
	for _, s := range workflow.JobStatuses() {
		if has(s) {
			numbers = append(numbers, strconv.Itoa(int(s)))
		}
	}
	return "(" + strings.Join(numbers, ", ") + ")"
}

// WithStatuses replaces status names in braces by their numbers, and names of sets by
// lists: `status = {ready}`, `status IN {live}`. The numbers are literals because SQLite
// uses a partial index only if the statement contains the index's condition. Everything
// that prepares a statement calls it, so that the texts in the code are constants. SQLite
// rejects unknown names in braces.
func WithStatuses(query string) string {
	if !strings.Contains(query, "{") {
		return query
	}
	return statusNumbers.Replace(query)
}
