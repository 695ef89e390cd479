package slurmtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

func say(format string, args ...any) slurm.Output {
	return slurm.Output{Stdout: fmt.Appendf(nil, format, args...)}
}

const invalidJobID = "slurm_load_jobs error: Invalid job id specified"

// scontrol shows and changes what the controller has.
type scontrol struct {
	opts       *Options
	queue      *queue
	nodes      nodes
	scheduler  *scheduler
	controller *controller
}

// run answers show, update, requeue, requeuehold, hold, release, suspend,
// resume and ping.
func (s scontrol) run(args []string, now time.Time, uid int) slurm.Output {
	_, words := options(args, nil)
	if len(words) == 0 {
		return refusal("scontrol: no command")
	}
	switch words[0] {
	case "show":
		return s.show(words[1:], now)
	case "update":
		return s.update(words[1:], uid)
	case "ping":
		return say("Slurmctld(primary) at %s is UP\n", s.opts.Name)
	case "create", "delete":
		return s.changeReservation(words[0], words[1:], uid)
	case "requeue", "requeuehold", "hold", "release", "suspend", "resume":
		return s.order(words[0], words[1:], uid)
	}
	return refusal("invalid keyword: " + words[0])
}

func (s scontrol) show(words []string, now time.Time) slurm.Output {
	if len(words) == 0 {
		return refusal("scontrol: nothing to show")
	}
	switch words[0] {
	case "job":
		if len(words) != 2 {
			return refusal(invalidJobID)
		}
		j := s.queue.jobOf(words[1])
		if j == nil {
			return refusal(invalidJobID)
		}
		return say("%s\n", s.showJob(j))
	case "partition", "partitions":
		return s.showPartitions()
	case "node":
		return s.showNodes(words[1:])
	case "config":
		return s.showConfig(now)
	case "reservation", "reservations":
		return s.showReservations()
	}
	return refusal("invalid entity: " + words[0])
}

// showNodes shows a node, or all of them. Their addresses are this machine.
func (s scontrol) showNodes(words []string) slurm.Output {
	var out strings.Builder
	for _, n := range s.nodes {
		if len(words) == 0 || words[len(words)-1] == n.Name {
			fmt.Fprintf(&out, "NodeName=%s NodeAddr=127.0.0.1 NodeHostName=%s\n", n.Name, n.Name)
		}
	}
	if out.Len() == 0 {
		return refusal("Node " + words[len(words)-1] + " not found")
	}
	return say("%s", out.String())
}

func (s scontrol) showJob(j *job) string {
	requeue := 0
	if j.requeue {
		requeue = 1
	}
	comment := ""
	if j.comment != "" {
		comment = " Comment=" + j.comment
	}
	return fmt.Sprintf("JobId=%d JobName=%s UserId=%s(%d) Account=%s QOS=%s JobState=%s Reason=%s Dependency=%s Requeue=%d "+
		"Restarts=%d BatchFlag=1 ExitCode=%d:%d TimeLimit=%s SubmitTime=%s EligibleTime=%s StartTime=%s EndTime=%s "+
		"PreemptTime=None SuspendTime=None Partition=%s ExcNodeList=%s NodeList=%s BatchHost=%s NumNodes=%d NumCPUs=%d "+
		"TRES=%s MinMemoryNode=%s%s WorkDir=%s",
		j.number, j.name, j.user, j.uid, j.account, j.qos, j.shown(), orWord(j.reason, "None"), orWord(j.depText, "(null)"), requeue,
		j.restartCount, j.exit.Code, j.exit.Signal, slurm.FormatDuration(j.time), stamp(j.submit), stamp(j.eligible),
		showStamp(s.scheduler.startTime(j)), showStamp(j.endTime()),
		j.partition, orWord(slurm.JoinNodes(j.exclude), "(null)"), orWord(j.nodeNames(), "(null)"), orWord(j.batchHost(), "n/a"),
		j.nodes, j.cpusPerNode()*j.nodes, j.tres(j.nodes), slurm.FormatMemory(j.memory), comment, j.dir)
}

func showStamp(t time.Time) string {
	if t.IsZero() {
		return "Unknown"
	}
	return stamp(t)
}

func (s scontrol) showPartitions() slurm.Output {
	var out strings.Builder
	for i, p := range s.opts.Partitions {
		isDefault := "NO"
		if i == 0 {
			isDefault = "YES"
		}
		names, cpus := p.Nodes, 0
		for _, n := range s.nodes {
			if p.Nodes == nil {
				names = append(names, n.Name)
			}
			cpus += n.CPUs
		}
		fmt.Fprintf(&out, "PartitionName=%s AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=%s QoS=N/A "+
			"DefaultTime=%s DisableRootJobs=NO ExclusiveUser=NO GraceTime=%d Hidden=NO MaxNodes=UNLIMITED MaxTime=%s MinNodes=0 LLN=NO "+
			"MaxCPUsPerNode=UNLIMITED Nodes=%s PriorityJobFactor=1 PriorityTier=%d RootOnly=NO ReqResv=NO OverSubscribe=NO "+
			"OverTimeLimit=NONE PreemptMode=%s State=UP TotalCPUs=%d TotalNodes=%d SelectTypeParameters=NONE JobDefaults=(null) "+
			"DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n",
			p.Name, isDefault, slurm.FormatDuration(p.DefaultTime), int(p.GraceTime/time.Second), slurm.FormatDuration(p.MaxTime),
			strings.Join(names, ","), p.PriorityTier, p.PreemptMode, cpus, len(names))
	}
	return say("%s", out.String())
}

func (s scontrol) showConfig(now time.Time) slurm.Output {
	return say("Configuration data as of %s\n"+
		"AccountingStorageEnforce = associations,limits,qos\n"+
		"AccountingStorageType   = accounting_storage/slurmdbd\n"+
		"ClusterName             = %s\n"+
		"DefMemPerCPU            = 256\n"+
		"JobAcctGatherType       = jobacct_gather/linux\n"+
		"JobRequeue              = 1\n"+
		"KillWait                = %d sec\n"+
		"MaxArraySize            = 1001\n"+
		"MaxJobCount             = 10000\n"+
		"MaxMemPerNode           = UNLIMITED\n"+
		"MinJobAge               = %d sec\n"+
		"OverTimeLimit           = 0 min\n"+
		"PreemptMode             = REQUEUE\n"+
		"PreemptType             = preempt/partition_prio\n"+
		"SelectType              = select/cons_tres\n"+
		"SLURM_VERSION           = 22.05.8\n"+
		"SlurmdTimeout           = %d sec\n"+
		"\nSlurmctld(primary) at %s is UP\n",
		now.Format("2006-01-02T15:04:05"), s.opts.Name, int(s.opts.KillWait/time.Second),
		int(s.opts.MinJobAge/time.Second), int(s.opts.SlurmdTimeout/time.Second), s.opts.Name)
}

// update changes a job's comment, name, time limit or excluded nodes.
func (s scontrol) update(words []string, uid int) slurm.Output {
	changes := map[string]string{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		changes[strings.ToLower(key)] = value
	}
	j := s.queue.jobOf(changes["jobid"])
	if j == nil {
		return refusal("slurm_update error: Invalid job id specified")
	}
	if uid != 0 && uid != j.uid {
		return refusal("slurm_update error: Access/permission denied")
	}
	for key, value := range changes {
		switch key {
		case "jobid":
		case "comment":
			j.comment = value
		case "name", "jobname":
			j.name = value
		case "excnodelist":
			j.exclude, _ = slurm.ExpandNodes(value)
		case "timelimit":
			if out, ok := s.updateTime(j, value, uid); !ok {
				return out
			}
		default:
			return refusal("Update of this parameter is not supported: " + key)
		}
	}
	return slurm.Output{}
}

// updateTime changes the time limit of a job; false if that is refused. Users may lengthen
// that of a pending job up to the limit of its partition.
func (s scontrol) updateTime(j *job, value string, uid int) (slurm.Output, bool) {
	changed := j.request
	if err := setTime(&changed, value); err != nil {
		return refusal("slurm_update error: Invalid time limit specified"), false
	}
	p, _ := s.scheduler.partitions.named(j.partition)
	if r := j.current(); uid != 0 && (changed.time > p.MaxTime || r != nil && changed.time > j.time) {
		return refusal(fmt.Sprintf("Access/permission denied for job %d", j.number)), false
	}
	j.time = changed.time
	if r := j.current(); r != nil {
		s.controller.setLimit(r)
	}
	return slurm.Output{}, true
}

// order carries out a command about individual jobs.
func (s scontrol) order(command string, ids []string, uid int) slurm.Output {
	for _, id := range ids {
		j := s.queue.jobOf(id)
		if j == nil {
			return refusal("Invalid job id specified for job " + id)
		}
		if uid != 0 && (uid != j.uid || command == "suspend" || command == "resume") {
			return refusal("Access/permission denied for job " + id)
		}
		r := j.current()
		switch running := r != nil && !r.completing; {
		case command == "hold" || command == "release":
			j.held = command == "hold"
		case !running:
			return refusal("Job is pending execution for job " + id)
		case command == "suspend":
			s.controller.suspend(r)
		case command == "resume":
			s.controller.resume(r)
		default:
			s.controller.requeue(r, command == "requeuehold")
		}
	}
	return slurm.Output{}
}
