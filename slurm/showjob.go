package slurm

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// keyValues are the words NAME=VALUE of one line of scontrol's -o form.
type keyValues map[string]string

// parseKeyValues parses a line. Values may contain blanks and equals signs
// (comments, commands), so a new key starts only at a word that begins with a
// letter, has only letters, digits and :/_ before the sign, and is in known, or
// if known is nil at every such word.
func parseKeyValues(line string) keyValues {
	values := keyValues{}
	last := ""
	for word := range strings.FieldsSeq(line) {
		key, value, ok := strings.Cut(word, "=")
		if _, again := values[key]; ok && isKey(key) && !again {
			values[key], last = value, key
		} else if last != "" {
			values[last] += " " + word
		}
	}
	return values
}

func isKey(word string) bool {
	if word == "" || !isLetter(word[0]) {
		return false
	}
	return strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/_") == ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// text returns a value; empty for Slurm's words for nothing.
func (kv keyValues) text(key string) string { return null(kv[key]) }

// JobDetail is a job as `scontrol show job` prints it.
type JobDetail struct {
	Job
	Requeue      bool // may be requeued
	BatchFlag    bool
	WorkDir      string
	StdOut       string
	StdErr       string
	Command      string
	PreemptTime  time.Time
	SuspendTime  time.Time
	ExcludedList string
	Values       map[string]string // everything, by Slurm's names
}

// ShowJob returns one job. found is false if a healthy controller answers that
// it knows no such job.
func (c *Client) ShowJob(ctx context.Context, id JobID) (detail JobDetail, found bool, err error) {
	out, err := c.ask(ctx, Scontrol, "--local", "--all", "--oneliner", "show", "job", id.String())
	if ClassOf(err) == NotFound {
		return JobDetail{}, false, nil
	}
	if err != nil {
		return JobDetail{}, false, err
	}
	detail, err = parseJobDetail(firstJob(string(out.Stdout)))
	if err != nil {
		return JobDetail{}, false, err
	}
	return detail, true, nil
}

// firstJob returns the output without the other tasks of an array and components of a
// job. A line break in a name or comment does not end a job.
func firstJob(text string) string {
	first, _, _ := strings.Cut(text, "\nJobId=")
	return first
}

func parseJobDetail(line string) (JobDetail, error) {
	kv := parseKeyValues(line)
	var r reader
	d := JobDetail{
		Job: Job{
			ID:         parsed(&r, ParseJobID, kv["JobId"]),
			Name:       kv["JobName"],
			Account:    kv.text("Account"),
			Partition:  kv.text("Partition"),
			QOS:        kv.text("QOS"),
			State:      ParseState(kv["JobState"]),
			Reason:     reasonOf(kv["Reason"]),
			Nodes:      int(r.atLeast(kv["NumNodes"])),
			CPUs:       int(r.atLeast(kv["NumCPUs"])),
			NodeList:   kv.text("NodeList"),
			BatchHost:  kv.text("BatchHost"),
			Submit:     parsed(&r, ParseTime, kv["SubmitTime"]),
			Eligible:   parsed(&r, ParseTime, kv["EligibleTime"]),
			Start:      parsed(&r, ParseTime, kv["StartTime"]),
			End:        parsed(&r, ParseTime, kv["EndTime"]),
			TimeLimit:  parsed(&r, ParseDuration, kv["TimeLimit"]),
			TimeLeft:   NoDuration,
			Restarts:   int(r.number(kv["Restarts"])),
			Exit:       parsed(&r, parseExit, kv["ExitCode"]),
			Comment:    kv.text("Comment"),
			Dependency: kv.text("Dependency"),
		},
		Requeue:      kv["Requeue"] == "1",
		BatchFlag:    kv["BatchFlag"] != "" && kv["BatchFlag"] != "0",
		WorkDir:      kv.text("WorkDir"),
		StdOut:       kv.text("StdOut"),
		StdErr:       kv.text("StdErr"),
		Command:      kv.text("Command"),
		PreemptTime:  parsed(&r, ParseTime, kv["PreemptTime"]),
		SuspendTime:  parsed(&r, ParseTime, kv["SuspendTime"]),
		ExcludedList: kv.text("ExcNodeList"),
		Values:       kv,
	}
	d.User, _, _ = strings.Cut(kv["UserId"], "(")
	d.TRES, _ = ParseTRES(cmp.Or(kv.text("TRES"), kv.text("AllocTRES"), kv.text("ReqTRES"))) // 23.02 split TRES
	d.Memory = memoryOf(&r, kv)
	if r.err != nil || d.State == "" {
		return JobDetail{}, garbled(Scontrol, "the answer does not describe a job")
	}
	return d, nil
}

// memoryOf parses the requested memory, whose key says what it applies to.
func memoryOf(r *reader, kv keyValues) Memory {
	for key, per := range map[string]Per{"MinMemoryNode": PerNode, "MinMemoryCPU": PerCPU} {
		if text, ok := kv[key]; ok {
			m := r.memory(text)
			m.Per = per
			return m
		}
	}
	return Memory{}
}
