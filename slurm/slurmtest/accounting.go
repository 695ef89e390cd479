package slurmtest

import (
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// accounting is the accounting database, which learns of each event some time
// after it.
type accounting struct {
	clock   *timeline
	cluster string        // its name
	lag     time.Duration // from an event to its record
	history map[*restart][]recorded
}

// recorded is the record of a restart after an event, and since when accounting shows it.
type recorded struct {
	at     time.Time
	record slurm.Record
}

// record records a restart.
func (a *accounting) record(r *restart) {
	j := r.job
	record := slurm.Record{
		ID: slurm.StepID{Job: j.id()}, Name: j.name, User: j.user, Account: j.account, Partition: j.partition,
		QOS: j.qos, State: r.state, Exit: r.exit, Submit: j.submit, Eligible: j.eligible,
		Start: r.start, End: r.end, NodeList: r.nodeList(), Nodes: len(r.nodes), CPUs: j.cpusPerNode() * len(r.nodes),
		Memory: slurm.Memory{Bytes: j.memory}, TimeLimit: j.time, Comment: j.comment,
	}
	if r.state == slurm.Cancelled && j.canceler >= 0 {
		record.CancelledBy = strconv.Itoa(j.canceler)
	}
	a.history[r] = append(a.history[r], recorded{at: a.clock.now.Add(a.lag), record: record})
}

// records returns what accounting currently shows of jobs.
func (a *accounting) records(jobs []*job, duplicates, steps bool) []slurm.Record {
	var all []slurm.Record
	for _, j := range jobs {
		var restarts [][]slurm.Record
		for _, r := range j.restarts {
			if shown := a.restartRecords(r, steps); shown != nil {
				restarts = append(restarts, shown)
			}
		}
		if r, ok := a.waitingRecord(j); ok {
			restarts = append(restarts, []slurm.Record{r})
		}
		if !duplicates && len(restarts) > 1 {
			restarts = restarts[len(restarts)-1:]
		}
		for _, records := range restarts {
			all = append(all, records...)
		}
	}
	return all
}

// restartRecords returns the latest visible record of a restart and those of its steps.
func (a *accounting) restartRecords(r *restart, steps bool) []slurm.Record {
	var visible *slurm.Record
	history := a.history[r]
	for i := range history {
		if !history[i].at.After(a.clock.now) {
			visible = &history[i].record
		}
	}
	if visible == nil {
		return nil
	}
	job := *visible
	job.Cluster = a.cluster
	until := job.End
	if until.IsZero() {
		until = a.clock.now
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
	for _, s := range r.steps {
		record := stepRecord(job, strconv.Itoa(s.number), s.name)
		record.State, record.Exit, record.Start, record.End = s.state, s.exit, s.start, s.end
		records = append(records, record)
	}
	return records
}

func stepRecord(job slurm.Record, step, name string) slurm.Record {
	r := job
	r.ID.Step, r.Name, r.CancelledBy = step, name, ""
	r.User, r.Partition, r.QOS, r.Comment = "", "", "", ""
	return r
}

// waitingRecord returns the record of a job that waits, or that ended before it started.
func (a *accounting) waitingRecord(j *job) (slurm.Record, bool) {
	if j.reason == "Dependency" && !j.over() { // not in accounting before it is eligible
		return slurm.Record{}, false
	}
	if j.current() != nil || a.clock.now.Before(j.submit.Add(a.lag)) {
		return slurm.Record{}, false
	}
	r := slurm.Record{
		ID: slurm.StepID{Job: j.id()}, Name: j.name, User: j.user, Account: j.account, Partition: j.partition,
		QOS: j.qos, Cluster: a.cluster, State: slurm.Pending, Reason: j.reason, Submit: j.submit, Eligible: j.eligible,
		Memory: slurm.Memory{Bytes: j.memory}, TimeLimit: j.time, Comment: j.comment,
	}
	if j.over() && !a.clock.now.Before(j.ended.Add(a.lag)) {
		r.State, r.End, r.CancelledBy = j.state, j.ended, strconv.Itoa(j.canceler)
	}
	return r, true
}
