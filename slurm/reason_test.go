package slurm

import "testing"

func TestReasonText(t *testing.T) {
	for reason, want := range map[string]string{
		"":                                     "",
		"Priority":                             "jobs with a higher priority are before it",
		"(Resources)":                          "it is next, and waits for nodes to become free",
		"ReqNodeNotAvail, UnavailableNodes:n3": "nodes that it needs are down, drained or reserved, often for maintenance (UnavailableNodes:n3)",
		"ReqNodeNotAvail, May be reserved for other job": "nodes that it needs are down, drained or reserved, often for maintenance",
		"QOSMaxJobsPerUserLimit":                         "a limit of the QOS is reached (QOSMaxJobsPerUserLimit)",
		"AssocGrpCPUMinutesLimit":                        "a limit of all who use the account is reached (AssocGrpCPUMinutesLimit)",
		"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": "nodes that it needs are down, drained or reserved",
		"NewReasonOfTomorrow": "NewReasonOfTomorrow",
	} {
		if got := ReasonText(reason); got != want {
			t.Errorf("ReasonText(%q) = %q, want %q", reason, got, want)
		}
	}
}
