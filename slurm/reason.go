package slurm

import "strings"

// reasonTexts say for people why a job is pending. The reasons are those of Slurm
// 20.11 to 24.11.
var reasonTexts = map[string]string{
	"None":                         "Slurm has not considered it yet",
	"Priority":                     "jobs with a higher priority are ahead of it",
	"Resources":                    "it is next, and waits for nodes to become free",
	"Dependency":                   "it waits for another Slurm job to end",
	"DependencyNeverSatisfied":     "the Slurm job that it depends on did not end as required: it will never start",
	"BeginTime":                    "it may not start yet; Slurm delays jobs after a requeue",
	"JobHeldUser":                  "its owner holds it: `scontrol release` releases it",
	"JobHeldAdmin":                 "an administrator holds it",
	"JobHoldMaxRequeue":            "Slurm has requeued it too often and holds it: `scontrol release` releases it",
	"launch failed requeued held":  "its start failed, and Slurm holds it: `scontrol release` releases it",
	"Licenses":                     "it waits for a license",
	"Reservation":                  "its reservation has not begun",
	"ReservationDeleted":           "its reservation was deleted",
	"Prolog":                       "the nodes are being prepared",
	"Cleaning":                     "its previous start is being cleaned up",
	"BadConstraints":               "no node can ever satisfy its request",
	"InvalidAccount":               "its account is not valid",
	"InvalidQOS":                   "its QOS is not valid",
	"NodeDown":                     "a node that it needs is down",
	"ReqNodeNotAvail":              "nodes that it needs are down, drained or reserved, often for maintenance",
	"PartitionDown":                "its partition is down and starts no jobs",
	"PartitionInactive":            "its partition is inactive",
	"PartitionNodeLimit":           "it requests more nodes than its partition has or allows",
	"PartitionTimeLimit":           "it requests more time than its partition allows",
	"PartitionConfig":              "its partition does not allow its request",
	"AccountNotAllowed":            "its account may not use this partition",
	"QOSNotAllowed":                "its QOS may not be used by this account or in this partition",
	"JobArrayTaskLimit":            "its array already runs as many tasks as allowed",
	"FrontEndDown":                 "a front end is down",
	"SystemFailure":                "a failure of Slurm, the file system or the network",
	"TimeLimit":                    "it reached its time limit",
	"NonZeroExitCode":              "it failed",
	"WaitingForScheduling":         "Slurm has not considered it yet",
	"AssociationJobLimit":          "your account already runs as many jobs as allowed",
	"AssociationResourceLimit":     "your account already uses as much as allowed",
	"AssociationTimeLimit":         "your account has used up its time",
	"AssocMaxJobsLimit":            "your account already runs as many jobs as allowed",
	"QOSJobLimit":                  "the QOS already runs as many jobs as allowed",
	"QOSResourceLimit":             "the QOS has reached its limit",
	"QOSTimeLimit":                 "the time of the QOS is used up",
	"MaxGRESPerAccount":            "your account already uses as many GPUs or similar devices as allowed",
	"MaxMemPerLimit":               "it requests more memory than allowed",
	"BurstBufferResources":         "it waits for burst buffers",
	"BurstBufferStageIn":           "its burst buffer is being filled",
	"Resv Occupied Nodes Unusable": "nodes that it needs are reserved",
	"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": "nodes that it needs are down, drained or reserved",
}

// limitOwners are the prefixes of the reasons that name a limit.
var limitOwners = []struct{ prefix, text string }{
	{"QOSMax", "a limit of the QOS"}, {"QOSGrp", "a limit of all who use the QOS"},
	{"AssocMax", "a limit of your account"}, {"AssocGrp", "a limit of all who use the account"}, {"Assoc", "a limit of your account"}, {"QOS", "a limit of the QOS"},
	{"PartitionMax", "a limit of the partition"}, {"Max", "a limit of the site"}, {"Grp", "a limit of your group"},
}

// neverStarts are the reasons for which a job never starts, unless somebody
// changes the job or the rules of the site. Held jobs are not among them, since they
// may be released.
var neverStarts = map[string]bool{
	"BadConstraints": true, "PartitionTimeLimit": true, "PartitionNodeLimit": true, "MaxMemPerLimit": true,
	"InvalidAccount": true, "InvalidQOS": true, "AccountNotAllowed": true, "QOSNotAllowed": true, "DependencyNeverSatisfied": true,
	"QOSMinCpuNotSatisfied": true, "QOSMinNode": true, "QOSMinMemory": true, "QOSMinGRES": true,
}

// NeverStarts reports whether a job that is pending for this reason never
// starts. Limits per job and per node do not depend on other jobs; other limits
// are temporary.
func NeverStarts(reason string) bool {
	name, _, _ := strings.Cut(strings.Trim(reason, "() "), ",")
	if neverStarts[name] {
		return true
	}
	limit, found := strings.CutPrefix(name, "QOS")
	if !found {
		limit, found = strings.CutPrefix(name, "Assoc")
	}
	limit = strings.TrimSuffix(limit, "Limit")
	return found && strings.HasPrefix(limit, "Max") && (strings.HasSuffix(limit, "PerJob") || strings.HasSuffix(limit, "PerNode"))
}

// ReasonText returns in words why a job is pending; an unknown reason is returned
// unchanged.
func ReasonText(reason string) string {
	reason = strings.Trim(reason, "() ")
	// "ReqNodeNotAvail, UnavailableNodes:n3" names more than the reason.
	name, more, _ := strings.Cut(reason, ",")
	if text, ok := reasonTexts[name]; ok {
		if more = strings.TrimSpace(more); more != "" && strings.Contains(more, ":") {
			text += " (" + more + ")"
		}
		return text
	}
	if text, ok := reasonTexts[reason]; ok {
		return text
	}
	for _, owner := range limitOwners {
		if strings.HasPrefix(name, owner.prefix) && name != owner.prefix {
			return owner.text + " is reached (" + name + ")"
		}
	}
	return reason
}
