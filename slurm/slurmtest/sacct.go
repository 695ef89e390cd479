package slurmtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// accountingColumns are the columns of sacct that the fake fills; the others
// that sacct has stay empty.
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

// sacct answers from what accounting has been told long enough ago.
func (c *Cluster) sacct(args []string) slurm.Output {
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
	for _, r := range c.records(duplicates, !jobsOnly) {
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

// records are what accounting shows at present.
func (c *Cluster) records(duplicates, steps bool) []slurm.Record {
	var all []slurm.Record
	for _, j := range c.jobs {
		var lives [][]slurm.Record
		for _, l := range j.lives {
			if shown := c.lifeRecords(l, steps); shown != nil {
				lives = append(lives, shown)
			}
		}
		if r, ok := c.waitingRecord(j); ok {
			lives = append(lives, []slurm.Record{r})
		}
		if !duplicates && len(lives) > 1 {
			lives = lives[len(lives)-1:]
		}
		for _, records := range lives {
			all = append(all, records...)
		}
	}
	return all
}

// lifeRecords are the latest visible record of a life and those of its steps.
func (c *Cluster) lifeRecords(l *life, steps bool) []slurm.Record {
	var visible *slurm.Record
	for i := range l.history {
		if !l.history[i].at.After(c.now) {
			visible = &l.history[i].record
		}
	}
	if visible == nil {
		return nil
	}
	job := *visible
	job.Cluster = c.opts.Name
	until := job.End
	if until.IsZero() {
		until = c.now
	}
	job.Elapsed = until.Sub(job.Start)
	records := []slurm.Record{job}
	if !steps {
		return records
	}
	batch := stepRecord(job, "batch", "batch")
	if job.State.Over() && job.State != slurm.Completed && job.State != slurm.Failed && job.State != slurm.OutOfMemory {
		batch.State, batch.Exit = slurm.Cancelled, slurm.ExitCode{Signal: 15}
	}
	records = append(records, batch)
	for _, s := range l.steps {
		r := stepRecord(job, strconv.Itoa(s.number), s.name)
		r.State, r.Exit, r.Start, r.End = s.state, s.exit, s.start, s.end
		records = append(records, r)
	}
	return records
}

func stepRecord(job slurm.Record, step, name string) slurm.Record {
	r := job
	r.ID.Step, r.Name, r.CancelledBy = step, name, ""
	r.User, r.Partition, r.QOS, r.Comment = "", "", "", ""
	return r
}

// waitingRecord is that of a job which waits, or ended without a start.
func (c *Cluster) waitingRecord(j *job) (slurm.Record, bool) {
	if j.reason == "Dependency" && !j.over() { // not known there before it is eligible
		return slurm.Record{}, false
	}
	if j.life() != nil || c.now.Before(j.submit.Add(c.opts.Lag)) {
		return slurm.Record{}, false
	}
	r := slurm.Record{
		ID: slurm.StepID{Job: j.id()}, Name: j.name, User: j.user, Account: j.account, Partition: j.partition,
		QOS: j.qos, Cluster: c.opts.Name, State: slurm.Pending, Reason: j.reason, Submit: j.submit, Eligible: j.eligible,
		Memory: slurm.Memory{Bytes: j.memory}, TimeLimit: j.time, Comment: j.comment,
	}
	if j.over() && !c.now.Before(j.ended.Add(c.opts.Lag)) {
		r.State, r.End, r.CancelledBy = j.state, j.ended, strconv.Itoa(j.canceler)
	}
	return r, true
}
