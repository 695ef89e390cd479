package slurm

import (
	"context"
	"fmt"
	"strings"
)

// QueueQuery chooses jobs; empty fields do not restrict.
type QueueQuery struct {
	User  string
	IDs   []JobID
	Names []string
}

// queueFields are the columns that squeue prints: name, width, and where
// the value goes. -O truncates a column at its width, so widths are generous. The last
// column cannot contain a line break. They exist since Slurm 20.11.
var queueFields = []struct {
	name  string
	width int
	set   func(*Job, *reader, string)
}{
	{"JobArrayID", 300, func(j *Job, r *reader, v string) { j.ID = parsed(r, ParseJobID, v) }},
	{"State", 30, func(j *Job, _ *reader, v string) { j.State = ParseState(v) }},
	{"RestartCnt", 20, func(j *Job, r *reader, v string) { j.Restarts = int(r.number(v)) }},
	{"Name", 300, func(j *Job, _ *reader, v string) { j.Name = v }},
	{"UserName", 100, func(j *Job, _ *reader, v string) { j.User = v }},
	{"Account", 200, func(j *Job, _ *reader, v string) { j.Account = null(v) }},
	{"Partition", 300, func(j *Job, _ *reader, v string) { j.Partition = null(v) }},
	{"QOS", 200, func(j *Job, _ *reader, v string) { j.QOS = null(v) }},
	{"Reason", 100, func(j *Job, _ *reader, v string) { j.Reason = reasonOf(v) }},
	{"NumNodes", 30, func(j *Job, r *reader, v string) { j.Nodes = int(r.atLeast(v)) }},
	{"NumCPUs", 30, func(j *Job, r *reader, v string) { j.CPUs = int(r.atLeast(v)) }},
	{"MinMemory", 40, func(j *Job, r *reader, v string) { j.Memory = r.memory(v) }},
	{"tres-alloc", 500, func(j *Job, _ *reader, v string) { j.TRES, _ = ParseTRES(v) }},
	{"NodeList", 2000, func(j *Job, _ *reader, v string) { j.NodeList = null(v) }},
	{"BatchHost", 200, func(j *Job, _ *reader, v string) { j.BatchHost = null(v) }},
	{"SubmitTime", 40, func(j *Job, r *reader, v string) { j.Submit = parsed(r, ParseTime, v) }},
	{"EligibleTime", 40, func(j *Job, r *reader, v string) { j.Eligible = parsed(r, ParseTime, v) }},
	{"StartTime", 40, func(j *Job, r *reader, v string) { j.Start = parsed(r, ParseTime, v) }},
	{"EndTime", 40, func(j *Job, r *reader, v string) { j.End = parsed(r, ParseTime, v) }},
	{"TimeLimit", 40, func(j *Job, r *reader, v string) { j.TimeLimit = parsed(r, ParseDuration, v) }},
	{"TimeLeft", 40, func(j *Job, r *reader, v string) { j.TimeLeft = parsed(r, ParseDuration, v) }},
	{"exit_code", 30, func(j *Job, r *reader, v string) { j.Exit = parsed(r, parseWaitStatus, v) }},
	{"Comment", 1000, func(j *Job, _ *reader, v string) { j.Comment = null(v) }},
	{"Dependency", 500, func(j *Job, _ *reader, v string) { j.Dependency = null(v) }},
}

// queueFormat returns the argument of -O. Every column except the last ends with the
// separator.
var queueFormat = func() string {
	columns := make([]string, len(queueFields))
	for i, f := range queueFields {
		columns[i] = fmt.Sprintf("%s:%d", f.name, f.width)
		if i < len(queueFields)-1 {
			columns[i] += fieldSeparator
		}
	}
	return strings.Join(columns, ",")
}()

// Queue calls squeue once for all matching jobs, including ended ones that Slurm still
// knows. The error is an *Error.
func (c *Client) Queue(ctx context.Context, query QueueQuery) (Queue, error) {
	queue := Queue{At: c.now()}
	// --all: hidden partitions, too; --local: without the siblings in a federation.
	args := []string{"--all", "--local", "--states=all", "-O", queueFormat}
	if query.User != "" {
		args = append(args, "--user="+query.User)
	}
	if len(query.IDs) > 0 {
		args = append(args, "--jobs="+joinIDs(query.IDs))
	}
	if len(query.Names) > 0 {
		args = append(args, "--name="+strings.Join(query.Names, ","))
	}
	out, err := c.ask(ctx, Squeue, args...)
	if ClassOf(err) == NotFound {
		return queue, nil // squeue's answer if the only requested job is forgotten
	}
	if err != nil {
		return Queue{}, err
	}
	queue.Jobs, queue.Skipped, err = parseQueue(out.Stdout)
	if err != nil {
		return Queue{}, err
	}
	return queue, nil
}

func parseQueue(out []byte) ([]Job, int, error) {
	t, err := parseTable(Squeue, out, len(queueFields))
	if err != nil {
		return nil, 0, err
	}
	jobs := make([]Job, 0, len(t.rows))
	for _, row := range t.rows {
		var job Job
		var r reader
		for i, f := range queueFields {
			f.set(&job, &r, row[i])
		}
		if r.err != nil || job.State == "" {
			t.skipped++
			continue
		}
		jobs = append(jobs, job)
	}
	if len(jobs) == 0 && t.skipped > 0 {
		return nil, 0, garbled(Squeue, fmt.Sprintf("cannot parse any of %d rows", t.skipped))
	}
	return jobs, t.skipped, nil
}

// reasonOf returns a reason; "" if there is none.
func reasonOf(text string) string {
	if text == "None" {
		return ""
	}
	return null(text)
}

func joinIDs(ids []JobID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ",")
}
