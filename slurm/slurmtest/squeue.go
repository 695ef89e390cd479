package slurmtest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// queueColumns are the columns of squeue's -O that the fake knows.
var queueColumns = map[string]struct {
	heading string
	value   func(*Cluster, *job) string
}{
	"jobarrayid":   {"JOBID", func(_ *Cluster, j *job) string { return j.id().String() }},
	"jobid":        {"JOBID", func(_ *Cluster, j *job) string { return j.id().String() }},
	"state":        {"STATE", func(_ *Cluster, j *job) string { return string(j.shown()) }},
	"restartcnt":   {"RESTART_COUNT", func(_ *Cluster, j *job) string { return strconv.Itoa(j.restarts) }},
	"name":         {"NAME", func(_ *Cluster, j *job) string { return j.name }},
	"username":     {"USER", func(_ *Cluster, j *job) string { return j.user }},
	"account":      {"ACCOUNT", func(_ *Cluster, j *job) string { return j.account }},
	"partition":    {"PARTITION", func(_ *Cluster, j *job) string { return j.partition }},
	"qos":          {"QOS", func(_ *Cluster, j *job) string { return j.qos }},
	"reason":       {"REASON", func(_ *Cluster, j *job) string { return orWord(j.reason, "None") }},
	"numnodes":     {"NODES", func(_ *Cluster, j *job) string { return strconv.Itoa(j.nodes) }},
	"numcpus":      {"CPUS", func(_ *Cluster, j *job) string { return strconv.Itoa(j.cpusPerNode() * j.nodes) }},
	"minmemory":    {"MIN_MEMORY", func(_ *Cluster, j *job) string { return slurm.FormatMemory(j.memory) }},
	"tres-alloc":   {"TRES_ALLOC", func(_ *Cluster, j *job) string { return j.tres(j.nodes) }},
	"nodelist":     {"NODELIST", func(_ *Cluster, j *job) string { return j.nodeNames() }},
	"batchhost":    {"EXEC_HOST", func(_ *Cluster, j *job) string { return orWord(j.batchHost(), "n/a") }},
	"submittime":   {"SUBMIT_TIME", func(_ *Cluster, j *job) string { return stamp(j.submit) }},
	"eligibletime": {"ELIGIBLE_TIME", func(_ *Cluster, j *job) string { return stamp(j.eligible) }},
	"starttime":    {"START_TIME", func(c *Cluster, j *job) string { return stamp(c.startOf(j)) }},
	"endtime":      {"END_TIME", func(c *Cluster, j *job) string { return stamp(c.endOf(j)) }},
	"timelimit":    {"TIME_LIMIT", func(_ *Cluster, j *job) string { return slurm.FormatDuration(j.time) }},
	"timeleft":     {"TIME_LEFT", func(c *Cluster, j *job) string { return slurm.FormatDuration(c.timeLeft(j)) }},
	"exit_code":    {"EXIT_CODE", func(_ *Cluster, j *job) string { return strconv.Itoa(j.exit.Code<<8 | j.exit.Signal) }},
	"dependency":   {"DEPENDENCY", func(_ *Cluster, j *job) string { return orWord(j.depText, "(null)") }},
	"comment":      {"COMMENT", func(_ *Cluster, j *job) string { return orWord(j.comment, "(null)") }},
}

// squeue answers -O with the options that package slurm uses.
func (c *Cluster) squeue(args []string) slurm.Output {
	named, _ := options(args, map[string]string{"-O": "Format", "-j": "jobs", "-u": "user", "-n": "name", "-t": "states"})
	var columns []queueColumn
	for spec := range strings.SplitSeq(named["Format"], ",") {
		column, err := parseColumn(spec)
		if err != nil {
			return refusal("squeue: error: " + err.Error())
		}
		columns = append(columns, column)
	}
	if ids, ok := named["jobs"]; ok && !strings.Contains(ids, ",") && c.jobOf(ids) == nil {
		return refusal("slurm_load_jobs error: Invalid job id specified")
	}
	var out bytes.Buffer
	for _, column := range columns {
		column.write(&out, queueColumns[column.name].heading)
	}
	out.WriteByte('\n')
	for _, j := range c.jobs {
		if c.forgotten(j) || j.over() && named["states"] != "all" || !wanted(named, "jobs", j.id().String()) ||
			!wanted(named, "user", j.user) || !wanted(named, "name", j.name) {
			continue
		}
		for _, column := range columns {
			column.write(&out, queueColumns[column.name].value(c, j))
		}
		out.WriteByte('\n')
	}
	return slurm.Output{Stdout: out.Bytes()}
}

// jobOf finds a job by the text of its id.
func (c *Cluster) jobOf(text string) *job {
	id, err := slurm.ParseJobID(text)
	if err != nil {
		return nil
	}
	return c.job(id.Number)
}

// queueColumn is one TYPE[:WIDTH[SUFFIX]] of -O.
type queueColumn struct {
	name   string
	width  int
	suffix string
}

func parseColumn(spec string) (queueColumn, error) {
	name, size, _ := strings.Cut(spec, ":")
	column := queueColumn{name: strings.ToLower(name), width: 20}
	if _, ok := queueColumns[column.name]; !ok {
		return column, refused("Invalid job format specification: " + name)
	}
	digits := 0
	for digits < len(size) && size[digits] >= '0' && size[digits] <= '9' {
		digits++
	}
	if digits > 0 {
		column.width, _ = strconv.Atoi(size[:digits])
	}
	column.suffix = size[digits:]
	return column, nil
}

// write pads or cuts a value to the column's width.
func (q queueColumn) write(out *bytes.Buffer, value string) {
	fmt.Fprintf(out, "%-*.*s%s", q.width, q.width, value, q.suffix)
}

// shown is the state as squeue shows it.
func (j *job) shown() slurm.State {
	if l := j.life(); l != nil && !l.released {
		switch {
		case l.completing:
			return slurm.Completing
		case l.suspended:
			return slurm.Suspended
		}
	}
	return j.state
}

func (j *job) nodeNames() string {
	if l := j.life(); l != nil {
		return l.nodeList()
	}
	return ""
}

func (j *job) batchHost() string {
	if l := j.life(); l != nil {
		return l.nodes[0].Name
	}
	return ""
}

func (c *Cluster) startOf(j *job) time.Time {
	if l := j.life(); l != nil {
		return l.start
	}
	if j.state == slurm.Pending {
		return c.estimate(j)
	}
	return j.ended
}

func (c *Cluster) endOf(j *job) time.Time {
	l := j.life()
	switch {
	case l != nil && !l.end.IsZero():
		return l.end
	case l != nil:
		return l.limit
	case j.state == slurm.Pending:
		return time.Time{}
	}
	return j.ended
}

func (c *Cluster) timeLeft(j *job) time.Duration {
	l := j.life()
	switch {
	case l == nil:
		return j.time
	case l.end.IsZero():
		return max(l.limit.Sub(c.now), 0)
	}
	return max(j.time-l.end.Sub(l.start), 0)
}

func orWord(text, word string) string {
	if text == "" {
		return word
	}
	return text
}

// stamp writes seconds since 1970, as SLURM_TIME_FORMAT=%s wants it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "N/A"
	}
	return strconv.FormatInt(t.Unix(), 10)
}

// Jobs lists the numbers of all jobs that were ever accepted.
func (c *Cluster) Jobs() []slurm.JobID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]slurm.JobID, len(c.jobs))
	for i, j := range c.jobs {
		ids[i] = j.id()
	}
	return slices.Clip(ids)
}
