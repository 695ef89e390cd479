package slurmtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// accountingColumns are the columns of sacct that the fake knows.
var accountingColumns = map[string]func(slurm.Record) string{
	"jobid":           func(r slurm.Record) string { return r.ID.String() },
	"state":           recordState,
	"jobname":         func(r slurm.Record) string { return r.Name },
	"user":            func(r slurm.Record) string { return r.User },
	"account":         func(r slurm.Record) string { return r.Account },
	"partition":       func(r slurm.Record) string { return r.Partition },
	"qos":             func(r slurm.Record) string { return r.QOS },
	"cluster":         func(r slurm.Record) string { return r.Cluster },
	"reason":          func(r slurm.Record) string { return orWord(r.Reason, "None") },
	"exitcode":        func(r slurm.Record) string { return fmt.Sprintf("%d:%d", r.Exit.Code, r.Exit.Signal) },
	"derivedexitcode": func(r slurm.Record) string { return "0:0" },
	"submit":          func(r slurm.Record) string { return accountingStamp(r.Submit) },
	"eligible":        func(r slurm.Record) string { return accountingStamp(r.Eligible) },
	"start":           func(r slurm.Record) string { return accountingStamp(r.Start) },
	"end":             func(r slurm.Record) string { return accountingStamp(r.End) },
	"elapsed":         func(r slurm.Record) string { return slurm.FormatDuration(r.Elapsed) },
	"suspended":       func(slurm.Record) string { return "00:00:00" },
	"timelimit":       func(r slurm.Record) string { return slurm.FormatDuration(r.TimeLimit) },
	"nnodes":          func(r slurm.Record) string { return strconv.Itoa(r.Nodes) },
	"nodelist":        func(r slurm.Record) string { return orWord(r.NodeList, "None assigned") },
	"alloccpus":       func(r slurm.Record) string { return strconv.Itoa(r.CPUs) },
	"reqmem":          func(r slurm.Record) string { return slurm.FormatMemory(r.Memory.Bytes) },
	"maxrss":          func(r slurm.Record) string { return rssText(r.MaxRSS) },
	"comment":         func(r slurm.Record) string { return r.Comment },
	"totalcpu":        nothing, "avecpu": nothing, "alloctres": nothing, "maxvmsize": nothing,
	"maxdiskread": nothing, "maxdiskwrite": nothing,
}

func nothing(slurm.Record) string { return "" }

func recordState(r slurm.Record) string {
	if r.CancelledBy != "" {
		return string(r.State) + " by " + r.CancelledBy
	}
	return string(r.State)
}

func rssText(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return strconv.FormatInt(bytes/slurm.KiB, 10) + "K"
}

func accountingStamp(t time.Time) string {
	if t.IsZero() {
		return "Unknown"
	}
	return strconv.FormatInt(t.Unix(), 10)
}

// sacct shows what accounting has of jobs at the current time.
func sacct(a *accounting, jobs []*job, args []string) slurm.Output {
	named, _ := options(args, map[string]string{"-j": "jobs", "-S": "starttime", "-u": "user", "-o": "format"})
	columns := strings.Split(named["format"], ",")
	for _, column := range columns {
		if accountingColumns[strings.ToLower(column)] == nil {
			return refusal(fmt.Sprintf("sacct: fatal: Invalid field requested: %q", column))
		}
	}
	since, err := slurm.ParseTime(named["starttime"])
	if err != nil {
		return refusal("sacct: error: Invalid time specification")
	}
	delimiter := orWord(named["delimiter"], "|")
	var out strings.Builder
	out.WriteString(strings.Join(columns, delimiter) + "\n")
	_, duplicates := named["duplicates"]
	_, jobsOnly := named["allocations"]
	for _, r := range a.records(jobs, duplicates, !jobsOnly) {
		if !wanted(named, "jobs", r.ID.Job.String()) || !wanted(named, "name", r.Name) && !r.IsStep() ||
			!wanted(named, "user", r.User) && !r.IsStep() || !r.End.IsZero() && r.End.Before(since) {
			continue
		}
		fields := make([]string, len(columns))
		for i, column := range columns {
			fields[i] = accountingColumns[strings.ToLower(column)](r)
		}
		out.WriteString(strings.Join(fields, delimiter) + "\n")
	}
	return slurm.Output{Stdout: []byte(out.String())}
}
