package threads

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOwnThreads counts at least the threads of this program.
func TestOwnThreads(t *testing.T) {
	if n := threadsOf(uint32(os.Getuid())); n < 2 {
		t.Errorf("counted %d threads of this program", n)
	}
	if n, ok := machineThreads(); !ok || n < 2 {
		t.Errorf("counted %d threads on the machine", n)
	}
}

// TestAsAnotherUser is what TestTooFew runs as a user with a limit.
func TestAsAnotherUser(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("TestTooFew runs this part as another user")
	}
	fmt.Printf("few: %v\n", Check(1000)) //nolint:forbidigo // what this program says to the test that started it
	fmt.Printf("enough: %v\n", Check(1)) //nolint:forbidigo // what this program says to the test that started it
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(6, &limit); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("soft %d hard %d\n", limit.Cur, limit.Max) //nolint:forbidigo // what this program says to the test that started it
}

func TestTooFew(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user: root has no limit")
	}
	dir, err := os.MkdirTemp("", "threads")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "-c", "ulimit -S -u 400; ulimit -H -u 500; exec "+program+" -test.run TestAsAnotherUser -test.v")
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"few: you have ", "and may have 500 (ulimit -u); at least 1000 more are needed", "enough: <nil>", "soft 500 hard 500"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
