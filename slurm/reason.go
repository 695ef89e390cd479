package slurm

import "strings"

// reasonTexts say why a job waits, for people. The reasons are those of Slurm
// 20.11 to 24.11.
var reasonTexts = map[string]string{
	"None":                         "Slurm has not looked at it yet",
	"Priority":                     "jobs with a higher priority are before it",
	"Resources":                    "it is next, and waits for nodes to become free",
	"Dependency":                   "it waits for another Slurm job to end",
	"DependencyNeverSatisfied":     "the Slurm job that it waits for ended in another way than asked: it will never start",
	"BeginTime":                    "it may not start yet; Slurm waits a while after a requeue",
	"JobHeldUser":                  "its owner holds it: `scontrol release` lets it go",
	"JobHeldAdmin":                 "an administrator holds it",
	"JobHoldMaxRequeue":            "Slurm has put it back too often and holds it: `scontrol release` lets it go",
	"launch failed requeued held":  "its start failed, and Slurm holds it: `scontrol release` lets it go",
	"Licenses":                     "it waits for a license",
	"Reservation":                  "its reservation has not begun",
	"ReservationDeleted":           "its reservation is gone",
	"Prolog":                       "the nodes are being prepared",
	"Cleaning":                     "what ran before is being cleaned up",
	"BadConstraints":               "no node can ever satisfy what it asks for",
	"InvalidAccount":               "its account is not valid",
	"InvalidQOS":                   "its QOS is not valid",
	"NodeDown":                     "a node that it needs is down",
	"ReqNodeNotAvail":              "nodes that it needs are down, drained or reserved, often for maintenance",
	"PartitionDown":                "its partition does not start jobs now",
	"PartitionInactive":            "its partition is inactive",
	"PartitionNodeLimit":           "it asks for more nodes than its partition allows, or has",
	"PartitionTimeLimit":           "it asks for more time than its partition allows",
	"PartitionConfig":              "its partition does not allow what it asks for",
	"AccountNotAllowed":            "its account may not use this partition",
	"QOSNotAllowed":                "its QOS may not be used by this account or in this partition",
	"JobArrayTaskLimit":            "as many tasks of its array as allowed run already",
	"FrontEndDown":                 "a front end is down",
	"SystemFailure":                "a failure of Slurm, the file system or the network",
	"TimeLimit":                    "its time ran out",
	"NonZeroExitCode":              "it failed",
	"WaitingForScheduling":         "Slurm has not looked at it yet",
	"AssociationJobLimit":          "your account runs as many jobs as it may",
	"AssociationResourceLimit":     "your account uses as much as it may",
	"AssociationTimeLimit":         "your account has used up its time",
	"AssocMaxJobsLimit":            "your account runs as many jobs as it may",
	"QOSJobLimit":                  "as many jobs as the QOS allows run already",
	"QOSResourceLimit":             "the QOS is used up to its limit",
	"QOSTimeLimit":                 "the time of the QOS is used up",
	"MaxGRESPerAccount":            "your account uses as many GPUs or the like as it may",
	"MaxMemPerLimit":               "it asks for more memory than allowed",
	"BurstBufferResources":         "it waits for burst buffers",
	"BurstBufferStageIn":           "its burst buffer is being filled",
	"Resv Occupied Nodes Unusable": "nodes that it needs are reserved",
	"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": "nodes that it needs are down, drained or reserved",
}

// limitOwners are the beginnings of the reasons that name a limit.
var limitOwners = []struct{ prefix, text string }{
	{"QOSMax", "a limit of the QOS"}, {"QOSGrp", "a limit of all who use the QOS"},
	{"AssocMax", "a limit of your account"}, {"AssocGrp", "a limit of all who use the account"}, {"Assoc", "a limit of your account"}, {"QOS", "a limit of the QOS"},
	{"PartitionMax", "a limit of the partition"}, {"Max", "a limit of the site"}, {"Grp", "a limit of your group"},
}

// neverStarts are the reasons for which a job waits for ever, unless somebody
// changes the job or the rules of the site. A job that is held is not among them:
// who holds it lets it go.
var neverStarts = map[string]bool{
	"BadConstraints": true, "PartitionTimeLimit": true, "PartitionNodeLimit": true, "MaxMemPerLimit": true,
	"InvalidAccount": true, "InvalidQOS": true, "AccountNotAllowed": true, "QOSNotAllowed": true, "DependencyNeverSatisfied": true,
	"QOSMinCpuNotSatisfied": true, "QOSMinNode": true, "QOSMinMemory": true, "QOSMinGRES": true,
}

// NeverStarts reports whether Slurm will not start a job that waits for this
// reason however long it waits. What a job may have by itself (per job, per node)
// does not change with what others have; other limits pass.
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

// ReasonText says in words why Slurm has a job wait; the reason itself where it
// is not known.
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
