package dbfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "torc.db")
	for name, to := range map[string]string{"a": "b", "b": file, "round": "about", "about": "round"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "torc.db"} { // the file does not exist yet
		if got, err := Resolve(filepath.Join(dir, name)); err != nil || got != file {
			t.Errorf("%s leads to %s, %v, want %s", name, got, err, file)
		}
	}
	if _, err := Resolve(filepath.Join(dir, "round")); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a circle of links: %v", err)
	}
}

// An interrupted snapshot has left a second name, which is no reason to reject the file.
func TestHardLinksOfOurOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path + ".1", path + ".part", path + ".mine"} {
		if err := os.Link(path, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := RefuseHardLinks(path); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a hard link: %v", err)
	}
	if err := os.Remove(path + ".mine"); err != nil {
		t.Fatal(err)
	}
	if err := RefuseHardLinks(path); err != nil {
		t.Error(err)
	}
}

func TestIsAlive(t *testing.T) {
	me := int64(os.Getpid())
	life := Life(me)
	if life == "" {
		t.Fatal("this process has no life")
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	other, its := int64(cmd.Process.Pid), Life(int64(cmd.Process.Pid))
	check := func(what string, pid int64, life string, lives, known bool) {
		t.Helper()
		if l, k := IsAlive(pid, life); l != lives || k != known {
			t.Errorf("%s: lives %v, known %v, want %v, %v", what, l, k, lives, known)
		}
	}
	check("this process", me, life, true, true)
	check("its number used again", me, namespace()+" 1", false, true)
	check("of another namespace", me, "pid:[1] 1", false, false)
	check("not recorded", me, "", false, false)
	check("another process", other, its, true, true)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	check("a process that has ended", other, its, false, true)
}

func BenchmarkMoved(b *testing.B) {
	path := filepath.Join(b.TempDir(), "torc.db")
	for _, name := range []string{path, path + "-wal"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	f, err := Watch(path)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := f.Moved(); err != nil {
			b.Fatal(err)
		}
	}
}
