package check

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// Finding is a defect of a database.
type Finding struct {
	Promise string // the violated guarantee, for example "P6"; or file, reference, count, gate
	Subject string // for example "job 17"
	Text    string
}

// String returns the finding in one line.
func (f Finding) String() string { return f.Promise + ": " + f.Subject + ": " + f.Text }

// maxFindings limits the findings per rule.
const maxFindings = 20

// File checks whether the file is intact: its pages and indexes, references between
// rows, and derived numbers. It only reads. Another process may own the database.
func File(ctx context.Context, path string) ([]Finding, error) {
	return check(ctx, path, func(c *checker) error {
		if err := c.file(); err != nil {
			return err
		}
		return c.rules(referenceRules, countRules)
	})
}

// Deep is File, and checks whether the records satisfy what the engine guarantees and agree
// with a Witness. It reads nothing but the database and the Witness.
func Deep(ctx context.Context, path string, w Witness) ([]Finding, error) {
	return check(ctx, path, func(c *checker) error {
		if err := c.file(); err != nil {
			return err
		}
		if err := c.rules(referenceRules, countRules, gateRules, stageRules, attemptRules, allocationRules, budgetRules, endRules, compensationRules, goneRules, timeRules, alertRules, eventRules, claimHoldRules, breakerRules, loginRules, proposalRules); err != nil {
			return err
		}
		for _, look := range []func() error{c.gateHashes, c.cycles, c.storedPolicies, c.torcExtra, c.budgets, c.replay, c.replayRecoveries, c.verdicts, c.stages, c.trips} {
			if err := look(); err != nil {
				return err
			}
		}
		return c.witness(w)
	})
}

// Quick checks, within a read transaction, what can be checked fast: times, compensations,
// stages and claim holds. Tests call it after each step.
func Quick(ctx context.Context, tx *sql.Tx) ([]Finding, error) {
	c := &checker{ctx: ctx, tx: tx}
	err := c.rules(timeRules, compensationRules, stageRules, claimHoldRules)
	return c.findings, err
}

// checker checks one snapshot of a database.
type checker struct {
	ctx      context.Context
	tx       *sql.Tx
	stmts    map[string]*sql.Stmt // of exists; closed with tx
	sets     policySets           // nil until needed
	findings []Finding
}

func check(ctx context.Context, path string, look func(*checker) error) ([]Finding, error) {
	db, conn, err := sqlite.OpenReadOnly(ctx, path)
	if err != nil {
		return damage(nil, err)
	}
	defer db.Close()
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, sqlite.Fault(path, err)
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	c := &checker{ctx: ctx, tx: tx, stmts: map[string]*sql.Stmt{}}
	if err := look(c); err != nil {
		return damage(c.findings, fmt.Errorf("check %s: %w", path, sqlite.Fault(path, err)))
	}
	return c.findings, nil
}

// damage turns an error that says that the file is damaged into a finding.
func damage(findings []Finding, err error) ([]Finding, error) {
	var e sqlite3.Error
	if !errors.As(err, &e) || e.Code != sqlite3.ErrCorrupt {
		return findings, err
	}
	return append(findings, Finding{"file", "pages", e.Error() + "; the rest was not checked"}), nil
}

func (c *checker) found(promise, subject, format string, args ...any) {
	c.findings = append(c.findings, Finding{promise, subject, fmt.Sprintf(format, args...)})
}

// rule is a guarantee with a query that selects its violations as pairs of subject and
// text.
type rule struct {
	promise string
	query   string
}

// rules finds violations of rules.
func (c *checker) rules(lists ...[]rule) error {
	for _, list := range lists {
		for _, r := range list {
			if err := c.rule(r); err != nil {
				return fmt.Errorf("%s: %q: %w", r.promise, r.query, err)
			}
		}
	}
	return nil
}

func (c *checker) rule(r rule) error {
	rows, err := c.tx.QueryContext(c.ctx, fmt.Sprintf(`%s LIMIT %d`, row.WithStatuses(r.query), maxFindings))
	if err != nil {
		return err
	}
	found, err := sqlite.Collect(rows, func(row sqlite.Scanner) (f Finding, err error) {
		f.Promise = r.promise
		return f, row.Scan(&f.Subject, &f.Text)
	})
	c.findings = append(c.findings, found...)
	return err
}

// Each calls look with every row of a query.
func (c *checker) Each(query string, look func(sqlite.Scanner) error, args ...any) error {
	return sqlite.EachContext(c.ctx, c.tx, look, row.WithStatuses(query), args...)
}
