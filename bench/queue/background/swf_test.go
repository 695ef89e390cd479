package background

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseRecord(t *testing.T) {
	const good = "1 100 5 3600 4 -1 -1 8 7200 -1 1 3 1 -1 1 -1 -1 -1"
	for _, tc := range []struct {
		line, want string
	}{
		{good, "{100 3600 4 7200 3} true"},
		{"  " + good + "\r\n", "{100 3600 4 7200 3} true"},
		{"1 100 5 3600 -1 -1 -1 8 7200 -1 1 3 1 -1 1 -1 -1 -1", "{100 3600 8 7200 3} true"},
		{"1 100 5 0 4 -1 -1 8 7200 -1 0 3 1 -1 1 -1 -1 -1", "{100 0 4 7200 3} false"}, // never ran
		{"; Version: 2.2", "{0 0 0 0 0} false"},
		{"", "{0 0 0 0 0} false"},
		{"1 100 5", "has 3 fields"},
		{good + " 7", "has 19 fields"},
		{strings.Replace(good, "3600", "long", 1), `field 4 is "long"`},
		{strings.Replace(good, "3600", "NaN", 1), `field 4 is "NaN"`},
		{strings.Replace(good, "3600", "1e300", 1), `field 4 is "1e300"`},
		{strings.Replace(good, "3600", "-5", 1), `field 4 is "-5"`},
		{strings.Replace(good, "1 100", "1 -1", 1), "when the job was submitted is not known"},
	} {
		r, ok, err := ParseRecord(tc.line)
		if got := fmt.Sprint(r, ok); got != tc.want && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%q: %s, %v; want %s", tc.line, got, err, tc.want)
		}
	}
}

// writeLog writes a log of some jobs, with other lines between them.
func writeLog(t *testing.T, jobs int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("; a log\n\n")
	for i := range jobs {
		fmt.Fprintf(&b, "%d %d 0 %d %d -1 -1 -1 7200 -1 1 %d 1 -1 1 -1 -1 -1\n", i+1, 1000+60*i, 600+i%7, 1+i%200, i%5)
		if i == 2 {
			b.WriteString("what is this\n")
		}
	}
	path := filepath.Join(t.TempDir(), "log.swf")
	if err := os.WriteFile(path, []byte(strings.TrimSuffix(b.String(), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplay(t *testing.T) {
	const jobs = chunk + 100
	path := writeLog(t, jobs)
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if bad := log.Bad(); len(bad) != 1 || bad[0] != path+":6: has 3 fields, a line has 18" {
		t.Errorf("bad lines: %q", bad)
	}
	r := log.Replay(Settings{Sizes: wholeNodes(100), CPUs: 100, Load: 0.8, Users: 3, MostLimit: 604})
	var clone *Replay
	work, last := 0.0, int64(0)
	for i := range 2 * jobs { // the log begins again after its end
		a, ok := r.Next()
		if !ok || a.At < last || a.Nodes < 1 || a.Nodes > 100 || a.Runtime > 604 || a.Limit != 604 || a.User < 1 || a.User > 3 {
			t.Fatalf("job %d: %+v, %v", i, a, ok)
		}
		if clone != nil {
			if b, _ := clone.Next(); b.At != a.At || b.Nodes != a.Nodes || b.Runtime != a.Runtime {
				t.Fatalf("job %d: %+v, the clone has %+v", i, a, b)
			}
		}
		if i == jobs-50 {
			clone = r.Clone().(*Replay)
		}
		last = a.At
		work += float64(a.Runtime * a.Nodes)
	}
	near(t, "load", work/float64(last*100), 0.8, 0.02)
}

func TestOpenLogFails(t *testing.T) {
	if _, err := OpenLog(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file was opened")
	}
	path := filepath.Join(t.TempDir(), "bad.swf")
	if err := os.WriteFile(path, []byte(strings.Repeat("nothing\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(path); err == nil || !strings.Contains(err.Error(), "has no jobs") {
		t.Errorf("%v", err)
	}
}
