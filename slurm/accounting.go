package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AccountingQuery chooses records. Since is required: sacct's own default, the
// last midnight, hides jobs that ended before it.
type AccountingQuery struct {
	IDs        []JobID
	Names      []string
	User       string
	Since      time.Time
	Duplicates bool // each restart of a requeued job; otherwise the last one
	JobsOnly   bool // without steps
}

// Record is the accounting record of one restart of a job, or of one step. Times that are
// not known, or not known yet, are zero.
type Record struct {
	ID          StepID
	Name        string
	User        string
	Account     string
	Partition   string
	QOS         string
	Cluster     string
	State       State
	CancelledBy string // uid, for CANCELLED; "" if none is named
	Reason      string
	Exit        ExitCode
	DerivedExit ExitCode // the highest of its steps; only for jobs
	Submit      time.Time
	Eligible    time.Time
	Start       time.Time
	End         time.Time
	Elapsed     time.Duration
	Suspended   time.Duration
	TimeLimit   time.Duration
	CPUTime     time.Duration // user and system time of the processes
	AveCPU      time.Duration // per task; only for steps
	Nodes       int
	NodeList    string
	CPUs        int
	Memory      Memory // as requested
	TRES        TRES   // allocated
	MaxRSS      int64  // bytes, of the largest task; only for steps; 0 if not measured
	MaxVMSize   int64  // bytes, likewise
	MaxRead     int64  // bytes, likewise
	MaxWrite    int64  // bytes, likewise
	Comment     string
}

// IsStep reports whether the record is of a step.
func (r Record) IsStep() bool { return r.ID.Step != "" }

// Over reports whether this restart or step has ended.
func (r Record) Over() bool { return r.State.Over() || r.State == Requeued }

// Started reports whether this restart or step was given nodes. (A restart that was
// cancelled before it got any may have its end as its start.)
func (r Record) Started() bool { return r.NodeList != "" }

// Accounting is one answer of the accounting database. It may lag by seconds, at
// a busy site by minutes. In that time a record may have its job's id and state,
// but the name "allocation". A job that waits for a dependency is not included.
type Accounting struct {
	At      time.Time
	Records []Record // in Slurm's order: a job, its steps, the next job
	Skipped int
}

// Restarts returns the records of a job without its steps, one per restart, oldest first.
func (a Accounting) Restarts(id JobID) []Record {
	var restarts []Record
	for _, r := range a.Records {
		if r.ID == (StepID{Job: id}) {
			restarts = append(restarts, r)
		}
	}
	slices.SortStableFunc(restarts, func(a, b Record) int { return a.Submit.Compare(b.Submit) })
	return restarts
}

// Steps returns the records of a job's steps.
func (a Accounting) Steps(id JobID) []Record {
	var steps []Record
	for _, r := range a.Records {
		if r.ID.Job == id && r.IsStep() {
			steps = append(steps, r)
		}
	}
	return steps
}

var accountingFields = []struct {
	name string
	set  func(*Record, *reader, string)
}{
	{"JobID", func(x *Record, r *reader, v string) { x.ID = parsed(r, ParseStepID, v) }},
	{"State", func(x *Record, _ *reader, v string) { x.State, x.CancelledBy = ParseState(v), cancelledBy(v) }},
	{"JobName", func(x *Record, _ *reader, v string) { x.Name = v }},
	{"User", func(x *Record, _ *reader, v string) { x.User = v }},
	{"Account", func(x *Record, _ *reader, v string) { x.Account = v }},
	{"Partition", func(x *Record, _ *reader, v string) { x.Partition = v }},
	{"QOS", func(x *Record, _ *reader, v string) { x.QOS = null(v) }},
	{"Reason", func(x *Record, _ *reader, v string) { x.Reason = reasonOf(v) }},
	{"ExitCode", func(x *Record, r *reader, v string) { x.Exit = parsed(r, parseExit, v) }},
	{"DerivedExitCode", func(x *Record, r *reader, v string) { x.DerivedExit = parsed(r, parseExit, v) }},
	{"Submit", func(x *Record, r *reader, v string) { x.Submit = parsed(r, ParseTime, v) }},
	{"Eligible", func(x *Record, r *reader, v string) { x.Eligible = parsed(r, ParseTime, v) }},
	{"Start", func(x *Record, r *reader, v string) { x.Start = parsed(r, ParseTime, v) }},
	{"End", func(x *Record, r *reader, v string) { x.End = parsed(r, ParseTime, v) }},
	{"Elapsed", func(x *Record, r *reader, v string) { x.Elapsed = parsed(r, ParseDuration, v) }},
	{"Suspended", func(x *Record, r *reader, v string) { x.Suspended = parsed(r, ParseDuration, v) }},
	{"Timelimit", func(x *Record, r *reader, v string) { x.TimeLimit = parsed(r, ParseDuration, v) }},
	{"TotalCPU", func(x *Record, r *reader, v string) { x.CPUTime = parsed(r, ParseDuration, v) }},
	{"AveCPU", func(x *Record, r *reader, v string) { x.AveCPU = parsed(r, ParseDuration, v) }},
	{"NNodes", func(x *Record, r *reader, v string) { x.Nodes = int(r.number(v)) }},
	{"NodeList", func(x *Record, _ *reader, v string) { x.NodeList = null(v) }},
	{"AllocCPUS", func(x *Record, r *reader, v string) { x.CPUs = int(r.number(v)) }},
	{"ReqMem", func(x *Record, r *reader, v string) { x.Memory = r.memory(v) }},
	{"AllocTRES", func(x *Record, _ *reader, v string) { x.TRES, _ = ParseTRES(v) }},
	{"MaxRSS", func(x *Record, r *reader, v string) { x.MaxRSS = r.bytes(v) }},
	{"MaxVMSize", func(x *Record, r *reader, v string) { x.MaxVMSize = r.bytes(v) }},
	{"MaxDiskRead", func(x *Record, r *reader, v string) { x.MaxRead = r.bytes(v) }},
	{"MaxDiskWrite", func(x *Record, r *reader, v string) { x.MaxWrite = r.bytes(v) }},
	{"Comment", func(x *Record, _ *reader, v string) { x.Comment = v }},
	{"Cluster", func(x *Record, _ *reader, v string) { x.Cluster = v }},
}

var accountingFormat = func() string {
	names := make([]string, len(accountingFields))
	for i, f := range accountingFields {
		names[i] = f.name
	}
	return strings.Join(names, ",")
}()

// Accounting calls sacct once for all matching records. The error is an *Error.
func (c *Client) Accounting(ctx context.Context, query AccountingQuery) (Accounting, error) {
	look := Accounting{At: c.now()}
	args := []string{"--local", "--parsable2", "--delimiter=" + fieldSeparator, "--format=" + accountingFormat}
	// Jobs that may not start before tomorrow are outside of sacct's own window.
	args = append(args, "--starttime="+formatSince(query.Since), "--endtime="+formatSince(c.now().AddDate(1, 0, 0)))
	if len(query.IDs) > 0 {
		args = append(args, "--jobs="+joinIDs(query.IDs))
	}
	if len(query.Names) > 0 {
		args = append(args, "--name="+strings.Join(query.Names, ","))
	}
	if query.User != "" {
		args = append(args, "--user="+query.User)
	}
	if query.Duplicates {
		args = append(args, "--duplicates")
	}
	if query.JobsOnly {
		args = append(args, "--allocations")
	}
	out, err := c.ask(ctx, Sacct, args...)
	if err != nil {
		return Accounting{}, err
	}
	look.Records, look.Skipped, err = parseAccounting(out.Stdout)
	if err != nil {
		return Accounting{}, err
	}
	return look, nil
}

func parseAccounting(out []byte) ([]Record, int, error) {
	t, err := parseTable(Sacct, out, len(accountingFields))
	if err != nil {
		return nil, 0, err
	}
	records := make([]Record, 0, len(t.rows))
	for _, row := range t.rows {
		var record Record
		var r reader
		for i, f := range accountingFields {
			f.set(&record, &r, row[i])
		}
		if r.err != nil || record.State == "" {
			t.skipped++
			continue
		}
		records = append(records, record)
	}
	if len(records) == 0 && t.skipped > 0 {
		return nil, 0, garbled(Sacct, fmt.Sprintf("cannot parse any of %d rows", t.skipped))
	}
	return records, t.skipped, nil
}

// cancelledBy returns the uid in "CANCELLED by 1000".
func cancelledBy(state string) string {
	_, by, _ := strings.Cut(state, " by ")
	return strings.TrimSpace(by)
}
