package hold

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestNormalizeLine(t *testing.T) {
	for line, want := range map[string]string{
		"": "",
		"2026-11-21 10:00:03,123 ERROR worker 7 died":                 "<time> ERROR worker <n> died",
		"2026-11-21T10:00:03.5Z: lost connection":                     "<time>: lost connection",
		"Nov 21 10:00:03 node17 slurmd[991]: killed":                  "<time> node<n> slurmd[<n>]: killed",
		"after 1:02:03 of work":                                       "after <time> of work",
		`  File "/scratch/u1/run_17/train.py", line 42, in <module>`:  `File "<path>", line <n>, in <module>`,
		"cat: ../in/part-3.csv: No such file or directory":            "cat: <path>: No such file or directory",
		"open(~/x)=/dev/shm/a,/tmp/b c":                               "open(<path>)=<path> c",
		"read failed: Input/output error":                             "read failed: Input/output error",
		"GET https://host.example/v1/things/9: 503":                   "GET https://host.example/v<n>/things/<n>: <n>",
		"segfault at 0x7FfeA0 ip 00007f3a2c":                          "segfault at <hex> ip <hex>",
		"task 0f8fad5b-d9cd-469f-a165-70867728950e of commit 9ae3c1f": "task <hex> of commit <hex>",
		"the facade is defaced":                                       "the facade is defaced",
		"needs 1234567890 bytes, 1.5e9 too many":                      "needs <n> bytes, <n> too many",
		"\x1b[31mloss\x1b[0m  is\tnan at step 10":                     "loss is nan at step <n>",
	} {
		if got := normalizeLine(line); got != want {
			t.Errorf("%q:\n got %q\nwant %q", line, got, want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	exit := workflow.Cause{Kind: workflow.CauseExit, ReturnCode: 1}
	of := func(c workflow.Cause, category, stderr string) string {
		return NewHeldJob(1, 1, "j", workflow.Hold{}, c, workflow.Evidence{Category: category, StderrTail: stderr}).Fingerprint
	}
	base := of(exit, "", "begin\na 1\nb 2\nc 3\n")
	for _, tt := range []struct {
		name string
		got  string
		same bool
	}{
		{"other numbers", of(exit, "", "begin\na 7\nb 8\nc 9\n"), true},
		{"blank lines, no newline", of(exit, "", "a 7\n\nb 8\n \nc 9"), true},
		{"another first line", of(exit, "", "start\na 1\nb 2\nc 3\n"), true},
		{"another last line", of(exit, "", "begin\na 1\nb 2\nd 3\n"), false},
		{"another cause", of(workflow.Cause{Kind: workflow.CauseTimeout, ReturnCode: 1}, "", "begin\na 1\nb 2\nc 3\n"), false},
		{"another return code", of(workflow.Cause{Kind: workflow.CauseExit, ReturnCode: 2}, "", "begin\na 1\nb 2\nc 3\n"), false},
		{"another category", of(exit, "gpu", "begin\na 1\nb 2\nc 3\n"), false},
		{"nothing said", of(exit, "", ""), false},
		{"not UTF-8", of(exit, "", "a 1\nb 2\nc \xff\n"), false},
	} {
		if (tt.got == base) != tt.same {
			t.Errorf("%s: %s, base %s", tt.name, tt.got, base)
		}
	}
	message := NewHeldJob(1, 1, "j", workflow.Hold{}, exit, workflow.Evidence{TerminationMessage: "a 1\nb 2\nc 3", StderrTail: "\n"})
	if message.Fingerprint != base {
		t.Error("the message does not stand for a stderr that is empty")
	}
}
