package store

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

func TestOwnerLives(t *testing.T) {
	now := time.UnixMilli(10_000_000)
	me := process{host: "a", pid: 1, bootID: "boot-1", machineID: "m"}
	for _, tc := range []struct {
		name   string
		owner  process
		age    time.Duration
		locked bool
		exists bool
		want   bool
	}{
		{"released", process{"b", 0, "boot-2", "m2"}, 0, true, true, false},
		{"same machine, its lock is free", process{"a", 7, "boot-1", "m"}, 0, true, true, false},
		{"same machine by another name, its lock is free", process{"z", 7, "boot-1", "m"}, 0, true, true, false},
		{"same machine, no locks, process there", process{"a", 7, "boot-1", "m"}, 0, false, true, true},
		{"same machine, no locks, process gone", process{"a", 7, "boot-1", "m"}, 0, false, false, false},
		{"same machine, no locks, its number used again", process{"a", 7, "boot-1", "m"}, 3 * time.Minute, false, true, false},
		{"same host, started again", process{"a", 7, "boot-0", "m"}, 0, false, true, false},
		{"another machine of the same name, lately", process{"a", 7, "boot-2", "m2"}, time.Minute, true, false, true},
		{"another machine of the same name, long ago", process{"a", 7, "boot-2", "m2"}, 3 * time.Minute, true, false, false},
		{"same host name, no machine known, lately", process{"a", 7, "boot-2", ""}, time.Minute, true, false, true},
		{"another host, lately", process{"b", 7, "boot-2", "m2"}, 2 * time.Minute, true, false, true},
		{"another host, long ago", process{"b", 7, "boot-2", "m2"}, 2*time.Minute + time.Millisecond, true, true, false},
		{"another host, whose clock is ahead", process{"b", 7, "boot-2", "m2"}, -time.Hour, true, false, true},
	} {
		r := ownerRow{process: tc.owner, epoch: 3, beatMS: now.Add(-tc.age).UnixMilli()}
		if got := r.lives(me, tc.locked, now, func(int64) bool { return tc.exists }); got != tc.want {
			t.Errorf("%s: lives = %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestSecondDaemonIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	s, err := Open(t.Context(), Options{Path: path, process: process{"login1", 4711, "boot-1", "m"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = Open(t.Context(), Options{Path: path, process: process{"login1", 4712, "boot-1", "m"}})
	wantCode(t, err, workflow.CodeConflict)
	if err == nil || !strings.Contains(err.Error(), "on login1, pid 4711") {
		t.Errorf("error %v does not name the owner", err)
	}
}

// withoutLock lets another host open the file as it does where locks are known
// to one machine only.
func withoutLock(t *testing.T, s *Store) {
	t.Helper()
	if err := os.Rename(s.path+".lock", s.path+".lock-of-"+s.path[len(s.path)-1:]); err != nil {
		t.Fatal(err)
	}
}

func TestTakeover(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	clock := func() time.Time { return now }
	path := filepath.Join(t.TempDir(), "torc.db")
	first, err := Open(t.Context(), Options{Path: path, Now: clock, process: process{"login1", 1, "boot-1", "m"}})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	withoutLock(t, first)
	other := Options{Path: path, Now: clock, process: process{"login2", 2, "boot-2", "m"}}
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

	err = first.writer.do("insert", insert("late"))
	wantCode(t, err, workflow.CodeConflict)
	if err == nil || !strings.Contains(err.Error(), "taken over by torc-slurm on login2, pid 2") {
		t.Errorf("the first owner is told %v", err)
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
	if err := second.writer.do("insert", insert("a")); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	row, err := readOwner(t.Context(), second.read)
	if err != nil || row.pid != 2 {
		t.Errorf("owner %+v, %v: the one that had lost it gave it back", row, err)
	}
}

// A database that was closed is free at once, for every host.
func TestReleasedIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	for i, host := range []string{"login1", "login2", "login1"} {
		s, err := Open(t.Context(), Options{Path: path, process: process{host, 1, host, "m"}})
		if err != nil {
			t.Fatal(err)
		}
		if s.writer.epoch != int64(i+1) {
			t.Errorf("epoch %d the %d. time", s.writer.epoch, i+1)
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
			row, err := readOwner(t.Context(), s.read)
			if err != nil || row.beatMS != time.Now().UnixMilli() {
				t.Errorf("beat at %d, %v, want %d", row.beatMS, err, time.Now().UnixMilli())
			}
		}
	})
}
