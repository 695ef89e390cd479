package process

import (
	"math"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGrow assigns the processes of a table that have left their trees in every possible
// way.
func TestGrow(t *testing.T) {
	a := &Watch{Key: "a", PID: 10}
	b := &Watch{Key: "b", PID: 20}
	table := []process{
		{pid: 5, ppid: 1, session: 5, state: 'S', start: 1},     // this process
		{pid: 10, ppid: 5, session: 10, state: 'S', start: 2},   // leader of a
		{pid: 11, ppid: 10, session: 10, state: 'R', start: 3},  // its child
		{pid: 12, ppid: 11, session: 12, state: 'R', start: 4},  // a grandchild in its own session
		{pid: 13, ppid: 5, session: 13, state: 'S', start: 5},   // an orphan with the key of a
		{pid: 14, ppid: 13, session: 14, state: 'S', start: 6},  // the orphan's child
		{pid: 15, ppid: 5, session: 15, state: 'S', start: 7},   // an orphan that was seen in a before
		{pid: 16, ppid: 5, session: 16, state: 'S', start: 8},   // the same pid was seen, as another process
		{pid: 20, ppid: 5, session: 20, state: 'Z', start: 9},   // the dead leader of b
		{pid: 21, ppid: 5, session: 20, state: 'S', start: 10},  // its session continues
		{pid: 30, ppid: 5, session: 30, state: 'S', start: 11},  // the leader of an attempt that is not watched
		{pid: 31, ppid: 30, session: 30, state: 'S', start: 12}, // its child
		{pid: 40, ppid: 1, session: 40, state: 'S', start: 13},  // a stranger
		{pid: 41, ppid: 42, session: 41, state: 'S', start: 14}, // a loop, as in a table that was read amid changes
		{pid: 42, ppid: 41, session: 42, state: 'S', start: 15},
	}
	table = append(table, process{pid: 22, ppid: 1, session: 20, state: 'S', start: 21}) // the pid was reused
	f := &forest{
		self:   5,
		leader: map[int]*Watch{10: a, 20: b},
		gone:   map[*Watch]uint64{a: math.MaxUint64, b: 20},
		byKey:  map[string]*Watch{"a": a, "b": b},
		seen:   map[processID]*Watch{{15, 7}: a, {16, 1}: b},
		known:  func(pid int) bool { return pid == 10 || pid == 20 || pid == 30 },
		keyOf: func(id processID) string {
			if id.pid == 13 {
				return "a"
			}
			return ""
		},
	}
	pids := func(w *Watch, trees map[*Watch][]*process) []int {
		var list []int
		for _, p := range trees[w] {
			list = append(list, p.pid)
		}
		return list
	}
	trees := f.grow(table)
	if got, want := pids(a, trees), []int{10, 11, 12, 13, 14, 15}; !slices.Equal(got, want) {
		t.Errorf("a: %v, want %v", got, want)
	}
	if got, want := pids(b, trees), []int{21}; !slices.Equal(got, want) {
		t.Errorf("b: %v, want %v", got, want)
	}
	if len(trees) != 2 {
		t.Errorf("%d trees", len(trees))
	}
}

func TestFindAttemptKey(t *testing.T) {
	for environ, want := range map[string]string{
		"":                                       "",
		"A=1\x00TORC_ATTEMPT_KEY=k.1\x00B=2\x00": "k.1",
		"XTORC_ATTEMPT_KEY=no\x00":               "",
		"TORC_ATTEMPT_KEY=last":                  "last",
	} {
		if got := findAttemptKey([]byte(environ)); got != want {
			t.Errorf("%q: %q, want %q", environ, got, want)
		}
	}
}

// TestAdopted compares the two ways of listing children that are not ours.
func TestAdopted(t *testing.T) {
	acquireReaper(t)
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	ended := make(chan Exit, 1)
	ours, err := startShell("sleep 1000", func(e Exit) { ended <- e })
	if err != nil {
		t.Fatal(err)
	}
	list := adoptedByTable()
	if !slices.Contains(list, cmd.Process.Pid) || slices.Contains(list, ours) {
		t.Errorf("adopted %v; other code's child is %d, ours is %d", list, cmd.Process.Pid, ours)
	}
	if slices.Contains(adopted(), ours) {
		t.Errorf("%d is ours", ours)
	}
	children.signalGroup(ours, unix.SIGKILL)
	<-ended
}
