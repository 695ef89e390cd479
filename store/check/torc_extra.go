package check

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// torcExtra reads the keys of torc that have no effect: a row whose keys cannot be
// read could not be listed.
func (c *checker) torcExtra() error {
	for _, noun := range []struct {
		table string
		keys  func() any
	}{
		{"workflow", func() any { return &workflow.TorcWorkflow{} }},
		{"job", func() any { return &workflow.TorcJob{} }},
	} {
		err := c.Each(`SELECT id, torc_extra FROM `+noun.table+` WHERE torc_extra IS NOT NULL`, func(r sqlite.Scanner) error {
			var id int64
			var text string
			if err := r.Scan(&id, &text); err != nil {
				return err
			}
			if err := (row.TorcExtra{Keys: noun.keys()}).Scan(text); err != nil {
				c.found("reference", fmt.Sprintf("%s %d", noun.table, id), "its torc_extra cannot be read: %v", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
