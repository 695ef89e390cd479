package workflow_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestMessageDelay(t *testing.T) {
	for n, want := range map[int64]time.Duration{-5: time.Minute, 0: time.Minute, 1: time.Minute, 2: 2 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 8: time.Hour, 1 << 62: time.Hour} {
		if got := MessageDelay(n); got != want {
			t.Errorf("after try %d: %s, want %s", n, got, want)
		}
	}
}

func TestMessageIsWritten(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).UnixMilli()
	alert := RaisedAlert{AtMS: at, Alert: Alert{Kind: AlertDeadline, Subject: "the deadline has passed", Text: "3 wait.\nNothing more\x1b[2J is started."}}
	for _, tc := range []struct {
		name    string
		m       Message
		subject string
		text    string
	}{
		{"one", Message{WorkflowID: 7, WorkflowName: "sim", Alerts: []RaisedAlert{alert}, AlertCount: 1}, "torc-slurm: workflow 7 sim: the deadline has passed",
			"2026-03-04T05:06:07Z deadline: the deadline has passed\n  3 wait.\n  Nothing more [2J is started.\n\ntorc-slurm why -w 7\n"},
		{"the first of several", Message{WorkflowID: 7, WorkflowName: "sim\nBcc: x", Alerts: []RaisedAlert{alert}, AlertCount: 3}, "torc-slurm: workflow 7 sim Bcc: x: 3 alerts, first: the deadline has passed",
			"2026-03-04T05:06:07Z deadline: the deadline has passed\n  3 wait.\n  Nothing more [2J is started.\n\nAnd 2 more alerts.\n\ntorc-slurm why -w 7\n"},
	} {
		if tc.m.Write(); tc.m.Subject != tc.subject || tc.m.Text != tc.text {
			t.Errorf("%s: %q\n%q", tc.name, tc.m.Subject, tc.m.Text)
		}
	}
}

// TestMessageSubjectIsOneLine: whatever jobs and workflows are called, the subject
// is one line of bounded length, as a header of a mail must be.
func TestMessageSubjectIsOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		subject := rapid.String().Draw(t, "subject")
		m := Message{WorkflowName: rapid.String().Draw(t, "name") + strings.Repeat("x", rapid.IntRange(0, 300).Draw(t, "longer")), AlertCount: 1, Alerts: []RaisedAlert{{Alert: Alert{Subject: subject}}}}
		m.Write()
		if len(m.Subject) > 200 || strings.ContainsAny(m.Subject, "\r\n\x00\x1b") || !strings.HasPrefix(m.Subject, "torc-slurm: ") {
			t.Fatalf("%q", m.Subject)
		}
	})
}
