package slurm

import "testing"

func TestReasonText(t *testing.T) {
	for reason, want := range map[string]string{
		"":                                     "",
		"Priority":                             "jobs with a higher priority are ahead of it",
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

func TestNeverStarts(t *testing.T) {
	for reason, want := range map[string]bool{
		"BadConstraints": true, "(PartitionTimeLimit)": true, "PartitionNodeLimit": true, "InvalidQOS": true, "InvalidAccount": true,
		"AccountNotAllowed": true, "QOSNotAllowed": true, "MaxMemPerLimit": true, "DependencyNeverSatisfied": true,
		"AssocMaxCpuPerJobLimit": true, "AssocMaxMemPerJob": true, "AssocMaxNodePerJobLimit": true, "AssocMaxWallDurationPerJobLimit": true,
		"QOSMaxCpuPerJobLimit": true, "QOSMaxMemoryPerJob": true, "QOSMaxCpuMinutesPerJobLimit": true, "QOSMaxGRESPerNode": true, "QOSMinCpuNotSatisfied": true,

		"": false, "None": false, "Priority": false, "Resources": false, "Dependency": false, "BeginTime": false, "Licenses": false,
		"JobHeldUser": false, "JobHeldAdmin": false, "launch failed requeued held": false, "JobHoldMaxRequeue": false,
		"NodeDown": false, "PartitionDown": false, "PartitionInactive": false, "PartitionConfig": false, "Reservation": false, "ReqNodeNotAvail, UnavailableNodes:n3": false,
		"AssocMaxJobsLimit": false, "AssocGrpCpuLimit": false, "AssocGrpCPUMinutesLimit": false, "AssociationJobLimit": false,
		"QOSMaxJobsPerUserLimit": false, "QOSMaxCpuPerUserLimit": false, "QOSMaxNodePerUserLimit": false, "QOSGrpNodeLimit": false, "QOSJobLimit": false,
		"MaxGRESPerAccount": false, "ReasonOfTomorrowPerJob": false,
	} {
		if got := NeverStarts(reason); got != want {
			t.Errorf("NeverStarts(%q) = %t", reason, got)
		}
	}
}
