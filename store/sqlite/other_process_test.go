package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// hold opens a database and keeps it open until the input ends. For each line of input it
// creates a workflow with that name.
const holdPath = "TORC_TEST_HOLD"

func hold(path string) int {
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		fmt.Println("error:", err) //nolint:forbidigo // what this program says to the test that started it
		return 1
	}
	fmt.Println("open") //nolint:forbidigo // what this program says to the test that started it
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := s.Do("insert", insert(in.Text())); err != nil {
			fmt.Println("error:", err) //nolint:forbidigo // what this program says to the test that started it
			continue
		}
		fmt.Println("written") //nolint:forbidigo // what this program says to the test that started it
	}
	if err := s.Close(); err != nil {
		fmt.Println("error:", err) //nolint:forbidigo // what this program says to the test that started it
	}
	return 0
}

// otherProcess is a process that has a database open.
type otherProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startOther(t *testing.T, path string) *otherProcess {
	t.Helper()
	h := &otherProcess{t: t, cmd: exec.Command(os.Args[0])}
	h.cmd.Env = append(os.Environ(), holdPath+"="+path)
	h.cmd.Stderr = io.Discard // its log
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.in, h.out = in, bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.in.Close()
		_ = h.cmd.Wait() // killed, perhaps
	})
	h.wantLine("open")
	return h
}

func (h *otherProcess) line() string {
	h.t.Helper()
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (h *otherProcess) wantLine(want string) {
	h.t.Helper()
	if got := h.line(); got != want {
		h.t.Fatalf("the other process says %q, want %q", got, want)
	}
}

func (h *otherProcess) write(name string) string {
	h.t.Helper()
	if _, err := fmt.Fprintln(h.in, name); err != nil {
		h.t.Fatal(err)
	}
	return h.line()
}

// A living process keeps its database, whatever name another process uses for it.
func TestLivingOwnerIsNotDisplaced(t *testing.T) {
	for _, tc := range []struct {
		name  string
		other func(t *testing.T, path string) string
		code  workflow.Code
		want  string
	}{
		{"symbolic link", func(t *testing.T, path string) string {
			link := filepath.Join(t.TempDir(), "link.db")
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			return link
		}, workflow.CodeConflict, "in use by torc-slurm on"},
		{"relative symbolic link in a linked folder", func(t *testing.T, path string) string {
			dir := filepath.Join(filepath.Dir(path), "sub")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("../"+filepath.Base(path), filepath.Join(dir, "link.db")); err != nil {
				t.Fatal(err)
			}
			far := filepath.Join(t.TempDir(), "far")
			if err := os.Symlink(dir, far); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(far, "link.db")
		}, workflow.CodeConflict, "in use by torc-slurm on"},
		{"hard link", func(t *testing.T, path string) string {
			link := filepath.Join(filepath.Dir(path), "hard.db")
			if err := os.Link(path, link); err != nil {
				t.Fatal(err)
			}
			return link
		}, workflow.CodeInvalid, "has 2 names (hard links)"},
		{"lock file removed", func(t *testing.T, path string) string {
			if err := os.Remove(path + ".lock"); err != nil {
				t.Fatal(err)
			}
			return path
		}, workflow.CodeConflict, "in use by torc-slurm on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "torc.db")
			h := startOther(t, path)
			s, err := Open(t.Context(), Options{Path: tc.other(t, path)})
			if err == nil {
				t.Errorf("it was opened; the owner says then: %s", h.write("late"))
				s.Close()
				return
			}
			wantCode(t, err, tc.code)
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q, want %q in it", err, tc.want)
			}
			if got := h.write("mine"); got != "written" {
				t.Errorf("the owner: %s", got)
			}
		})
	}
}

// The process of a killed owner is gone, which the next one sees at once, with or without
// its lock.
func TestKilledOwnerIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	h := startOther(t, path)
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Wait() // killed
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	row, err := readOwner(t.Context(), s.Read)
	if want := fmt.Sprintf("its process %d is no longer on the machine", h.cmd.Process.Pid); err != nil || row.takeover != want {
		t.Errorf("taken over because %q, %v, want %q", row.takeover, err, want)
	}
}
