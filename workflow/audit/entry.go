package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is a change: who made it, when, by which door.
type Entry struct {
	AtMS         int64  `json:"at_ms"`                 // since the epoch
	WorkflowID   int64  `json:"workflow_id,omitempty"` // 0: it is about retry policies of the server
	WorkflowName string `json:"workflow_name,omitempty"`
	User         string `json:"user,omitempty"` // or the rule that decided
	Door         Door   `json:"door,omitempty"` // empty: not recorded
	Action       string `json:"action"`         // such as cancel_workflow
	Text         string `json:"text"`           // the details in one line
}

// Filter selects entries; zero values match all.
type Filter struct {
	WorkflowID int64
	SinceMS    int64
	User       string
	Door       Door
	// Rules includes what rules, breakers and deadlines did. The door rule does, too.
	Rules bool
	Limit int64 // the latest so many
}

// WithRules reports whether entries of rules are selected.
func (f *Filter) WithRules() bool { return f.Rules || f.Door == Rule }

// Matches reports whether an entry is selected by its user and door.
func (f *Filter) Matches(e *Entry) bool {
	return (f.User == "" || f.User == e.User) && (f.Door == "" || f.Door == e.Door)
}

// plumbing are the keys of an event's data that are fields of the entry, or say nothing more.
var plumbing = []string{"category", "action", "user", "door", "workflow_id", "event_type", "author"}

// Details returns the data of an event in one line: "job_name train_3, memory 4g, reason it
// needs more". Long lists are cut off.
func Details(data map[string]any) string {
	var parts []string
	for _, key := range keysOf(data) {
		value := text(data[key])
		if value == "" || slices.Contains(plumbing, key) {
			continue
		}
		parts = append(parts, strings.ReplaceAll(key, "_", " ")+" "+value)
	}
	return strings.Join(parts, ", ")
}

// keysOf returns the keys in their order, the reason at the end.
func keysOf(data map[string]any) (keys []string) {
	for key := range data {
		if key != "reason" && key != "note" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return append(keys, "note", "reason")
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return fmt.Sprintf("%.10g", v)
	case []any:
		const most = 10
		var items []string
		for _, item := range v[:min(len(v), most)] {
			items = append(items, text(item))
		}
		if len(v) > most {
			items = append(items, fmt.Sprintf("and %d more", len(v)-most))
		}
		return strings.Join(items, " ")
	case map[string]any:
		return Details(v)
	}
	return fmt.Sprint(value)
}
