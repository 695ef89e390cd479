package slurm

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestEstimate: what is no usable time is an error whose class says why.
func TestEstimate(t *testing.T) {
	now := time.Unix(1_795_000_000, 0)
	at := func(start string) Output {
		return Output{Stderr: []byte("sbatch: Job 42 to start at " + start + " using 1 processors on nodes n1 in partition debug\n")}
	}
	seconds := func(d time.Duration) string { return fmt.Sprint(now.Add(d).Unix()) }
	failed := func(text string) Output { return Output{Stderr: []byte(text + "\n"), ExitCode: 1} }
	for name, c := range map[string]struct {
		out   Output
		err   error
		start time.Duration // from now, if there is no error
		class Class
		code  string
	}{
		"later":               {out: at(seconds(time.Hour)), start: time.Hour},
		"now":                 {out: at(seconds(0))},
		"clocks differ":       {out: at(seconds(-time.Minute))},
		"with a greeting":     {out: Output{Stderr: []byte("Welcome to hpc\nsbatch: Job 42 to start at " + seconds(time.Hour) + " using 1 processors\n")}, start: time.Hour},
		"local time":          {out: at(now.Add(time.Hour).Local().Format("2006-01-02T15:04:05")), start: time.Hour},
		"has passed":          {out: at(seconds(-time.Hour)), class: Unavailable, code: "absurd"},
		"1970":                {out: at("1"), class: Unavailable, code: "absurd"},
		"too far":             {out: at(seconds(10 * 365 * 24 * time.Hour)), class: Unavailable, code: "absurd"},
		"overflow":            {out: at("1099511627775"), class: Unavailable, code: "absurd"},
		"not a number":        {out: at("99999999999999999999"), class: Unavailable, code: "garbled"},
		"n/a":                 {out: at("N/A"), class: Unavailable, code: "garbled"},
		"unknown":             {out: at("Unknown"), class: Unavailable, code: "garbled"},
		"absent":              {class: Unavailable, code: "garbled"},
		"cut":                 {out: Output{Stderr: []byte("sbatch: Job 42 to start at 17")}, class: Unavailable, code: "garbled"},
		"refused":             {out: failed("allocation failure: Node count specification invalid"), class: Permanent, code: "ESLURM_INVALID_NODE_COUNT"},
		"refused by the site": {out: failed("allocation failure: Unspecified error"), class: Permanent},
		"limit":               {out: failed("allocation failure: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"), class: Limit, code: "ESLURM_ACCOUNTING_POLICY"},
		"down":                {out: failed("allocation failure: Unable to contact slurm controller (connect failure)"), class: Temporary, code: "SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR"},
		"timed out":           {err: context.DeadlineExceeded, class: Unavailable, code: "timeout"},
		"socket":              {out: failed("allocation failure: Socket timed out on send/recv operation"), class: Unavailable, code: "SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT"},
		"unknown error":       {out: failed("the moon is full"), class: Unavailable},
	} {
		s := &stub{out: c.out, err: c.err}
		start, err := New(Options{Executor: s, Now: func() time.Time { return now }}).Estimate(t.Context(), Submission{})
		if ClassOf(err) != c.class || c.class == "" && !start.Equal(now.Add(c.start)) || c.class != "" && !start.IsZero() {
			t.Errorf("%s: %v, %v (%s)", name, start, err, ClassOf(err))
		}
		if e := (*Error)(nil); errors.As(err, &e) && e.Code != c.code {
			t.Errorf("%s: %s has the code %q", name, err, e.Code)
		}
	}
}

// TestEstimateIsOptional: it is withheld when half of the budget is spent.
func TestEstimateIsOptional(t *testing.T) {
	s := &stub{out: Output{Stderr: []byte("sbatch: Job 42 to start at 1795000000 using 1 processors\n")}}
	c := New(Options{Executor: s, Budget: 2, Now: func() time.Time { return time.Unix(1_795_000_000, 0) }})
	if _, err := c.Estimate(t.Context(), Submission{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Estimate(t.Context(), Submission{}); ClassOf(err) != Withheld || len(s.commands) != 1 {
		t.Errorf("%v, %d calls", err, len(s.commands))
	}
}
