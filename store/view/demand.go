package view

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// ClassDemand counts the jobs of a claim class with equal avoid lists that need a place,
// now or later.
type ClassDemand struct {
	Class      placement.Class
	AvoidNodes []string // sorted
	Ready      int64    // may be claimed now or within the lead time
	Delayed    int64    // later
	NextMS     int64    // when the first delayed job is ready; 0 if there is none
	// Behind counts jobs that wait for jobs of which one is claimed or running.
	Behind int64
	// Awaited counts ready jobs that avoid no nodes and whose action requests allocations
	// as soon as its other jobs are ready.
	Awaited int64
}

// Demand is what the jobs of a workflow need, by class id.
type Demand struct {
	Classes []ClassDemand
	Running int64 // claimed or running jobs
	Held    hold.ClaimHolds
	// Excluded are the nodes that circuit breakers exclude for the workflow.
	Excluded []string
}

// demandKey identifies a ClassDemand; avoid is its list as text.
type demandKey struct {
	class int64
	avoid string
}

// tally collects the results of the queries.
type tally map[demandKey]*ClassDemand

func (t tally) of(class int64, avoid []string) *ClassDemand {
	k := demandKey{class, strings.Join(avoid, ",")}
	if t[k] == nil {
		t[k] = &ClassDemand{Class: placement.Class{ID: class}, AvoidNodes: avoid}
	}
	return t[k]
}

// waiting counts ready jobs of a class: all of them, or those with one avoid list.
type waiting struct {
	class          int64
	avoid          []string
	ready, delayed int64
	next           int64 // when the first delayed job is ready; 0 if there is none
}

func (l *factReader) demand(workflowID, untilMS int64) (d Demand, err error) {
	// In a canceled run only the compensation continues.
	var canceled bool
	if err := l.row(`SELECT EXISTS (SELECT 1 FROM workflow WHERE id = ? AND is_canceled = 1)`, []any{workflowID}, &canceled); err != nil {
		return d, err
	}
	which := ""
	if canceled {
		which = ` AND ` + InCompensation
	}
	t := tally{}
	if err := tallyReady(l, t, workflowID, untilMS, which); err != nil {
		return d, err
	}
	if d.Running, err = tallyBehind(l, t, workflowID); err != nil {
		return d, err
	}
	if err := tallyAwaited(l, t, workflowID); err != nil {
		return d, err
	}
	if d.Held, err = l.claimHolds(workflowID); err != nil {
		return d, err
	}
	if d.Excluded, err = l.excludedNodes(workflowID); err != nil {
		return d, err
	}
	classes, err := selectFacts(l, SelectClasses+`WHERE c.workflow_id = ?`, []any{workflowID}, ScanClass)
	if err != nil {
		return d, err
	}
	byID := make(map[int64]placement.Class, len(classes))
	for _, c := range classes {
		byID[c.ID] = c.Class
	}
	for k, c := range t {
		if c.Ready+c.Delayed+c.Behind > 0 && !byID[k.class].Login && !byID[k.class].Held { // the daemon starts runners for the former
			c.Class = byID[k.class]
			d.Classes = append(d.Classes, *c)
		}
	}
	slices.SortFunc(d.Classes, func(a, b ClassDemand) int {
		return cmp.Or(cmp.Compare(a.Class.ID, b.Class.ID), slices.Compare(a.AvoidNodes, b.AvoidNodes))
	})
	return d, nil
}

// tallyReady counts the ready jobs that meet a condition. It counts whole classes in an
// index, which takes milliseconds for hundreds of thousands of jobs, and then separates the
// few that avoid nodes.
func tallyReady(l *factReader, t tally, workflowID, untilMS int64, which string) error {
	all, err := selectFacts(l, `SELECT c.id,
			(SELECT COUNT(*) FROM job WHERE class_id = c.id AND status = {ready} AND not_before_ms <= ?2`+which+`),
			(SELECT COUNT(*) FROM job WHERE class_id = c.id AND status = {ready} AND not_before_ms > ?2`+which+`),
			COALESCE((SELECT MIN(not_before_ms) FROM job WHERE class_id = c.id AND status = {ready} AND not_before_ms > ?2
				AND avoid_nodes IS NULL`+which+`), 0)
		FROM claim_class c WHERE c.workflow_id = ?1`, []any{workflowID, untilMS},
		func(r sqlite.Scanner) (w waiting, err error) {
			return w, r.Scan(&w.class, &w.ready, &w.delayed, &w.next)
		})
	if err != nil {
		return err
	}
	for _, w := range all {
		c := t.of(w.class, nil)
		c.Ready, c.Delayed, c.NextMS = w.ready, w.delayed, w.next
	}
	picky, err := selectFacts(l, `SELECT j.class_id, j.avoid_nodes, SUM(j.not_before_ms <= ?2), SUM(j.not_before_ms > ?2),
			COALESCE(MIN(iif(j.not_before_ms > ?2, j.not_before_ms, NULL)), 0)
		FROM claim_class c JOIN job j ON j.class_id = c.id
		WHERE c.workflow_id = ?1 AND j.status = {ready} AND j.avoid_nodes IS NOT NULL`+which+` GROUP BY j.class_id, j.avoid_nodes`, []any{workflowID, untilMS},
		func(r sqlite.Scanner) (waiting, error) { return scanPicky(r, l.nowMS) })
	if err != nil {
		return err
	}
	for _, w := range picky {
		rest := t.of(w.class, nil)
		rest.Ready -= w.ready
		rest.Delayed -= w.delayed
		c := t.of(w.class, w.avoid)
		c.Ready += w.ready
		c.Delayed += w.delayed
		if w.next != 0 && (c.NextMS == 0 || w.next < c.NextMS) {
			c.NextMS = w.next
		}
	}
	return nil
}

// tallyAwaited counts the ready jobs of actions that wait until all of their jobs are
// ready.
func tallyAwaited(l *factReader, t tally, workflowID int64) error {
	type awaited struct{ class, n int64 }
	counts, err := selectFacts(l, `SELECT j.class_id, COUNT(DISTINCT j.id) FROM workflow_action a JOIN workflow_action_job x ON x.action_id = a.id JOIN job j ON j.id = x.job_id
		WHERE a.workflow_id = ?1 AND a.trigger_type = ?2 AND a.action_type = ?3 AND a.executed = 0 AND a.taken_ms = 0
			AND a.trigger_count < a.required_triggers AND json_extract(a.action_config, '$.scheduler_type') = ?4
			AND j.status = {ready} AND j.avoid_nodes IS NULL GROUP BY j.class_id`,
		[]any{workflowID, action.TriggerJobsReady, action.ScheduleNodes, compute.SchedulerSlurm},
		func(r sqlite.Scanner) (a awaited, err error) { return a, r.Scan(&a.class, &a.n) })
	if err != nil {
		return err
	}
	for _, a := range counts {
		t.of(a.class, nil).Awaited = a.n
	}
	return nil
}

func scanPicky(r sqlite.Scanner, nowMS int64) (w waiting, err error) {
	var text sql.NullString
	if err := r.Scan(&w.class, &text, &w.ready, &w.delayed, &w.next); err != nil {
		return w, err
	}
	list, err := ReadAvoided(text)
	if err != nil {
		return w, fmt.Errorf("class %d: %w", w.class, err)
	}
	for _, n := range list {
		if n.UntilMS == 0 || n.UntilMS > nowMS {
			w.avoid = append(w.avoid, n.Node)
		}
	}
	slices.Sort(w.avoid)
	w.avoid = slices.Compact(w.avoid)
	return w, nil
}

// tallyBehind counts the live jobs, and those behind them. A job that shares a gate with a
// live dependency is blocked unless somebody canceled or disabled it. Such jobs are counted
// too, so that the index suffices.
func tallyBehind(l *factReader, t tally, workflowID int64) (running int64, err error) {
	err = l.row(`SELECT COALESCE(SUM(n), 0) - (`+CountRunningStages+`) - (`+countLiveLogin+`) FROM job_count WHERE workflow_id = ?1 AND status IN {live}`,
		[]any{workflowID}, &running)
	if err != nil || running == 0 {
		return 0, err
	}
	type behind struct{ class, n int64 }
	counts, err := selectFacts(l, `SELECT class_id, COUNT(*) FROM job WHERE gate_id IN (
			SELECT d.gate_id FROM compute_node n JOIN job j ON j.compute_node_id = n.id AND j.status IN {live}
			JOIN gate_dependency d ON d.job_id = j.id WHERE n.workflow_id = ? AND n.is_active = 1)
		GROUP BY gate_id, class_id`, []any{workflowID},
		func(r sqlite.Scanner) (b behind, err error) { return b, r.Scan(&b.class, &b.n) })
	if err != nil {
		return 0, err
	}
	for _, b := range counts {
		t.of(b.class, nil).Behind += b.n
	}
	return running, nil
}
