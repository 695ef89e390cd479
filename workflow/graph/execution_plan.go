package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// PlanEvent is a point in the course of a workflow: all jobs of its trigger have ended, and
// others become ready. The JSON names are those of torc's execution plan.
type PlanEvent struct {
	ID                   string           `json:"id"`
	Trigger              PlanTrigger      `json:"trigger"`
	TriggerDescription   string           `json:"trigger_description"`
	SchedulerAllocations []PlanAllocation `json:"scheduler_allocations"`
	JobsBecomingReady    []string         `json:"jobs_becoming_ready"`
	DependsOnEvents      []string         `json:"depends_on_events"`
	UnlocksEvents        []string         `json:"unlocks_events"`
}

// PlanTrigger is what an event waits for.
type PlanTrigger struct {
	Type string           `json:"type"` // WorkflowStart, JobsComplete
	Data *PlanTriggerData `json:"data,omitempty"`
}

// PlanTriggerData has the jobs of a JobsComplete trigger.
type PlanTriggerData struct {
	Jobs []string `json:"jobs"`
}

// PlanAllocation is what a schedule_nodes action requests at an event.
type PlanAllocation struct {
	Scheduler      string   `json:"scheduler"`
	SchedulerType  string   `json:"scheduler_type"`
	NumAllocations int64    `json:"num_allocations"`
	Jobs           []string `json:"jobs"` // the jobs that the action waits for
}

// Types of triggers in a plan.
const (
	planStart    = "WorkflowStart"
	planComplete = "JobsComplete"
)

// ExecutionPlan returns the order in which the jobs of a definition become ready: the start,
// then one event for each distinct set of dependencies, in the order of the graph. Jobs on a
// cycle are missing.
func ExecutionPlan(d *workflow.Definition) []PlanEvent {
	p := newPlanner(d)
	p.allocate()
	p.link()
	plan := make([]PlanEvent, 0, len(p.events))
	for _, e := range p.events {
		plan = append(plan, *e)
	}
	return plan
}

type planner struct {
	d      *workflow.Definition
	deps   [][]int32
	events []*PlanEvent
	// readyAt is the event at which each job becomes ready, -1 on a cycle.
	readyAt []int32
	// waitsFor has the jobs of each event's trigger.
	waitsFor [][]int32
	ids      map[string]bool
}

func newPlanner(d *workflow.Definition) *planner {
	p := &planner{d: d, deps: Dependencies(d), readyAt: make([]int32, len(d.Jobs)), ids: make(map[string]bool)}
	depsOf := func(i int) []int32 { return p.deps[i] }
	gateOf, gates := GroupByDependencies(len(d.Jobs), depsOf)
	levels := Levels(len(d.Jobs), depsOf)
	var order []int32 // of the gates: by level, then by first job
	for g, first := range gates {
		if levels[first] >= 0 {
			order = append(order, int32(g))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(levels[gates[a]]) - int(levels[gates[b]]) })
	eventOf := make([]int32, len(gates))
	for g := range eventOf {
		eventOf[g] = -1
	}
	p.add(nil)
	for _, g := range order {
		eventOf[g] = p.add(p.deps[gates[g]])
	}
	for i, g := range gateOf {
		event := int32(0)
		if g >= 0 {
			event = eventOf[g]
		}
		if p.readyAt[i] = event; event >= 0 {
			p.events[event].JobsBecomingReady = append(p.events[event].JobsBecomingReady, d.Jobs[i].Name)
		}
	}
	return p
}

// add appends an event that waits for jobs, or the start if there are none, and returns its
// index.
func (p *planner) add(jobs []int32) int32 {
	e := &PlanEvent{
		SchedulerAllocations: []PlanAllocation{}, JobsBecomingReady: []string{},
		DependsOnEvents: []string{}, UnlocksEvents: []string{},
	}
	if len(jobs) == 0 {
		e.ID, e.Trigger.Type, e.TriggerDescription = "start", planStart, "the workflow starts"
	} else {
		names := p.names(jobs)
		e.ID = planEventID(names)
		e.Trigger = PlanTrigger{Type: planComplete, Data: &PlanTriggerData{Jobs: names}}
		e.TriggerDescription = "when " + workflow.FirstFew(names, int64(len(names))) + " " + workflow.Plural(int64(len(names)), "has", "have") + " ended"
	}
	for n, id := 2, e.ID; p.ids[e.ID]; n++ {
		e.ID = fmt.Sprintf("%s_%d", id, n)
	}
	p.ids[e.ID] = true
	p.events, p.waitsFor = append(p.events, e), append(p.waitsFor, jobs)
	return int32(len(p.events) - 1)
}

func (p *planner) names(jobs []int32) []string {
	names := make([]string, len(jobs))
	for k, i := range jobs {
		names[k] = p.d.Jobs[i].Name
	}
	return names
}

// planEventID returns an id for an event, made of the names of the jobs that it waits for.
func planEventID(names []string) string {
	const shortest = 3 // length of a prefix that is meaningful
	if len(names) == 1 {
		return "after_" + names[0]
	}
	prefix := names[0]
	for _, name := range names {
		n := 0
		for n < len(prefix) && n < len(name) && prefix[n] == name[n] {
			n++
		}
		prefix = prefix[:n]
	}
	if prefix = strings.TrimRight(prefix, "_-.0123456789"); len(prefix) >= shortest {
		return "after_" + prefix + "_jobs"
	}
	return fmt.Sprintf("after_%s_and_%d_more", names[0], len(names)-1)
}

// allocate adds each schedule_nodes action to the event that triggers it.
func (p *planner) allocate() {
	for i := range p.d.Actions {
		a := &p.d.Actions[i]
		if a.ActionType != action.ScheduleNodes {
			continue
		}
		event, ok := p.eventOfAction(a)
		if !ok {
			continue
		}
		e := p.events[event]
		e.SchedulerAllocations = append(e.SchedulerAllocations, PlanAllocation{
			Scheduler: a.Scheduler, SchedulerType: a.SchedulerType, NumAllocations: a.NumAllocations, Jobs: p.names(a.Jobs),
		})
	}
}

// eventOfAction returns the event that triggers an action; ok is false for actions that
// runners trigger, which a plan cannot predict.
func (p *planner) eventOfAction(a *workflow.ActionDefinition) (event int32, ok bool) {
	switch a.TriggerType {
	case action.TriggerWorkflowStart:
		return 0, true
	case action.TriggerJobsReady:
		for _, i := range a.Jobs {
			event = max(event, p.readyAt[i])
		}
		return event, len(a.Jobs) > 0
	case action.TriggerJobsComplete:
		for e, jobs := range p.waitsFor {
			if len(jobs) > 0 && slices.Equal(jobs, a.Jobs) {
				return int32(e), true
			}
		}
		return p.add(a.Jobs), len(a.Jobs) > 0
	}
	return 0, false
}

// link fills in which events depend on each other.
func (p *planner) link() {
	for at, jobs := range p.waitsFor {
		var before []int32
		for _, i := range jobs {
			if e := p.readyAt[i]; e >= 0 {
				before = append(before, e)
			}
		}
		slices.Sort(before)
		for _, b := range slices.Compact(before) {
			p.events[at].DependsOnEvents = append(p.events[at].DependsOnEvents, p.events[b].ID)
			p.events[b].UnlocksEvents = append(p.events[b].UnlocksEvents, p.events[at].ID)
		}
	}
}
