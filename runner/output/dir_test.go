package output

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	databaseA = "AAAAAAAAAAAAAAAAAAAAAAAAAA"
	databaseB = "BBBBBBBBBBBBBBBBBBBBBBBBBB"
)

func claimDir(t *testing.T, root, database string) *Dir {
	t.Helper()
	d, err := Claim(root, database, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func releaseDir(t *testing.T, d *Dir) {
	t.Helper()
	if err := d.Release(); err != nil {
		t.Fatal(err)
	}
}

// writeLog writes the output of attempt 1 of a job.
func writeLog(t *testing.T, dir string, jobID int64, text string) {
	t.Helper()
	path := LogPath(dir, 1, jobID, 1, 1, ".o")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Error(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = file.WriteString(text)
	if closeErr := file.Close(); err != nil || closeErr != nil {
		t.Error(err, closeErr)
	}
}

// readLog returns the output of a job of a database as its readers find it.
func readLog(root, database string, jobID int64) string {
	for _, dir := range Dirs(root, database) {
		if text, err := os.ReadFile(LogPath(dir, 1, jobID, 1, 1, ".o")); err == nil {
			return string(text)
		}
	}
	return ""
}

func TestOutputDirOfOneDatabase(t *testing.T) {
	root := filepath.Join(t.TempDir(), "made")
	first, second := claimDir(t, root, databaseA), claimDir(t, root, databaseA)
	for _, d := range []*Dir{first, second} {
		if d.Path != root || d.Notice != "" {
			t.Errorf("claimed %+v", d)
		}
	}
	releaseDir(t, first)
	other := claimDir(t, root, databaseB)
	if want := root + "/db-bbbbbbbb"; other.Path != want || other.Notice == "" {
		t.Errorf("claimed %+v, want %s", other, want)
	}
	releaseDir(t, second)
	releaseDir(t, other)
	if none := claimDir(t, root, ""); none.Path != root {
		t.Errorf("without a name: %+v", none)
	}
}

func TestOutputDirChangesHands(t *testing.T) {
	root := t.TempDir()
	for i, database := range []string{databaseA, databaseB, databaseA, databaseB} {
		d := claimDir(t, root, database)
		if d.Path != root {
			t.Fatalf("round %d: claimed %+v", i, d)
		}
		writeLog(t, d.Path, int64(1+i/2), fmt.Sprint(database, i))
		for _, name := range []string{"job_runner_h_wf1_r1.log", MetricsDir + "/m.db"} {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(database), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(root+"/torc.db", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		releaseDir(t, d)
	}
	for i, database := range []string{databaseA, databaseB, databaseA, databaseB} {
		if got, want := readLog(root, database, int64(1+i/2)), fmt.Sprint(database, i); got != want {
			t.Errorf("round %d: output %q, want %q", i, got, want)
		}
	}
	aside := root + "/db-aaaaaaaa"
	for _, path := range []string{root + "/torc.db", aside + "/job_runner_h_wf1_r1.log", aside + "/job_runner_h_wf1_r1.log.1", aside + "/" + MetricsDir + "/m.db.1"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestOutputDirOfAVersionWithoutMarker(t *testing.T) {
	root := t.TempDir()
	writeLog(t, root, 1, "old")
	if err := os.Mkdir(filepath.Join(root, SpoolDir), 0o777); err != nil {
		t.Fatal(err)
	}
	journal, err := os.Create(filepath.Join(root, SpoolDir, "wf1_host_key"+ProcessJournalEnding)) // of a runner
	if err != nil {
		t.Fatal(err)
	}
	if err := Flock(journal, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	d := claimDir(t, root, databaseA)
	if d.Path == root {
		t.Error("took a directory from a live runner")
	}
	if err := errors.Join(os.Remove(journal.Name()), journal.Close()); err != nil {
		t.Fatal(err)
	}
	d = claimDir(t, root, databaseA)
	defer releaseDir(t, d)
	if d.Path != root || !strings.Contains(d.Notice, "/db-unknown") {
		t.Errorf("claimed %+v", d)
	}
	if text, err := os.ReadFile(LogPath(root+"/db-unknown", 1, 1, 1, 1, ".o")); string(text) != "old" {
		t.Errorf("old output %q, %v", text, err)
	}
}

// TestOutputDirOfAForeignServer: such a name never equaled the name in the marker, so the
// directory was claimed again and again.
func TestOutputDirOfAForeignServer(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"unknown", "../../etc", "A B"} {
		if d, err := Claim(root, name, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "check which server this is") {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
	if files, err := os.ReadDir(root); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestOutputDirWithDamagedMarker(t *testing.T) {
	root := t.TempDir()
	writeLog(t, root, 1, "old")
	if err := os.WriteFile(filepath.Join(root, markerName), []byte("../../x\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := claimDir(t, root, databaseA)
	defer releaseDir(t, d)
	if d.Path != root || readLog(root, "UNKNOWN", 1) != "old" {
		t.Errorf("claimed %+v", d)
	}
}

// TestOutputDirWithoutLocks: nothing is moved if it is unknown whether it is in use.
func TestOutputDirWithoutLocks(t *testing.T) {
	root := t.TempDir()
	marker, err := os.Create(filepath.Join(root, markerName))
	if err != nil {
		t.Fatal(err)
	}
	defer marker.Close()
	for _, c := range []struct{ database, want string }{{databaseA, root}, {databaseA, root}, {databaseB, root + "/db-bbbbbbbb"}} {
		d, err := (&Dir{Path: root, marker: marker}).withoutLock(root, c.database)
		if err != nil || d.Path != c.want {
			t.Errorf("%s: %+v, %v", c.database, d, err)
		}
	}
}

// TestOutputDirIsClaimedByManyAtOnce: in any order of claims and releases, every database
// finds what it has written, and none writes into another's file.
func TestOutputDirIsClaimedByManyAtOnce(t *testing.T) {
	t.Parallel()
	const runners, rounds = 3, 15
	root := t.TempDir()
	var wg sync.WaitGroup
	for _, database := range []string{databaseA, databaseB} {
		for i := range runners {
			wg.Go(func() {
				for round := range rounds {
					d, err := Claim(root, database, slog.New(slog.DiscardHandler))
					if err != nil {
						t.Error(err)
						return
					}
					writeLog(t, d.Path, int64(1+round*runners+i), database)
					if err := d.Release(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for _, database := range []string{databaseA, databaseB} {
		for job := range int64(runners * rounds) {
			if got := readLog(root, database, job+1); got != database {
				t.Errorf("job %d of %s: %q", job+1, database, got)
			}
		}
	}
}
