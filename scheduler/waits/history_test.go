package waits

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/internal/tinydisk"
	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.UnixMilli(1_795_000_000_000)

// warnings counts what is logged.
type warnings struct {
	slog.Handler
	mu    sync.Mutex
	texts []string
}

func (w *warnings) Enabled(context.Context, slog.Level) bool { return true }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	w.texts = append(w.texts, text)
	return nil
}

// open opens a history at noon; its warnings are kept.
func open(path string) (*History, *warnings) {
	w := &warnings{}
	return Open(path, "here", Options{Log: slog.New(w), Now: func() time.Time { return noon }}), w
}

// newFile is a path in a folder that only we can write to.
func newFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state", "waits-hpc.jsonl")
}

// past is a wait of some minutes; n makes it differ from others.
func past(n int) forecast.Past {
	return forecast.Past{
		Partition: "debug", QOS: "normal", Account: "research", Nodes: 2, CPUs: 8, GPUs: 1, Walltime: time.Hour,
		Asked: noon.Add(-24*time.Hour + time.Duration(n)*time.Second), Waited: 5*time.Minute + time.Duration(n)*time.Millisecond, Free: n%2 == 0,
	}
}

func key(n int) Key { return Key{JobID: int64(1000 + n)} }

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lineOf returns a line of a file.
func lineOf(n int, change func(*record)) string {
	p := past(n)
	r := recordOf(key(n), &p)
	if change != nil {
		change(&r)
	}
	return string(r.line())
}

func heading() string { return string(headerLine("here")) }

// TestKept: what is added is there when the file is opened again, each field of it.
func TestKept(t *testing.T) {
	path := newFile(t)
	h, w := open(path)
	if got := h.List(noon); len(got) != 0 {
		t.Errorf("new: %v", got)
	}
	notStarted := past(1)
	notStarted.NotStarted = true
	want := []forecast.Past{past(0), notStarted, past(2)}
	for _, n := range []int{2, 0, 1} {
		h.Add(key(n), want[n])
	}
	again, w2 := open(path)
	for name, h := range map[string]*History{"the same": h, "opened again": again} {
		if diff := cmp.Diff(want, h.List(noon)); diff != "" || h.Skipped(noon) != 0 || h.Reason() != "" {
			t.Errorf("%s: %d skipped, %s (-want +got):\n%s", name, h.Skipped(noon), h.Reason(), diff)
		}
	}
	if len(w.texts)+len(w2.texts) > 0 {
		t.Errorf("warnings: %q %q", w.texts, w2.texts)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestDuplicates: a wait counts once, however often and by whom it is added.
func TestDuplicates(t *testing.T) {
	path := newFile(t)
	a, _ := open(path)
	b, _ := open(path)
	a.Add(key(1), past(1))
	a.Add(key(1), past(1))
	b.Add(key(1), past(1)) // it has not read the file since
	if text := read(t, path); text != heading()+lineOf(1, nil) {
		t.Errorf("in the file: %s", text)
	}
	// These are other waits: of a restart, of another cluster, and of a job that got the id
	// anew.
	a.Add(Key{JobID: 1001, Restart: 1}, past(1))
	a.Add(Key{JobID: 1001, Cluster: "c2"}, past(1))
	a.Add(key(1), past(7))
	for name, h := range map[string]*History{"a": a, "b": b} {
		if got := h.List(noon); len(got) != 4 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStartReplaces: a job that was changed while it was pending has started later.
func TestStartReplaces(t *testing.T) {
	path := newFile(t)
	h, _ := open(path)
	changed, started := past(1), past(1)
	changed.NotStarted, started.Waited = true, time.Hour
	h.Add(key(1), changed)
	h.Add(key(1), started)
	h.Add(key(1), changed)
	again, _ := open(path)
	for name, h := range map[string]*History{"the same": h, "opened again": again} {
		if diff := cmp.Diff([]forecast.Past{started}, h.List(noon)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDaemons: several daemons add at the same time, and none of it is lost.
func TestDaemons(t *testing.T) {
	const daemons, each = 4, 25
	path := newFile(t)
	var all sync.WaitGroup
	for d := range daemons {
		all.Go(func() {
			h, w := open(path)
			for n := range each {
				h.Add(key(d*each+n), past(d*each+n))
			}
			if len(w.texts) > 0 {
				t.Errorf("warnings: %q", w.texts)
			}
		})
	}
	all.Wait()
	h, _ := open(path)
	if got := h.List(noon); len(got) != daemons*each || h.Skipped(noon) != 0 {
		t.Errorf("%d waits, %d skipped", len(got), h.Skipped(noon))
	}
	if n := strings.Count(read(t, path), "\n"); n != 1+daemons*each {
		t.Errorf("%d lines", n)
	}
}

// TestLines: lines that cannot be used are skipped and counted; the others count.
func TestLines(t *testing.T) {
	bad := map[string]string{
		"corrupt":            "{\"v\":1,\"job\":\n",
		"binary":             "\x00\xff\x00\n",
		"not a record":       "[1,2]\n",
		"a number too large": "{\"v\":1,\"job\":99999999999999999999}\n",
		"long":               lineOf(1, func(r *record) { r.Partition = strings.Repeat("x", maxLine) }),
		"truncated":          lineOf(1, nil)[:60],
		"unknown version":    lineOf(1, func(r *record) { r.Version = 2 }),
		"no version":         lineOf(1, func(r *record) { r.Version = 0 }),
		"no job":             lineOf(1, func(r *record) { r.JobID = 0 }),
		"negative job":       lineOf(1, func(r *record) { r.JobID = -1 }),
		"negative restart":   lineOf(1, func(r *record) { r.Restart = -1 }),
		"negative wait":      lineOf(1, func(r *record) { r.WaitedMS = -1 }),
		"wait of years":      lineOf(1, func(r *record) { r.WaitedMS = 3 * 365 * 24 * 3600_000 }),
		"largest wait":       lineOf(1, func(r *record) { r.WaitedMS = 1<<63 - 1 }),
		"no nodes":           lineOf(1, func(r *record) { r.Nodes = 0 }),
		"too many nodes":     lineOf(1, func(r *record) { r.Nodes = 1 << 40 }),
		"negative CPUs":      lineOf(1, func(r *record) { r.CPUs = -8 }),
		"negative GPUs":      lineOf(1, func(r *record) { r.GPUs = -8 }),
		"no walltime":        lineOf(1, func(r *record) { r.WalltimeMS = 0 }),
		"endless":            lineOf(1, func(r *record) { r.WalltimeMS = 1<<63 - 1 }),
		"no time":            lineOf(1, func(r *record) { r.AskedMS = 0 }),
		"before 1970":        lineOf(1, func(r *record) { r.AskedMS = -1 }),
		"year 300,000":       lineOf(1, func(r *record) { r.AskedMS = 1<<63 - 1 }),
		"old":                lineOf(1, func(r *record) { r.AskedMS = noon.Add(-MaxAge - time.Second).UnixMilli() }),
		"from the future":    lineOf(1, func(r *record) { r.AskedMS = noon.Add(time.Hour).UnixMilli() }),
		"ends in the future": lineOf(1, func(r *record) { r.WaitedMS = (48 * time.Hour).Milliseconds() }),
	}
	for name, line := range bad {
		path := newFile(t)
		write(t, path, heading()+lineOf(2, nil)+"\n"+line)
		h, w := open(path)
		if diff := cmp.Diff([]forecast.Past{past(2)}, h.List(noon)); diff != "" || h.Skipped(noon) != 1 || h.Reason() != "" || len(w.texts) > 0 {
			t.Errorf("%s: %d skipped, %q, %q (-want +got):\n%s", name, h.Skipped(noon), h.Reason(), w.texts, diff)
		}
		// What is added after it starts a line of its own.
		h.Add(key(3), past(3))
		again, _ := open(path)
		if diff := cmp.Diff([]forecast.Past{past(2), past(3)}, again.List(noon)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !strings.Contains(read(t, path), line) {
			t.Errorf("%s: the line was removed", name)
		}
	}
	path := newFile(t) // the lines above are bad by what was changed alone
	write(t, path, heading()+strings.TrimSuffix(lineOf(1, nil), "\n"))
	good, _ := open(path)
	good.Add(key(2), past(2))
	again, _ := open(path)
	if got := again.List(noon); len(got) != 2 || again.Skipped(noon) != 0 {
		t.Errorf("%v, %d skipped", got, again.Skipped(noon))
	}
}

// TestAddAbsurd: what cannot be true is not written.
func TestAddAbsurd(t *testing.T) {
	path := newFile(t)
	h, _ := open(path)
	for name, change := range map[string]func(*forecast.Past){
		"negative wait": func(p *forecast.Past) { p.Waited = -time.Second },
		"no time":       func(p *forecast.Past) { p.Asked = time.Time{} },
		"future":        func(p *forecast.Past) { p.Asked = noon.Add(time.Hour) },
		"old":           func(p *forecast.Past) { p.Asked = noon.Add(-2 * MaxAge) },
		"no walltime":   func(p *forecast.Past) { p.Walltime = 0 },
		"no nodes":      func(p *forecast.Past) { p.Nodes = 0 },
		"long name":     func(p *forecast.Past) { p.Account = strings.Repeat("x", maxName+1) },
	} {
		p := past(1)
		change(&p)
		if h.Add(key(1), p); len(h.List(noon)) != 0 {
			t.Errorf("%s: %v", name, h.List(noon))
		}
	}
	h.Add(Key{}, past(1))
	if _, err := os.Stat(path); err == nil || len(h.List(noon)) != 0 {
		t.Errorf("there is a file, %v", h.List(noon))
	}
}

// TestClock: clocks may differ a little. What is too old or from the future depends on when
// it is asked for.
func TestClock(t *testing.T) {
	h, _ := open(newFile(t))
	p := past(1)
	p.Asked, p.Waited = noon, clockTolerance
	h.Add(key(1), p)
	for at, want := range map[time.Duration]int{-time.Second: 0, 0: 1, time.Hour: 1, MaxAge: 1, MaxAge + time.Second: 0} {
		now := noon.Add(at)
		if got := h.List(now); len(got) != want || h.Skipped(now) != 1-want {
			t.Errorf("%v later: %v, %d skipped", at, got, h.Skipped(now))
		}
	}
}

// TestOtherFile: a file that is not the history of this cluster is moved aside, with a
// reason, and replaces nothing but an older one of these.
func TestOtherFile(t *testing.T) {
	for name, c := range map[string]struct{ text, reason string }{
		"another cluster":  {string(headerLine("there")) + lineOf(1, nil), "from another cluster"},
		"another version":  {"{\"version\":2,\"fingerprint\":\"here\"}\n" + lineOf(1, nil), "its version is 2"},
		"no header":        {lineOf(1, nil), "its version is 0"},
		"corrupt header":   {heading()[:20] + "\n" + lineOf(1, nil), "first line"},
		"truncated header": {heading()[:20], "first line"},
		"binary":           {"SQLite format 3\x00", "first line"},
		"empty lines":      {"\n\n", "first line"},
	} {
		path := newFile(t)
		write(t, path+".old", "an older one")
		write(t, path, c.text)
		h, w := open(path)
		if got := h.List(noon); len(got) != 0 || !strings.Contains(h.Reason(), c.reason) || len(w.texts) != 1 || !strings.Contains(w.texts[0], c.reason) {
			t.Errorf("%s: %v, %q, %q", name, got, h.Reason(), w.texts)
		}
		if text := read(t, path+".old"); text != c.text {
			t.Errorf("%s: it was changed: %q", name, text)
		}
		h.Add(key(3), past(3))
		again, w := open(path)
		if got := again.List(noon); len(got) != 1 || again.Reason() != "" || len(w.texts) != 0 {
			t.Errorf("%s: %v, %q, %q", name, got, again.Reason(), w.texts)
		}
	}
	path := newFile(t)
	write(t, path, "") // created by a daemon that could not write it
	h, w := open(path)
	h.Add(key(1), past(1))
	if text := read(t, path); text != heading()+lineOf(1, nil) || len(w.texts) > 0 {
		t.Errorf("%q, %q", text, w.texts)
	}
}

// TestFileBecomesForeign: a daemon of another cluster with the same name has the file now.
// It is left to that one.
func TestFileBecomesForeign(t *testing.T) {
	path := newFile(t)
	h, w := open(path)
	h.Add(key(1), past(1))
	other := Open(path, "there", Options{Log: slog.New(&warnings{}), Now: func() time.Time { return noon }})
	other.Add(key(2), past(2))
	h.Add(key(3), past(3))
	h.Add(key(4), past(4))
	if got := h.List(noon); len(got) != 3 || len(w.texts) != 1 || !strings.Contains(h.Reason(), "another cluster") {
		t.Errorf("%v, %q, %q", got, w.texts, h.Reason())
	}
	if got := other.List(noon); len(got) != 1 || got[0].Waited != past(2).Waited {
		t.Errorf("%v", got)
	}
	if text := read(t, path); text != string(headerLine("there"))+lineOf(2, nil) {
		t.Errorf("in the file: %q", text)
	}
	// When it is gone, the own history goes on there.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.Add(key(5), past(5))
	if text := read(t, path); text != heading()+lineOf(3, nil)+lineOf(4, nil)+lineOf(5, nil) {
		t.Errorf("in the file: %q", text)
	}
}

// TestMost: the file and the memory are bounded; the newest waits are kept, and what does
// not count any more is removed.
func TestMost(t *testing.T) {
	path := newFile(t)
	var text bytes.Buffer
	text.WriteString(heading() + "corrupt\n")
	for n := range MaxRecords - 1 {
		text.WriteString(lineOf(n, nil))
	}
	text.WriteString(lineOf(9999, func(r *record) { r.AskedMS = noon.Add(time.Hour).UnixMilli() }))
	write(t, path, text.String())
	h, w := open(path)
	if got := h.List(noon); len(got) != MaxRecords-1 || h.Skipped(noon) != 2 {
		t.Fatalf("%d waits, %d skipped", len(got), h.Skipped(noon))
	}
	h.Add(key(MaxRecords), past(MaxRecords))
	lines := strings.Count(read(t, path), "\n") - 1
	again, _ := open(path)
	for name, h := range map[string]*History{"the same": h, "opened again": again} {
		got := h.List(noon)
		if len(got) != lines || lines != compactRecords || h.Skipped(noon) != 0 || !got[len(got)-1].Asked.Equal(past(MaxRecords).Asked) {
			t.Errorf("%s: %d waits, %d lines, %d skipped", name, len(got), lines, h.Skipped(noon))
		}
	}
	for n := range 2 * MaxRecords {
		h.Add(key(MaxRecords+1+n), past(MaxRecords+1+n))
	}
	if lines := strings.Count(read(t, path), "\n") - 1; lines > MaxRecords || len(h.List(noon)) != lines || len(h.records) > MaxRecords {
		t.Errorf("%d lines, %d waits", lines, len(h.List(noon)))
	}
	if len(w.texts) > 0 {
		t.Errorf("warnings: %q", w.texts)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(left) != 1 {
		t.Errorf("in the folder: %v, %v", left, err)
	}
}

// TestMostBytes: waits with long names reach the limit of size first.
func TestMostBytes(t *testing.T) {
	path := newFile(t)
	text := []byte(heading())
	long := strings.Repeat("ä", maxName/2)
	for n := 0; len(text) <= MaxBytes; n++ {
		text = append(text, lineOf(n, func(r *record) { r.Cluster, r.Partition, r.QOS, r.Account = long, long, long, long })...)
	}
	write(t, path, string(text))
	h, _ := open(path)
	h.Add(key(9999), past(9999))
	if got := read(t, path); len(got) > MaxBytes || len(got) < compactBytes/2 || !strings.HasSuffix(got, lineOf(9999, nil)) {
		t.Errorf("%d bytes", len(got))
	}
	// A file that is far too large is not from us. What can be read of it counts.
	write(t, path, heading()+strings.Repeat(lineOf(1, nil), 6*MaxBytes/len(lineOf(1, nil))))
	if got := h.List(noon); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestUnwritable: the history works in memory, and says so once.
func TestUnwritable(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "state")
	write(t, blocked, "a file where the folder should be")
	folder := newFile(t)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	link := newFile(t)
	write(t, link+".target", heading()+lineOf(9, nil))
	if err := os.Symlink(link+".target", link); err != nil {
		t.Fatal(err)
	}
	shared := newFile(t)
	write(t, shared, heading()+lineOf(9, nil))
	if err := os.Chmod(shared, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"no folder": filepath.Join(blocked, "waits"), "a folder": folder, "a link": link, "anybody may have written it": shared,
	} {
		h, w := open(path)
		for n := range 3 {
			h.Add(key(n), past(n))
		}
		if got := h.List(noon); len(got) != 3 || len(w.texts) != 1 || !strings.Contains(w.texts[0], "in memory only") {
			t.Errorf("%s: %v, %q", name, got, w.texts)
		}
	}
	if text := read(t, link+".target") + read(t, shared); text != heading()+lineOf(9, nil)+heading()+lineOf(9, nil) {
		t.Errorf("written: %q", text)
	}
}

// TestFull: what cannot be written is kept, leaves no half line, and is written when there
// is room.
func TestFull(t *testing.T) {
	disk := tinydisk.New(t, 64<<10)
	path := filepath.Join(disk.Dir, "waits-hpc.jsonl")
	h, w := open(path)
	h.Add(key(0), past(0))
	filler := filepath.Join(disk.Dir, "filler")
	write(t, filler, "")
	f, err := os.OpenFile(filler, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := f.Write(make([]byte, 1024)); err != nil {
			break
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for n := 1; len(h.unsaved) < 5; n++ { // the last page of the file may have room
		h.Add(key(n), past(n))
	}
	all := len(h.List(noon))
	if text := read(t, path); !strings.HasSuffix(text, "}\n") || len(w.texts) != 1 || strings.Count(text, "\n")-1 != all-5 {
		t.Errorf("%q, %d waits, %q", w.texts, all, text)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	h.Add(key(9999), past(9999))
	again, _ := open(path)
	if got := again.List(noon); len(got) != all+1 || again.Skipped(noon) != 0 || len(w.texts) != 1 {
		t.Errorf("%d waits of %d, %d skipped, %q", len(got), all+1, again.Skipped(noon), w.texts)
	}
}

// TestReadOnly: a file that cannot be written is used all the same.
func TestReadOnly(t *testing.T) {
	disk := tinydisk.New(t, 1<<20)
	path := filepath.Join(disk.Dir, "waits-hpc.jsonl")
	write(t, path, heading()+lineOf(1, nil))
	if err := unix.Mount("", disk.Dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	h, w := open(path)
	if got := h.List(noon); len(got) != 1 || len(w.texts) != 0 {
		t.Errorf("%v, %q", got, w.texts)
	}
	h.Add(key(2), past(2))
	if got := h.List(noon); len(got) != 2 || len(w.texts) != 1 {
		t.Errorf("%v, %q", got, w.texts)
	}
}

// TestBusy: a lock that another process holds for long delays, and nothing is lost.
func TestBusy(t *testing.T) {
	path := newFile(t)
	write(t, path, heading()+lineOf(1, nil))
	h, w := open(path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	h.Add(key(2), past(2))
	if text := read(t, path); len(h.List(noon)) != 2 || len(w.texts) != 1 || text != heading()+lineOf(1, nil) {
		t.Errorf("%v, %q, %q", h.List(noon), w.texts, text)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	h.Add(key(3), past(3))
	if text := read(t, path); text != heading()+lineOf(1, nil)+lineOf(2, nil)+lineOf(3, nil) {
		t.Errorf("in the file: %q", text)
	}
}

// TestDeleted: who deletes the file wants it to be forgotten. A daemon that runs goes on
// with a new one.
func TestDeleted(t *testing.T) {
	path := newFile(t)
	h, w := open(path)
	h.Add(key(1), past(1))
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	h.Add(key(2), past(2))
	again, _ := open(path)
	if got := again.List(noon); len(got) != 1 || len(w.texts) > 0 {
		t.Errorf("%v, %q", got, w.texts)
	}
}

func TestFingerprint(t *testing.T) {
	facts := func(change func(*siteconfigs.Facts)) string {
		f := siteconfigs.Facts{
			Config:     slurm.Config{Cluster: "hpc", Values: map[string]string{"SlurmctldHost[0]": "c1(10.0.0.1)", "SlurmctldHost[1]": "c2", "BOOT_TIME": "1"}},
			Partitions: []slurm.Partition{{Name: "debug"}, {Name: "long"}},
		}
		change(&f)
		return Fingerprint(&f)
	}
	is := facts(func(*siteconfigs.Facts) {})
	for name, c := range map[string]struct {
		change func(*siteconfigs.Facts)
		same   bool
	}{
		"order of partitions": {func(f *siteconfigs.Facts) { f.Partitions[0], f.Partitions[1] = f.Partitions[1], f.Partitions[0] }, true},
		"other values":        {func(f *siteconfigs.Facts) { f.Config.Values["BOOT_TIME"] = "2" }, true},
		"name":                {func(f *siteconfigs.Facts) { f.Config.Cluster = "hpc2" }, false},
		"controller":          {func(f *siteconfigs.Facts) { f.Config.Values["SlurmctldHost[0]"] = "d1" }, false},
		"old controller":      {func(f *siteconfigs.Facts) { f.Config.Values = map[string]string{"ControlMachine": "c1"} }, false},
		"partition":           {func(f *siteconfigs.Facts) { f.Partitions[0].Name = "short" }, false},
		"fewer partitions":    {func(f *siteconfigs.Facts) { f.Partitions = f.Partitions[:1] }, false},
	} {
		if got := facts(c.change); (got == is) != c.same || len(got) != 32 {
			t.Errorf("%s: %s, and %s", name, got, is)
		}
	}
	if got := Path("/home/a/state", "../x/y"); got != "/home/a/state/waits-.._x_y.jsonl" {
		t.Errorf("%s", got)
	}
}

// FuzzParseFile: whatever is in a file, what is read of it can be true, and can be written.
func FuzzParseFile(f *testing.F) {
	f.Add([]byte(heading() + lineOf(1, nil) + lineOf(2, nil)))
	f.Add([]byte(heading() + lineOf(1, nil) + "x\n" + lineOf(2, nil)[:30]))
	f.Add([]byte(headerLine("there")))
	f.Add([]byte(lineOf(1, func(r *record) { r.WaitedMS, r.AskedMS = -1, 1<<63-1 })))
	f.Fuzz(func(t *testing.T, text []byte) {
		records, skipped, problem := parseFile(text, "here")
		if skipped < 0 || problem != "" && len(records) > 0 {
			t.Errorf("%d skipped, %q", skipped, problem)
		}
		out := headerLine("here")
		for i := range records {
			p := records[i].past()
			if p.Waited < 0 || p.Walltime <= 0 || p.Nodes <= 0 || p.CPUs <= 0 || p.GPUs < 0 || p.Asked.Add(p.Waited).Before(p.Asked) {
				t.Errorf("%+v", p)
			}
			out = append(out, records[i].line()...)
		}
		again, skipped, problem := parseFile(out, "here")
		if diff := cmp.Diff(records, again); diff != "" || skipped != 0 || problem != "" {
			t.Errorf("%d skipped, %q (-want +got):\n%s", skipped, problem, diff)
		}
	})
}
