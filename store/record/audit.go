package record

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// Audit reads who changed what: the events of users and rules, the creations of workflows, and
// the changes of retry policies.
type Audit struct{ shared *core.Shared }

// ruleEvents are the events of what rules, breakers and deadlines did.
var ruleEvents = []workflow.EventType{
	workflow.EventJobRetried, workflow.EventSiblingsCanceled, workflow.EventBreakerOpened, workflow.EventBreakerClosed, workflow.EventRunGivenUp,
	workflow.EventClaimsHeld, workflow.EventClaimsReleased, workflow.EventJobClassified,
}

// byRules are the authors of classifications that nobody made.
const byRules = `json_extract(e.data, '$.author') = 'deadline' OR json_extract(e.data, '$.author') LIKE 'timeouts.%'`

// List returns the latest entries, the latest first.
func (s Audit) List(ctx context.Context, q audit.Filter) ([]audit.Entry, error) {
	all, err := s.events(ctx, &q, `e.type = 'user_action'`)
	if err != nil {
		return nil, err
	}
	if q.WithRules() {
		var types []string
		for _, t := range ruleEvents {
			types = append(types, "'"+string(t)+"'")
		}
		some, err := s.events(ctx, &q, `e.type IN (`+strings.Join(types, ", ")+`) AND (e.type != 'job_classified' OR `+byRules+`)`)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	created, err := s.entries(ctx, &q, `SELECT CAST(strftime('%s', w.timestamp) AS INTEGER) * 1000, w.id, w.name, w.user, w.door, 'create_workflow', '{}' FROM workflow w
		WHERE w.is_hidden = 0 AND (?1 = 0 OR w.id = ?1) AND (?3 = '' OR w.user = ?3) AND (?4 = '' OR w.door = ?4)
			AND CAST(strftime('%s', w.timestamp) AS INTEGER) * 1000 >= ?2 ORDER BY w.id DESC LIMIT ?5`)
	if err != nil {
		return nil, err
	}
	all = append(all, created...)
	if q.WorkflowID == 0 {
		policies, err := s.entries(ctx, &q, `SELECT at_ms, 0, '', author, door, 'retry_policy_' || action, json_object('policy', name, 'detail', detail) FROM retry_policy_change
			WHERE ?1 = 0 AND at_ms >= ?2 AND (?3 = '' OR author = ?3) AND (?4 = '' OR door = ?4) ORDER BY id DESC LIMIT ?5`)
		if err != nil {
			return nil, err
		}
		all = append(all, policies...)
	}
	slices.SortStableFunc(all, func(a, b audit.Entry) int { return cmp.Compare(b.AtMS, a.AtMS) })
	return all[:min(int64(len(all)), q.Limit)], nil
}

// events reads entries from events of some types.
func (s Audit) events(ctx context.Context, q *audit.Filter, which string) ([]audit.Entry, error) {
	const user, door = `COALESCE(json_extract(e.data, '$.user'), json_extract(e.data, '$.rule'), json_extract(e.data, '$.breaker'), json_extract(e.data, '$.author'), '')`,
		`iif(e.type = 'user_action', COALESCE(json_extract(e.data, '$.door'), ''), 'rule')`
	return s.entries(ctx, q, `SELECT e.timestamp_ms, e.workflow_id, COALESCE(w.name, ''), `+user+`, `+door+`,
			COALESCE(json_extract(e.data, '$.action'), e.type), e.data
		FROM event e LEFT JOIN workflow w ON w.id = e.workflow_id WHERE `+which+` AND e.timestamp_ms >= ?2 AND (?1 = 0 OR e.workflow_id = ?1)
			AND (?3 = '' OR `+user+` = ?3) AND (?4 = '' OR `+door+` = ?4)
		ORDER BY e.timestamp_ms DESC, e.id DESC LIMIT ?5`)
}

func (s Audit) entries(ctx context.Context, q *audit.Filter, query string) ([]audit.Entry, error) {
	list, err := sqlite.SelectContext(ctx, s.shared.DB.Read, scanEntry, query, q.WorkflowID, q.SinceMS, q.User, string(q.Door), q.Limit)
	return list, sqlite.Wrap(err, "read who changed what")
}

func scanEntry(r sqlite.Scanner) (e audit.Entry, err error) {
	var text string
	if err := r.Scan(&e.AtMS, &e.WorkflowID, &e.WorkflowName, &e.User, &e.Door, &e.Action, &text); err != nil {
		return e, err
	}
	var data map[string]any
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		return e, fmt.Errorf("read an event of workflow %d: %w", e.WorkflowID, err)
	}
	e.Text = audit.Details(data)
	return e, nil
}
