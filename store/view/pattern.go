package view

import (
	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// CategoryCounts counts the failed attempts of a run by category.
func CategoryCounts(each func(string, func(sqlite.Scanner) error, ...any) error, workflowID, runID int64) (map[string]int64, error) {
	var counts map[string]int64
	err := each(`SELECT category, COUNT(*) FROM attempt WHERE workflow_id = ? AND run_id = ? AND status IN ({failed}, {terminated}) AND category != '' GROUP BY category`,
		func(r sqlite.Scanner) error {
			var name string
			var n int64
			err := r.Scan(&name, &n)
			if counts == nil {
				counts = map[string]int64{}
			}
			counts[name] = n
			return err
		}, workflowID, runID)
	return counts, sqlite.Wrap(err, "count the failed attempts of workflow %d by category", workflowID)
}
