package process

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
)

// TestJournal adds processes, drops them, and checks that a large journal is compacted.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, output.SpoolDir), 0o777); err != nil {
		t.Fatal(err)
	}
	j, err := OpenJournal(dir, 1, "host", "key", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, output.SpoolDir, "wf1_host_key"+output.ProcessJournalEnding)
	j.Started(os.Getpid(), "key.stays")
	for j.size < journalLimit {
		j.Started(os.Getpid(), "key.ends")
	}
	j.Ended("key.ends")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := readProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	want := journalHead("host", "key") + journalLine(p.pid, p.start, "key.stays")
	if string(data) != want {
		t.Errorf("journal is %q, want %q", data[:min(len(data), 200)], want)
	}
	j.Started(os.Getpid(), "key.more")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(path); err != nil || string(data) != want+journalLine(p.pid, p.start, "key.more") {
		t.Errorf("journal is %q, %v", data, err)
	}
}

func TestLeftoversNeedTheSameProcess(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, output.SpoolDir), 0o777); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	p, err := readProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	for _, c := range []struct {
		name, boot string
		start      uint64
		want       int
	}{
		{"another start time", BootID(), p.start + 1, 0},
		{"another boot", "another", p.start, 0},
		{"the same", BootID(), p.start, 1},
	} {
		path := filepath.Join(dir, output.SpoolDir, "x"+output.ProcessJournalEnding)
		if err := os.WriteFile(path, []byte(c.boot+" "+host+" some 1 1\n"+journalLine(p.pid, c.start, "some.key")), 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if n, err := EndLeftovers(dir, log); n != c.want || err != nil {
			t.Errorf("%s: ended %d, %v", c.name, n, err)
		}
		if alive(p.id()) != (c.want == 0) {
			t.Errorf("%s: alive %v", c.name, alive(p.id()))
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the journal is still there", c.name)
		}
		if time.Since(began) > runnertest.Patience {
			t.Errorf("%s: took %s", c.name, time.Since(began))
		}
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(id processID) bool {
	p, err := readProcess(id.pid)
	return err == nil && !p.dead() && p.id() == id
}
