package hold

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func exitWith(code int64, lines ...string) AlikeFailure {
	return NewAlikeFailure(workflow.Cause{Kind: workflow.CauseExit, ReturnCode: code}, workflow.Evidence{StderrTail: strings.Join(lines, "\n")})
}

func verdictOn(f AlikeFailure, action workflow.Action, jobs, succeeded, failed int64) EarlierVerdict {
	return EarlierVerdict{AlikeFailure: f, State: Decided, Action: action, Author: "ann", Jobs: jobs, Succeeded: succeeded, Failed: failed, MostAttempts: min(succeeded, 1)}
}

func TestSuggest(t *testing.T) {
	nccl := exitWith(1, "epoch 3", "RuntimeError: NCCL timeout after 1800 seconds on rank 3", "exiting")
	syntax := exitWith(1, "SyntaxError: invalid syntax")
	mixed := exitWith(1, "FileNotFoundError: /scratch/a.csv")
	bare, rare, bigger := exitWith(1, ""), exitWith(1, "rare error"), exitWith(7, "error: too small")
	more := verdictOn(bigger, workflow.ActionRetry, 5, 5, 0)
	more.Memory = "16g"
	expired := verdictOn(rare, workflow.ActionFail, 50, 0, 0)
	expired.Author = AuthorDeadline
	rejected := verdictOn(rare, workflow.ActionRetry, 50, 50, 0)
	rejected.State = Rejected
	s := Suggest([]EarlierVerdict{
		verdictOn(nccl, workflow.ActionRetry, 4, 4, 0), verdictOn(nccl, workflow.ActionRetry, 2, 2, 0), verdictOn(syntax, workflow.ActionFail, 5, 0, 0),
		verdictOn(mixed, workflow.ActionRetry, 4, 2, 2), verdictOn(bare, workflow.ActionRetry, 7, 7, 0), verdictOn(rare, workflow.ActionRetry, 2, 2, 0), more, expired, rejected,
	}, 3)
	var got []string
	for _, r := range s.Rules {
		line := r.Because
		if r.Rule != nil {
			line = fmt.Sprintf("%s %s: %s", r.Rule.Action, r.Rule.When.Stderr, r.Because)
		}
		got = append(got, line)
	}
	want := []string{
		"7 of 7 retries succeeded: exit code 1 (no rule: nothing tells such failures from others)",
		`retry RuntimeError:\s+NCCL\s+timeout\s+after\s+\S+\s+seconds\s+on\s+rank\s+\S+: 6 of 6 retries succeeded: exit code 1: exiting`,
		`fail SyntaxError:\s+invalid\s+syntax: 5 jobs were given up: exit code 1: SyntaxError: invalid syntax`,
		"5 of 5 retries succeeded: exit code 7: error: too small (no rule: most of the retries got other requirements: memory 16g)",
		"2 of 4 retries succeeded: exit code 1: FileNotFoundError: <path> (no rule: such failures end in different ways)",
		"2 of 2 retries succeeded: exit code 1: rare error (no rule: fewer than 3 jobs with a known outcome)",
	}
	less := cmp.Transformer("sorted", func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, text := range list {
			set[text] = true
		}
		return set
	})
	if diff := cmp.Diff(want, got, less); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if problems := s.Policy.Validate(); len(problems) > 0 || len(s.Policy.Rules) != 2 || *s.Policy.Rules[0].Limit != 1 {
		t.Errorf("%+v: %v", s.Policy, problems)
	}
	// The rules match the failures that they come from, and no others.
	failure := func(line string) *workflow.Failure {
		return &workflow.Failure{Cause: workflow.Cause{Kind: workflow.CauseExit, ReturnCode: 1}, Evidence: workflow.Evidence{StderrTail: line}}
	}
	for line, action := range map[string]workflow.Action{
		"x\nRuntimeError: NCCL timeout after 90 seconds on rank 12\nexiting": workflow.ActionRetry, "SyntaxError: invalid syntax": workflow.ActionFail, "other": "",
	} {
		var does workflow.Action
		if r := s.Policy.FirstMatch(failure(line), 1); r != nil {
			does = r.Action
		}
		if does != action {
			t.Errorf("%q: %q, want %q", line, does, action)
		}
	}
}

// TestLinePattern: the pattern of a line matches it.
func TestLinePattern(t *testing.T) {
	piece := rapid.SampledFrom([]string{"error", " ", "  ", "12", "3.5e7", "0xdeadbeef", "/a/b.c", "2026-11-24T10:00:00Z", "10:11:12", "(", "[x]", "*", "é", "deadbeef01", "=", ":", "<n>", "<pa"})
	rapid.Check(t, func(t *rapid.T) {
		line := strings.TrimSpace(strings.Join(rapid.SliceOfN(piece, 1, 80).Draw(t, "line"), ""))
		pattern := linePattern(workflow.ShortLine(normalizeLine(line)))
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if !re.MatchString(line) {
			t.Errorf("%q does not match %q", pattern, line)
		}
	})
}

func TestOutcomeText(t *testing.T) {
	for want, v := range map[string]EarlierVerdict{
		"":                           {State: Decided, Action: workflow.ActionRetry, Jobs: 1},
		"succeeded":                  {State: Decided, Action: workflow.ActionRetry, Jobs: 1, Succeeded: 1, MostAttempts: 1},
		"succeeded after 3 attempts": {State: Decided, Action: workflow.ActionRetry, Jobs: 1, Succeeded: 1, MostAttempts: 3},
		"failed again":               {State: Decided, Action: workflow.ActionRetry, Jobs: 1, Failed: 1},
		"canceled":                   {State: Decided, Action: workflow.ActionRetry, Jobs: 1, Canceled: 1},
		"3 of 5 retries succeeded, 1 not known, after up to 2 attempts": {State: Decided, Action: workflow.ActionRetry, Jobs: 5, Succeeded: 3, Failed: 1, MostAttempts: 2},
	} {
		if got := v.OutcomeText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
