package run

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/argument"
	"github.com/torc-slurm/torc-slurm/runner/output"
)

// shown is a printer whose output is kept, and files for it.
type shown struct {
	*testing.T
	*printer
	dir     string
	out     bytes.Buffer
	cleared int
}

func newShown(t *testing.T, order outputOrder) *shown {
	t.Helper()
	s := &shown{T: t, dir: t.TempDir()}
	s.printer = &printer{order: order, out: cli.OutputOfJobs(&s.out, false), errOut: cli.OutputOfJobs(io.Discard, false), next: 1, ended: map[int]output.Files{}, tails: map[int]*tail{}, clear: func() { s.cleared++ }}
	return s
}

// write adds to the output of a job.
func (s *shown) write(name, text string) output.Files {
	s.Helper()
	path := filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	s.must(err)
	_, err = f.WriteString(text)
	s.must(err)
	s.must(f.Close())
	return output.Files{Stdout: path}
}

func (s *shown) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// want checks what was written since the last call.
func (s *shown) want(text string) {
	s.Helper()
	if diff := cmp.Diff(text, s.out.String()); diff != "" {
		s.Errorf("-want +got:\n%s", diff)
	}
	s.out.Reset()
}

func TestOutputByNumber(t *testing.T) {
	s := newShown(t, byNumber)
	s.must(s.take(&ended{seq: 3, attempt: s.write("3", "three\n")}))
	s.must(s.take(&ended{seq: 2, attempt: s.write("2", "two\n")}))
	s.must(s.printer.watch(false))
	s.want("")
	s.must(s.take(&ended{seq: 1, attempt: s.write("1", "one\n")}))
	s.want("one\ntwo\nthree\n")
	// Job 4 never ends: at the end the others are shown nevertheless.
	s.must(s.take(&ended{seq: 6, attempt: s.write("6", "six")}))
	s.must(s.take(&ended{seq: 5, attempt: s.write("5", "five\n")}))
	s.must(s.take(&ended{seq: 7, attempt: output.Files{Stdout: filepath.Join(s.dir, "never written")}}))
	s.must(s.printer.watch(true))
	s.want("five\nsix")
	if s.cleared == 0 {
		t.Error("no room was made on the terminal")
	}
}

func TestOutputByEnd(t *testing.T) {
	s := newShown(t, byEnd)
	s.tag = func(int) string { return "tag" }
	s.must(s.take(&ended{seq: 2, attempt: s.write("2", "a\nb")}))
	s.must(s.take(&ended{seq: 1, attempt: s.write("1", "c\n")}))
	s.want("tag\ta\ntag\tb\ntag\tc\n")
	// A tag stands once before a line that is longer than what is read at a time.
	long := strings.Repeat("x", 200_000) + "\n"
	s.must(s.take(&ended{seq: 3, attempt: s.write("3", long)}))
	s.want("tag\t" + long)
}

func TestOutputByLine(t *testing.T) {
	s := newShown(t, byLine)
	one, two := s.write("1", "a1\na2"), s.write("2", "")
	s.began(1, one)
	s.began(2, two)
	s.must(s.printer.watch(false))
	s.want("a1\n")
	s.write("1", " more\n")
	s.write("2", "b1\nb2")
	s.must(s.printer.watch(false))
	s.want("a2 more\nb1\n")
	s.must(s.take(&ended{seq: 2, attempt: two}))
	s.want("b2")
	// What another attempt writes follows what is left of the one before.
	s.write("1", "end")
	s.began(1, s.write("1 again", "again"))
	s.must(s.printer.watch(true))
	s.want("endagain")
}

func TestHalt(t *testing.T) {
	for text, want := range map[string]*halt{
		"never": nil, "": nil, "now,fail=1": {now: true, fail: 1}, "soon,fail=3": {fail: 3}, "soon,fail=10%": {fail: 3}, "now,fail=1%": {now: true, fail: 1},
	} {
		h, err := parseHalt(text, 25)
		if err != nil || (h == nil) != (want == nil) || h != nil && (h.now != want.now || h.fail != want.fail) {
			t.Errorf("%s: %+v %v, want %+v", text, h, err, want)
		}
	}
	for _, text := range []string{"now", "now,success=1", "later,fail=1", "now,fail=0", "now,fail=x", "now,fail=-1", "soon,fail=101%"} {
		if h, err := parseHalt(text, 25); err == nil {
			t.Errorf("%s: %+v", text, h)
		}
	}
	h, _ := parseHalt("now,fail=2", 25)
	stopped := 0
	h.stop = func() { stopped++ }
	for _, failed := range []bool{true, false, true, true} {
		h.count(failed)
	}
	if stopped != 1 {
		t.Errorf("stopped %d times", stopped)
	}
}

func TestResultFolders(t *testing.T) {
	r := &results{dir: "d", in: &execInput{commands: []string{"a", "b", "c"}, rows: []argument.Row{{"x/y", "1"}, {"..", `a\b`}, {strings.Repeat("n", 300)}}}}
	for i, want := range []string{`d/1/x\_y/2/1`, `d/1/\../2/a\\b`, "d/1/" + strings.Repeat("n", 255)} {
		if got := r.folder(i + 1); got != want {
			t.Errorf("folder %s, want %s", got, want)
		}
	}
	r.in.rows = nil
	if got := r.folder(2); got != "d/2" {
		t.Error(got)
	}
}
