package cli

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	yes, no := true, false
	size, seven := int64(3<<30), int64(7)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	start, later, odd := "2026-03-01T11:58:30Z", "2026-03-01T12:30:00Z", "yesterday"
	for _, tt := range []struct{ name, got, want string }{
		{"Joined", Joined([]int64{3, 1, 2}), "3, 1, 2"},
		{"Joined nothing", Joined([]string(nil)), ""},
		{"EnvironmentText", EnvironmentText(map[string]string{"B": "2", "A": "x y"}), "A=x y, B=2"},
		{"EnvironmentText of none", EnvironmentText(nil), ""},
		{"JoinedLines", JoinedLines([]string{"a.", "b."}), "a.\nb."},
		{"FirstOf", FirstOf("", "b", "c"), "b"},
		{"FirstOf nothing", FirstOf("", ""), ""},
		{"FirstNames of five", FirstNames([]string{"a", "b", "c", "d", "e"}), "a, b, c, d, e"},
		{"FirstNames of seven", FirstNames([]string{"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more"},
		{"OrEmpty", OrEmpty(&seven), "7"},
		{"OrEmpty of nil", OrEmpty[int64](nil), ""},
		{"OrDefault", OrDefault("", "x"), "x"},
		{"OrDefault of a value", OrDefault("v", "x"), "v"},
		{"YesNo", YesNo(&yes) + YesNo(&no) + YesNo(nil), "yesnono"},
		{"ClockTime of seconds", ClockTime(7 * time.Second), "0:07"},
		{"ClockTime of minutes", ClockTime(12*time.Minute + 34*time.Second + 999*time.Millisecond), "12:34"},
		{"ClockTime below an hour", ClockTime(time.Hour - time.Second), "59:59"},
		{"ClockTime of days", ClockTime(49*time.Hour + 5*time.Second), "49:00:05"},
		{"ClockTime of the past", ClockTime(-time.Minute), "0:00"},
		{"ShortTime", ShortTime(1240 * time.Millisecond), "1.2 s"},
		{"ShortTime of ten seconds", ShortTime(10 * time.Second), "0:10"},
		{"BytesText", BytesText(&size), "3.00 GiB"},
		{"BytesText of nil", BytesText(nil), ""},
		{"PercentText", PercentText(99.95), "100.0%"},
		{"ElapsedSince", ElapsedSince(&start, now), "1m30s"},
		{"ElapsedSince what is to come", ElapsedSince(&later, now), "0.0s"},
		{"ElapsedSince of nil", ElapsedSince(nil, now), ""},
		{"ElapsedSince of no time", ElapsedSince(&odd, now), ""},
		{"LocalTime of none", LocalTime(0), ""},
		{"LocalTime", LocalTime(now.UnixMilli()), now.Local().Format("2006-01-02 15:04:05")},
		{"JSONText", JSONText([]byte(`{"a":1}`)) + JSONText([]byte("null")), `{"a":1}`},
		{"PathIn", PathIn("/w", "in/x") + " " + PathIn("/w", "/x"), "/w/in/x /x"},
		{"Minutes", Minutes(1.5).String() + " " + Seconds(0.25).String(), "1m30s 250ms"},
		{"FirstArg", FirstArg([]string{"a", "b"}) + FirstArg(nil), "a"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if OrZero(nil) != 0 || OrZero(&seven) != 7 || IsSet(nil) || IsSet(&no) || !IsSet(&yes) || NotNil[int](nil) == nil {
		t.Error("an optional value is read wrongly")
	}
}

func TestQuoteWords(t *testing.T) {
	for _, tt := range []struct {
		words  []string
		want   string
		status int
	}{
		{[]string{"echo", "two words"}, "echo 'two words'", 0},
		{[]string{"echo", "it's", ""}, `echo "it's" ''`, 0},
		{[]string{"run", "{i}"}, "run '{i}'", 0},
		{[]string{"echo", "$HOME;rm"}, "echo '$HOME;rm'", 0},
		{[]string{"a\x00b"}, "", ExitUsage},
	} {
		got, err := QuoteWords(tt.words)
		if got != tt.want || ExitStatus(err) != tt.status {
			t.Errorf("%q: %q, %v; want %q with status %d", tt.words, got, err, tt.want, tt.status)
		}
	}
	if got := ShellWord("a\x00b"); got != "a\x00b" {
		t.Errorf("a word that cannot be quoted becomes %q", got)
	}
}

func TestCheckJSON(t *testing.T) {
	for text, ok := range map[string]bool{"": true, `{"a": 1}`: true, "3": true, `"x"`: true, "x": false, "{": false} {
		if err := CheckJSON("data", text); (err == nil) != ok || !ok && ExitStatus(err) != ExitUsage {
			t.Errorf("%q: %v", text, err)
		}
	}
	const want = `--data is not JSON: note (a text is written with its quotes: '"note"')`
	if err := CheckJSON("data", "note"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for text, want := range map[string]bool{`{}`: true, `{"a":[]}`: true, `[]`: false, `null`: false, `"x"`: false, "": false} {
		if got := IsObject(text); got != want {
			t.Errorf("%q is an object: %v", text, got)
		}
	}
}

func TestParseIDs(t *testing.T) {
	for _, tt := range []struct {
		texts []string
		want  string
		err   string
	}{
		{[]string{"3", "3", "1"}, "3, 3, 1", ""},
		{nil, "", ""},
		{[]string{"1", "0"}, "", `"0" is not the id of a job: ids are numbers from 1`},
		{[]string{"1,2"}, "", `"1,2" is not the id of a job: ids are numbers from 1`},
		{[]string{"9223372036854775808"}, "", `"9223372036854775808" is not the id of a job: ids are numbers from 1`},
	} {
		ids, err := ParseIDs("job", tt.texts)
		if tt.err != "" {
			if ExitStatus(err) != ExitUsage || err.Error() != tt.err {
				t.Errorf("%q: %v, want %s", tt.texts, err, tt.err)
			}
			continue
		}
		if got := Joined(ids); err != nil || got != tt.want {
			t.Errorf("%q: %s, %v; want %s", tt.texts, got, err, tt.want)
		}
	}
	if id, err := SomeWorkflow(nil); id != 0 || err != nil {
		t.Errorf("all workflows: %d, %v", id, err)
	}
	if id, err := SomeWorkflow([]string{"12"}); id != 12 || err != nil {
		t.Errorf("one workflow: %d, %v", id, err)
	}
	if id, err := ParseID("job", "9223372036854775807"); id != math.MaxInt64 || err != nil {
		t.Errorf("the largest id: %d, %v", id, err)
	}
}

func TestWriteFields(t *testing.T) {
	var b strings.Builder
	WriteFields(&b, Field{"ID", "7"}, Field{"A long name without a value", ""}, Field{"Command", "echo a\necho \x1b[31mb\n"}, Field{"State", "x"})
	const want = `ID:       7
Command:  echo a
          echo ·[31mb
State:    x
`
	if b.String() != want {
		t.Errorf("wrote:\n%swant:\n%s", &b, want)
	}
}
