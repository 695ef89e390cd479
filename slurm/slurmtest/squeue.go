package slurmtest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// queueColumns are the columns of squeue's -O that the fake knows.
var queueColumns = map[string]struct {
	heading string
	value   func(*scheduler, *job) string
}{
	"jobarrayid":   {"JOBID", func(_ *scheduler, j *job) string { return j.id().String() }},
	"jobid":        {"JOBID", func(_ *scheduler, j *job) string { return j.id().String() }},
	"state":        {"STATE", func(_ *scheduler, j *job) string { return string(j.shown()) }},
	"restartcnt":   {"RESTART_COUNT", func(_ *scheduler, j *job) string { return strconv.Itoa(j.restartCount) }},
	"name":         {"NAME", func(_ *scheduler, j *job) string { return j.name }},
	"username":     {"USER", func(_ *scheduler, j *job) string { return j.user }},
	"account":      {"ACCOUNT", func(_ *scheduler, j *job) string { return j.account }},
	"partition":    {"PARTITION", func(_ *scheduler, j *job) string { return j.partition }},
	"qos":          {"QOS", func(_ *scheduler, j *job) string { return j.qos }},
	"reason":       {"REASON", func(_ *scheduler, j *job) string { return orWord(j.reason, "None") }},
	"numnodes":     {"NODES", func(_ *scheduler, j *job) string { return strconv.Itoa(j.nodes) }},
	"numcpus":      {"CPUS", func(_ *scheduler, j *job) string { return strconv.Itoa(j.cpusPerNode() * j.nodes) }},
	"minmemory":    {"MIN_MEMORY", func(_ *scheduler, j *job) string { return slurm.FormatMemory(j.memory) }},
	"tres-alloc":   {"TRES_ALLOC", func(_ *scheduler, j *job) string { return j.tres(j.nodes) }},
	"nodelist":     {"NODELIST", func(_ *scheduler, j *job) string { return j.nodeNames() }},
	"batchhost":    {"EXEC_HOST", func(_ *scheduler, j *job) string { return orWord(j.batchHost(), "n/a") }},
	"submittime":   {"SUBMIT_TIME", func(_ *scheduler, j *job) string { return stamp(j.submit) }},
	"eligibletime": {"ELIGIBLE_TIME", func(_ *scheduler, j *job) string { return stamp(j.eligible) }},
	"starttime":    {"START_TIME", func(s *scheduler, j *job) string { return stamp(s.startTime(j)) }},
	"endtime":      {"END_TIME", func(_ *scheduler, j *job) string { return stamp(j.endTime()) }},
	"timelimit":    {"TIME_LIMIT", func(_ *scheduler, j *job) string { return slurm.FormatDuration(j.time) }},
	"timeleft":     {"TIME_LEFT", func(s *scheduler, j *job) string { return slurm.FormatDuration(j.timeLeft(s.clock.now)) }},
	"exit_code":    {"EXIT_CODE", func(_ *scheduler, j *job) string { return strconv.Itoa(j.exit.Code<<8 | j.exit.Signal) }},
	"dependency":   {"DEPENDENCY", func(_ *scheduler, j *job) string { return orWord(j.depText, "(null)") }},
	"comment":      {"COMMENT", func(_ *scheduler, j *job) string { return orWord(j.comment, "(null)") }},
}

// squeue shows the jobs that the controller has not forgotten.
type squeue struct {
	queue     *queue
	scheduler *scheduler
}

// run answers -O with the options that package slurm uses.
func (s squeue) run(args []string) slurm.Output {
	named, _ := options(args, map[string]string{"-O": "Format", "-j": "jobs", "-u": "user", "-n": "name", "-t": "states"})
	var columns []queueColumn
	for spec := range strings.SplitSeq(named["Format"], ",") {
		column, err := parseColumn(spec, func(name string) bool { return queueColumns[name].value != nil })
		if err != nil {
			return refusal("squeue: error: " + err.Error())
		}
		columns = append(columns, column)
	}
	if ids, ok := named["jobs"]; ok && !strings.Contains(ids, ",") && s.queue.jobOf(ids) == nil {
		return refusal("slurm_load_jobs error: Invalid job id specified")
	}
	var out bytes.Buffer
	for _, column := range columns {
		column.write(&out, queueColumns[column.name].heading)
	}
	out.WriteByte('\n')
	for _, j := range s.queue.jobs {
		if s.queue.forgotten(j) || j.over() && named["states"] != "all" || !wanted(named, "jobs", j.id().String()) ||
			!wanted(named, "user", j.user) || !wanted(named, "name", j.name) {
			continue
		}
		for _, column := range columns {
			column.write(&out, queueColumns[column.name].value(s.scheduler, j))
		}
		out.WriteByte('\n')
	}
	return slurm.Output{Stdout: out.Bytes()}
}

// queueColumn is one TYPE[:WIDTH[SUFFIX]] of -O.
type queueColumn struct {
	name   string
	width  int
	suffix string
}

func parseColumn(spec string, known func(name string) bool) (queueColumn, error) {
	name, size, sized := strings.Cut(spec, ":")
	column := queueColumn{name: strings.ToLower(name), width: 20}
	if !known(column.name) {
		return column, refused("Invalid job format specification: " + name)
	}
	digits := 0
	for digits < len(size) && size[digits] >= '0' && size[digits] <= '9' {
		digits++
	}
	if sized {
		column.width, _ = strconv.Atoi(size[:digits]) // 0 without digits
	}
	column.suffix = size[digits:]
	return column, nil
}

// write pads or truncates a value to the column's width, if it has one.
func (q queueColumn) write(out *bytes.Buffer, value string) {
	if q.width == 0 {
		out.WriteString(value + q.suffix)
		return
	}
	fmt.Fprintf(out, "%-*.*s%s", q.width, q.width, value, q.suffix)
}

func orWord(text, word string) string {
	if text == "" {
		return word
	}
	return text
}

// stamp writes a time as SLURM_TIME_FORMAT=%s does: seconds since 1970.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "N/A"
	}
	return strconv.FormatInt(t.Unix(), 10)
}
