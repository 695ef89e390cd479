package slurm

import (
	"context"
	"strings"
	"time"
)

// Association is what a user may do under an account. Limits that are not set
// are 0 (NoDuration for MaxWall). The limits of the parent accounts apply as well and
// are not repeated here.
type Association struct {
	Cluster    string
	Account    string
	User       string
	Partition  string // "": all
	DefaultQOS string
	QOS        []string
	MaxJobs    int // running
	MaxSubmit  int // running and pending
	MaxWall    time.Duration
	MaxTRES    TRES // per job
	GrpJobs    int
	GrpSubmit  int
	GrpTRES    TRES
}

// QOS is a quality of service with its limits; unset ones are 0 (NoDuration).
type QOS struct {
	Name             string
	Priority         int
	Flags            []string
	PreemptMode      string
	Preempts         []string // the QOS that it may preempt
	GraceTime        time.Duration
	MaxWall          time.Duration
	MaxJobsPerUser   int
	MaxSubmitPerUser int
	MaxSubmitPerAcct int
	MaxTRESPerJob    TRES
	MaxTRESPerUser   TRES
	GrpJobs          int
	GrpSubmit        int
	GrpTRES          TRES
	MinTRES          TRES
}

// sacctmgrTable calls sacctmgr and returns rows with the columns in the given order.
func (c *Client) sacctmgrTable(ctx context.Context, columns []string, args ...string) ([][]string, error) {
	args = append([]string{"--parsable2", "--readonly", "show"}, args...)
	out, err := c.ask(ctx, Sacctmgr, append(args, "format="+strings.Join(columns, ","))...)
	if err != nil {
		return nil, err
	}
	// sacctmgr has no option for the delimiter; the names of accounts and QOS
	// have no vertical bars.
	text := strings.ReplaceAll(string(out.Stdout), "|", fieldSeparator)
	t, err := parseTable(Sacctmgr, []byte(text), len(columns))
	if err != nil {
		return nil, err
	}
	return t.rows, nil
}

var associationFields = []struct {
	name string
	set  func(*Association, *reader, string)
}{
	{"Cluster", func(a *Association, _ *reader, v string) { a.Cluster = v }},
	{"Account", func(a *Association, _ *reader, v string) { a.Account = v }},
	{"User", func(a *Association, _ *reader, v string) { a.User = v }},
	{"Partition", func(a *Association, _ *reader, v string) { a.Partition = v }},
	{"DefaultQOS", func(a *Association, _ *reader, v string) { a.DefaultQOS = v }},
	{"QOS", func(a *Association, _ *reader, v string) { a.QOS = listOf(v) }},
	{"MaxJobs", func(a *Association, r *reader, v string) { a.MaxJobs = int(r.number(v)) }},
	{"MaxSubmit", func(a *Association, r *reader, v string) { a.MaxSubmit = int(r.number(v)) }},
	{"MaxWall", func(a *Association, r *reader, v string) { a.MaxWall = parsed(r, ParseDuration, v) }},
	{"MaxTRES", func(a *Association, r *reader, v string) { a.MaxTRES = parsed(r, ParseTRES, v) }},
	{"GrpJobs", func(a *Association, r *reader, v string) { a.GrpJobs = int(r.number(v)) }},
	{"GrpSubmit", func(a *Association, r *reader, v string) { a.GrpSubmit = int(r.number(v)) }},
	{"GrpTRES", func(a *Association, r *reader, v string) { a.GrpTRES = parsed(r, ParseTRES, v) }},
}

// Associations returns the associations of a user.
func (c *Client) Associations(ctx context.Context, user string) ([]Association, error) {
	names := make([]string, len(associationFields))
	for i, f := range associationFields {
		names[i] = f.name
	}
	rows, err := c.sacctmgrTable(ctx, names, "associations", "where", "user="+user)
	if err != nil {
		return nil, err
	}
	all := make([]Association, 0, len(rows))
	for _, row := range rows {
		var a Association
		var r reader
		for i, f := range associationFields {
			f.set(&a, &r, row[i])
		}
		if r.err != nil {
			return nil, garbled(Sacctmgr, "the answer does not describe associations: "+r.err.Error())
		}
		all = append(all, a)
	}
	return all, nil
}

// DefaultAccount returns the account that a user's jobs get if they name none;
// "" if there is none.
func (c *Client) DefaultAccount(ctx context.Context, user string) (string, error) {
	rows, err := c.sacctmgrTable(ctx, []string{"User", "DefaultAccount"}, "user", "where", "name="+user)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0][1], nil
}

var qosFields = []struct {
	name string
	set  func(*QOS, *reader, string)
}{
	{"Name", func(q *QOS, _ *reader, v string) { q.Name = v }},
	{"Priority", func(q *QOS, r *reader, v string) { q.Priority = int(r.number(v)) }},
	{"Flags", func(q *QOS, _ *reader, v string) { q.Flags = listOf(v) }},
	{"PreemptMode", func(q *QOS, _ *reader, v string) { q.PreemptMode = v }},
	{"Preempt", func(q *QOS, _ *reader, v string) { q.Preempts = listOf(v) }},
	{"GraceTime", func(q *QOS, r *reader, v string) { q.GraceTime = parsed(r, ParseDuration, v) }},
	{"MaxWall", func(q *QOS, r *reader, v string) { q.MaxWall = parsed(r, ParseDuration, v) }},
	{"MaxJobsPU", func(q *QOS, r *reader, v string) { q.MaxJobsPerUser = int(r.number(v)) }},
	{"MaxSubmitPU", func(q *QOS, r *reader, v string) { q.MaxSubmitPerUser = int(r.number(v)) }},
	{"MaxSubmitPA", func(q *QOS, r *reader, v string) { q.MaxSubmitPerAcct = int(r.number(v)) }},
	{"MaxTRES", func(q *QOS, r *reader, v string) { q.MaxTRESPerJob = parsed(r, ParseTRES, v) }},
	{"MaxTRESPU", func(q *QOS, r *reader, v string) { q.MaxTRESPerUser = parsed(r, ParseTRES, v) }},
	{"GrpJobs", func(q *QOS, r *reader, v string) { q.GrpJobs = int(r.number(v)) }},
	{"GrpSubmit", func(q *QOS, r *reader, v string) { q.GrpSubmit = int(r.number(v)) }},
	{"GrpTRES", func(q *QOS, r *reader, v string) { q.GrpTRES = parsed(r, ParseTRES, v) }},
	{"MinTRES", func(q *QOS, r *reader, v string) { q.MinTRES = parsed(r, ParseTRES, v) }},
}

// QOS returns all qualities of service.
func (c *Client) QOS(ctx context.Context) ([]QOS, error) {
	names := make([]string, len(qosFields))
	for i, f := range qosFields {
		names[i] = f.name
	}
	rows, err := c.sacctmgrTable(ctx, names, "qos")
	if err != nil {
		return nil, err
	}
	all := make([]QOS, 0, len(rows))
	for _, row := range rows {
		var q QOS
		var r reader
		for i, f := range qosFields {
			f.set(&q, &r, row[i])
		}
		if r.err != nil {
			return nil, garbled(Sacctmgr, "the answer does not describe QOS: "+r.err.Error())
		}
		all = append(all, q)
	}
	return all, nil
}
