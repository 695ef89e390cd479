package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestNetworkOf(t *testing.T) {
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "torc.db"): "",
		"/proc/torc.db":                       "",
	} {
		if got, err := networkOf(path); err != nil || got != want {
			t.Errorf("networkOf(%s) = %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := networkOf("/no/such/folder/torc.db"); err == nil {
		t.Error("a folder that does not exist has a file system")
	}
	for number, want := range map[int64]string{0x6969: "NFS", 0x0BD00BD0: "Lustre", 0x65735546: "FUSE", 0xEF53: ""} {
		if got := networkFileSystems[number]; got != want {
			t.Errorf("file system %#x is %q, want %q", number, got, want)
		}
	}
}

// On a network file system everything goes through one connection, which shares no memory
// with others.
func TestNetworkMode(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "torc.db")
	s, err := Open(t.Context(), Options{Path: path, AsNetwork: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.Contains(log.String(), path) || !strings.Contains(log.String(), "prefer a local disk") {
		t.Errorf("the warning is %q", log.String())
	}
	var mode string
	if err := s.Read.QueryRowContext(t.Context(), `PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %s, %v", mode, err)
	}
	if _, err := os.Stat(path + "-shm"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is memory to be shared (%v)", err)
	}
	if _, err := s.Read.ExecContext(t.Context(), `DELETE FROM workflow`); err == nil {
		t.Error("a reader wrote")
	}
}

// A database that was written on a local disk can be moved to a network file
// system and back.
func TestNetworkModeAndBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	for i := range 4 {
		s, err := Open(t.Context(), Options{Path: path, AsNetwork: i%2 == 1, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w := &writing{DB: s, t: t}
		if err := s.Do("insert", insert("a")); err != nil {
			t.Error(err)
		}
		if n := len(w.names()); n != i+1 {
			t.Errorf("%d rows the %d. time", n, i+1)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Readers see whole transactions and one state each, and nobody waits forever.
func TestNetworkModeReadersAndWriters(t *testing.T) {
	w := newWritingOn(t, true)
	const n = 50
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range n {
				err := w.Do("pair", func(tx *Tx) error { return errors.Join(insert("a")(tx), insert("b")(tx)) })
				if err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range n {
				w.readTwice()
			}
		})
	}
	all.Wait()
	if got := len(w.names()); got != 4*2*n {
		t.Errorf("%d rows, want %d", got, 4*2*n)
	}
}

// readTwice counts twice within a snapshot.
func (w *writing) readTwice() {
	tx, err := w.BeginRead(w.t.Context())
	if err != nil {
		w.t.Error(err)
		return
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	var a, b int
	err = errors.Join(tx.QueryRowContext(w.t.Context(), `SELECT COUNT(*) FROM workflow`).Scan(&a),
		tx.QueryRowContext(w.t.Context(), `SELECT COUNT(*) FROM workflow`).Scan(&b))
	if err != nil || a != b || a%2 != 0 {
		w.t.Errorf("counted %d, then %d, %v: want the same even number", a, b, err)
	}
}

// A reader of a database that can be open only once is told who has it open.
func TestNetworkModeNamesTheOwner(t *testing.T) {
	w := newWritingOn(t, true)
	w.insert("a")
	want := fmt.Sprintf("in use by torc-slurm on %s, pid %d", w.process.host, os.Getpid())
	err := Backup(t.Context(), w.Path(), filepath.Join(t.TempDir(), "copy.db"))
	wantCode(t, err, workflow.CodeConflict)
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// A lock that none of our processes holds belongs to another program.
func TestNetworkModeOtherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	ourFile(t, path)
	db, conn, err := openAlone(t.Context(), path, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `UPDATE workflow SET name = 'x'`); err != nil {
		t.Fatal(err)
	}
	err = Backup(t.Context(), path, filepath.Join(t.TempDir(), "copy.db"))
	wantCode(t, err, workflow.CodeUnavailable)
}
