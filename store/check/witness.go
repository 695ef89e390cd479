package check

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Witness is what other records say that a database must contain.
type Witness struct {
	// Spooled are reports in runners' spool files.
	Spooled []SpooledReport
	// Acknowledged is what was answered; known only in tests.
	Acknowledged Acknowledged
}

// SpooledReport is a report in a runner's spool file.
type SpooledReport struct {
	RunID int64
	lease.LeaseRef
	EndedMS  int64
	Answered bool // the daemon has acknowledged it
}

// Acknowledged is what a daemon has acknowledged.
type Acknowledged struct {
	Workflows []int64
	Jobs      []int64
	Grants    []lease.LeaseRef
	Reports   []SpooledReport
	Canceled  []int64 // workflows
}

// witness compares the database with a Witness.
func (c *checker) witness(w Witness) error {
	for _, list := range []struct {
		what, query string
		ids         []int64
	}{
		{"workflow", `SELECT 1 FROM workflow WHERE id = ?`, w.Acknowledged.Workflows},
		{"job", `SELECT 1 FROM job WHERE id = ?`, w.Acknowledged.Jobs},
		{"canceled workflow", `SELECT 1 FROM workflow WHERE id = ? AND is_canceled = 1`, w.Acknowledged.Canceled},
	} {
		for _, id := range list.ids {
			switch there, err := c.exists(list.query, id); {
			case err != nil:
				return err
			case !there:
				c.found("P3", fmt.Sprintf("%s %d", list.what, id), "it was acknowledged, but does not exist")
			}
		}
	}
	for _, g := range w.Acknowledged.Grants {
		switch there, err := c.exists(`SELECT 1 FROM job WHERE id = ? AND fence >= ?`, g.JobID, g.Fence); {
		case err != nil:
			return err
		case !there:
			c.found("P3", fmt.Sprintf("job %d", g.JobID), "attempt %d was granted with fence %d, which the job never had", g.Attempt, g.Fence)
		}
	}
	if err := c.reports("P3", "was acknowledged", w.Acknowledged.Reports); err != nil {
		return err
	}
	return c.reports("P4", "is in a spool file and was answered", w.Spooled)
}

// reports checks that answered reports are recorded or late. A runner of a later run may
// have delivered them.
func (c *checker) reports(promise, how string, reports []SpooledReport) error {
	for _, r := range reports {
		if !r.Answered {
			continue
		}
		there, err := c.exists(`SELECT 1 WHERE EXISTS (SELECT 1 FROM attempt WHERE job_id = ?1 AND attempt_id = ?2 AND fence = ?3 AND end_ms = ?4)
			OR EXISTS (SELECT 1 FROM late_report WHERE job_id = ?1 AND attempt_id = ?2 AND fence = ?3)
			OR NOT EXISTS (SELECT 1 FROM job WHERE id = ?1)`, r.JobID, r.Attempt, r.Fence, r.EndedMS)
		if err != nil {
			return err
		}
		if !there {
			c.found(promise, fmt.Sprintf("job %d", r.JobID), "the report of attempt %d of run %d under fence %d %s, but is neither recorded nor late",
				r.Attempt, r.RunID, r.Fence, how)
		}
	}
	return nil
}

// exists reports whether a query selects anything. It prepares the query once.
func (c *checker) exists(query string, args ...any) (bool, error) {
	stmt := c.stmts[query]
	if stmt == nil {
		var err error
		if stmt, err = c.tx.PrepareContext(c.ctx, row.WithStatuses(query)); err != nil {
			return false, err
		}
		c.stmts[query] = stmt
	}
	var one int
	err := stmt.QueryRowContext(c.ctx, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
