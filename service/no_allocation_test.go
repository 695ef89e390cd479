package service

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
)

func TestNoAllocation(t *testing.T) {
	permanent := api.ScheduleRefusal{Class: "permanent", Text: "no such account"}
	temporary := api.ScheduleRefusal{Class: "temporary", Text: "slurmctld does not answer"}
	for _, tt := range []struct {
		name string
		plan api.SchedulePlan
		want string // the message; empty if there is none
	}{
		{name: "asked", plan: api.SchedulePlan{Requested: []api.Allocation{{}}, Refusals: []api.ScheduleRefusal{permanent}}},
		{name: "refused for good", plan: api.SchedulePlan{Refusals: []api.ScheduleRefusal{permanent}}, want: "workflow 7 has no allocation, Slurm rejected the request: no such account"},
		{name: "refused for good, others later", plan: api.SchedulePlan{Refusals: []api.ScheduleRefusal{permanent}, LaterActions: 1}, want: "workflow 7 has no allocation, Slurm rejected the request: no such account"},
		{name: "refused for now as well", plan: api.SchedulePlan{Refusals: []api.ScheduleRefusal{temporary, permanent}}},
		{name: "waits", plan: api.SchedulePlan{Waits: []api.ScheduleWait{{Reason: "quota"}}, ReadyJobs: []api.ScheduledJobs{{Ready: 1, Uncovered: 1}}}},
		{name: "later", plan: api.SchedulePlan{LaterActions: 1}},
		{name: "no place", plan: api.SchedulePlan{RequestsMore: true, ReadyJobs: []api.ScheduledJobs{{Ready: 2, Uncovered: 2, Reason: "too large"}}}, want: "workflow 7 has no allocation: too large"},
		{name: "a place for some", plan: api.SchedulePlan{RequestsMore: true, ReadyJobs: []api.ScheduledJobs{{Ready: 2, Uncovered: 1}}}},
		{name: "nothing asks", want: "workflow 7 requests no allocation: none of its schedule_nodes actions is due or waits"},
	} {
		tt.plan.WorkflowID = 7
		got := noAllocation(&tt.plan)
		if got == nil && tt.want != "" || got != nil && (got.Message != tt.want || got.Hint == "") {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
}
