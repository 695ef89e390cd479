package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestOwnerDeath(t *testing.T) {
	now := time.UnixMilli(10_000_000)
	me := process{host: "a", pid: 1, bootID: "boot-1", machineID: "m"}
	here := process{host: "a", pid: 7, bootID: "boot-1", machineID: "m", life: "pid:[1] 5"}
	again := process{host: "a", pid: 7, bootID: "boot-2", machineID: "m2"}
	other := process{host: "b", pid: 7, bootID: "boot-2", machineID: "m2"}
	const alive, dead, unknown = 1, 2, 3 // what the system says about the process
	for _, tc := range []struct {
		name   string
		owner  process
		age    time.Duration
		locked bool
		system int
		want   string // the reason; empty: it lives
	}{
		{"here, alive, its lock file was removed", here, 0, true, alive, ""},
		{"here, alive and stopped, its lock file was removed", here, time.Hour, true, alive, ""},
		{"here, alive, no locks", here, time.Hour, false, alive, ""},
		{"here, gone", here, 0, true, dead, "its process 7 is no longer on the machine"},
		{"here, gone, no locks", here, 0, false, dead, "its process 7 is no longer on the machine"},
		{"here by another name, gone", process{host: "z", pid: 7, bootID: "boot-1", machineID: "m"}, 0, true, dead, "its process 7 is no longer on the machine"},
		{"here, in another namespace, its lock is free", here, 0, true, unknown, "its lock on the database had been released"},
		{"here, in another namespace, no locks, lately", here, time.Minute, false, unknown, ""},
		{"here, in another namespace, no locks, long ago", here, 3 * time.Minute, false, unknown, "its last heartbeat was 3m0s ago"},
		{"the machine has been rebooted", process{host: "a", pid: 7, bootID: "boot-0", machineID: "m"}, 0, false, alive, "the machine has been rebooted since"},
		{"another machine of the same name, lately", again, time.Minute, true, dead, ""},
		{"another machine of the same name, long ago", again, 3 * time.Minute, true, dead, "its last heartbeat was 3m0s ago"},
		{"same host name, no machine known, lately", process{host: "a", pid: 7, bootID: "boot-2"}, time.Minute, true, dead, ""},
		{"another host, lately", other, 2 * time.Minute, true, dead, ""},
		{"another host, long ago", other, 2*time.Minute + time.Millisecond, true, alive, "its last heartbeat was 2m0s ago"},
		{"another host, whose clock is ahead", other, -time.Hour, true, dead, ""},
	} {
		r := ownerRow{process: tc.owner, epoch: 3, beatMS: now.Add(-tc.age).UnixMilli()}
		got := r.death(me, tc.locked, now, func(int64, string) (bool, bool) { return tc.system == alive, tc.system != unknown })
		if (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestSecondDaemonIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	s, err := Open(t.Context(), Options{Path: path, process: process{host: "login1", pid: 4711, bootID: "boot-1", machineID: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = Open(t.Context(), Options{Path: path, process: process{host: "login1", pid: 4712, bootID: "boot-1", machineID: "m"}})
	wantCode(t, err, workflow.CodeConflict)
	if err == nil || !strings.Contains(err.Error(), "on login1, pid 4711") {
		t.Errorf("error %v does not name the owner", err)
	}
}

// withoutLock has another host open the file, as on file systems where locks work only
// within one machine.
func withoutLock(t *testing.T, s *DB) {
	t.Helper()
	if err := os.Rename(s.path+".lock", s.path+".lock-of-"+s.path[len(s.path)-1:]); err != nil {
		t.Fatal(err)
	}
}

func TestTakeover(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	clock := func() time.Time { return now }
	path := filepath.Join(t.TempDir(), "torc.db")
	first, err := Open(t.Context(), Options{Path: path, Now: clock, process: process{host: "login1", pid: 1, bootID: "boot-1", machineID: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	withoutLock(t, first)
	other := Options{Path: path, Now: clock, process: process{host: "login2", pid: 2, bootID: "boot-2", machineID: "m"}}
	if _, err := Open(t.Context(), other); workflow.CodeOf(err) != workflow.CodeConflict || !strings.Contains(err.Error(), "login1, pid 1") {
		t.Fatalf("another host took a living owner's database over: %v", err)
	}
	now = now.Add(beatLimit + time.Second)
	second, err := Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.writer.epoch != first.writer.epoch+1 {
		t.Errorf("epoch %d after %d", second.writer.epoch, first.writer.epoch)
	}

	err = first.Do("insert", insert("late"))
	wantCode(t, err, workflow.CodeConflict)
	var told *workflow.Error
	if !errors.As(err, &told) || !strings.Contains(told.Error(), "taken over by torc-slurm on login2, pid 2 (epoch 2 after 1, at ") ||
		!strings.Contains(told.Hint, "its last heartbeat was 2m1s ago") {
		t.Errorf("the first owner is told %v (%+v)", err, told)
	}
	select {
	case <-first.Lost():
	default:
		t.Error("Lost is not closed")
	}
	if !errors.Is(first.Err(), err) {
		t.Errorf("Err = %v, want %v", first.Err(), err)
	}
	if second.Err() != nil {
		t.Errorf("the second owner: %v", second.Err())
	}
	if err := second.Do("insert", insert("a")); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	row, err := readOwner(t.Context(), second.Read)
	if err != nil || row.pid != 2 {
		t.Errorf("owner %+v, %v: the one that had lost it gave it back", row, err)
	}
}

// A database that was closed is free at once, for every host.
func TestReleasedIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	for i, host := range []string{"login1", "login2", "login1"} {
		s, err := Open(t.Context(), Options{Path: path, process: process{host: host, pid: 1, bootID: host, machineID: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		if s.Epoch() != int64(i+1) {
			t.Errorf("epoch %d the %d. time", s.Epoch(), i+1)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "torc.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 3 {
			<-time.After(beatInterval)
			synctest.Wait()
			row, err := readOwner(t.Context(), s.Read)
			if err != nil || row.beatMS != time.Now().UnixMilli() {
				t.Errorf("beat at %d, %v, want %d", row.beatMS, err, time.Now().UnixMilli())
			}
		}
	})
}
