package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bareStatus matches SQL that compares a status with a number, or assigns one. The store
// inserts typed constants instead: `status = {ready}`.
var bareStatus = regexp.MustCompile(`(?i)\bstatus\s*(?:(?:=|==|!=|<>|<=|>=|<|>|\bIS(?:\s+NOT)?)\s*\d` +
	`|\b(?:NOT\s+)?IN\s*\((?:\s*(?:\{\w+\}|\?\d*)\s*,)*\s*\d` +
	`|\b(?:NOT\s+)?BETWEEN\s+(?:\d|\S+\s+AND\s+\d)` +
	`|\bWHEN\s+\d)` +
	`|(?:^|[^\w?])\d+\s*(?:=|!=|<>|<=|>=|<|>)\s*(?:\w+\.)?status\b`)

// updateJob matches the beginning of a statement that changes jobs.
var updateJob = regexp.MustCompile(`(?is)\bUPDATE\s+(?:OR\s+\w+\s+)?job\s+SET\s+(.*)`)

// setsStatus matches the columns of such a statement, without parentheses, if the status
// is one of them.
var setsStatus = regexp.MustCompile(`(?i)(?:^|,)\s*status\s*=`)

// brackets matches innermost parentheses.
var brackets = regexp.MustCompile(`\([^()]*\)`)

// columnsEnd matches what follows the columns of such a statement.
var columnsEnd = regexp.MustCompile(`(?i)\b(?:WHERE|FROM|RETURNING)\b`)

// writesStatus reports whether a statement changes the status of jobs.
func writesStatus(text string) bool {
	m := updateJob.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	columns := m[1]
	if strings.HasPrefix(columns, "(") { // SET (status, phase) = (…)
		names, _, _ := strings.Cut(columns, ")")
		return regexp.MustCompile(`\bstatus\b`).MatchString(names)
	}
	for next := ""; next != columns; { // from the inside out
		next, columns = columns, brackets.ReplaceAllString(columns, "")
	}
	if at := columnsEnd.FindStringIndex(columns); at != nil {
		columns = columns[:at[0]]
	}
	return setsStatus.MatchString(columns)
}

// TestStatusesInSQLHaveNames checks that no statement has a status as a number, and that
// all statements that change the status of jobs are in one place. Tests may do both: they
// are about the file as it is.
func TestStatusesInSQLHaveNames(t *testing.T) { checkProduct(t, statusProblems) }

// statusProblems names each string of a file that has a status as a number, or writes one
// where it must not.
func statusProblems(s *source) (problems []string) {
	in := filepath.Base(filepath.Dir(s.path))
	inPlace := strings.HasPrefix(filepath.Base(s.path), "transition") && (in == "core" || in == "engine")
	ast.Inspect(s.file, func(n ast.Node) bool {
		text, ok := textOf(n)
		if !ok {
			return true
		}
		if found := bareStatus.FindString(text); found != "" {
			problems = append(problems, fmt.Sprintf("%s: %q: name the status, as in `status = {ready}`", s.at(n), found))
		}
		if writesStatus(text) && !inPlace {
			problems = append(problems, fmt.Sprintf("%s: transition*.go of store/core and store/engine alone write the status of a job", s.at(n)))
		}
		return false
	})
	return problems
}

// textOf returns the text of an expression of string literals, with $ for what is
// inserted between them; false if it is not such an expression.
func textOf(n ast.Node) (string, bool) {
	switch e := n.(type) {
	case *ast.ParenExpr:
		return textOf(e.X)
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		x, isX := textOf(e.X)
		y, isY := textOf(e.Y)
		if !isX {
			x = "$"
		}
		if !isY {
			y = "$"
		}
		return x + y, isX || isY
	}
	return "", false
}

// TestStatusProblems checks that the rule above can fail.
func TestStatusProblems(t *testing.T) {
	for _, tc := range []struct {
		src string
		bad bool
	}{
		{"`SELECT 1 FROM job WHERE status = {ready}`", false},
		{"`SELECT 1 FROM job WHERE status = ?2 AND run_if = 2`", false},
		{"`SELECT 1 FROM job WHERE status IN (?2, {failed}) AND id IN (1, 2)`", false},
		{"`SELECT 1 FROM job WHERE status BETWEEN {completed} AND {disabled}`", false},
		{"`SELECT 1 FROM task WHERE status IN ('queued', 'running')`", false},
		{"`SELECT status, 3 FROM job`", false},
		{"`exit_status1`", false},
		{"`SELECT 1 FROM job WHERE status = 2`", true},
		{"`SELECT 1 FROM job j WHERE j.status != 2`", true},
		{"`SELECT 1 FROM job j WHERE j.status>2`", true},
		{"`SELECT 1 FROM job WHERE 2 = status`", true},
		{"`SELECT 1 FROM job WHERE status IS NOT 2`", true},
		{"`SELECT 1 FROM job WHERE status NOT IN (3, 4)`", true},
		{"`SELECT 1 FROM job WHERE status IN ({failed}, 8)`", true},
		{"`SELECT 1 FROM job WHERE status BETWEEN 5 AND 9`", true},
		{"`SELECT 1 FROM job WHERE status BETWEEN {completed} AND 9`", true},
		{"`SELECT CASE status WHEN 5 THEN 1 END FROM job`", true},
		{"`SELECT 1 FROM job WHERE ` + is + `status` + ` = 5`", true},
		{"`UPDATE job SET phase = 0, status = 10`", true},
		{"\"UPDATE job SET status = 10\"", true},
		{"`UPDATE job SET status = {ready}`", true},
		{"`UPDATE job SET phase = 0, ` + more + `, status = ?`", true},
		{"`UPDATE job\n\tSET phase = (SELECT 1 FROM x WHERE y), status = ?`", true},
		{"`WITH x AS (SELECT 1) UPDATE OR FAIL job SET status = ? FROM x`", true},
		{"`UPDATE job SET (phase, status) = (?, ?)`", true},
		{"`UPDATE job SET phase = ? WHERE status = ?`", false},
		{"`UPDATE job SET phase = iif(status = ?, 1, 0)`", false},
		{"`UPDATE job SET phase = (SELECT 1, status = 1 FROM (SELECT 2))`", true}, // because of its number
		{"`UPDATE task SET status = ?`", false},
		{"`UPDATE job_count SET n = 1, status = ?`", false},
	} {
		if got := statusProblems(snippet(t, module+"/store", "/src/store/a.go", tc.src)); (len(got) > 0) != tc.bad {
			t.Errorf("%s: %q", tc.src, got)
		}
	}
}

// TestTransitionsAreInPlace checks that the exceptions of the rule are where it says.
func TestTransitionsAreInPlace(t *testing.T) {
	for path, bad := range map[string]bool{
		"/src/store/core/transition.go": false, "/src/store/engine/transition_gate.go": false, "/src/store/engine/gate.go": true,
		"/src/store/transition.go": true, "/src/server/transition.go": true,
	} {
		if got := statusProblems(snippet(t, module+"/store", path, "`UPDATE job SET status = {ready}`")); (len(got) > 0) != bad {
			t.Errorf("%s: %q", path, got)
		}
	}
}
