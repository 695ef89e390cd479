package sqlite

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func openWriting(t *testing.T, o Options) *writing {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &writing{DB: s, t: t}
}

func (w *writing) insert(name string) {
	w.t.Helper()
	if err := w.Do("insert", insert(name)); err != nil {
		w.t.Fatal(err)
	}
}

func TestInMemoryWithoutFile(t *testing.T) {
	t.Chdir(t.TempDir())
	a, b := openWriting(t, Options{InMemory: true}), openWriting(t, Options{InMemory: true})
	a.insert("a")
	b.insert("b")
	a.wantNames("a")
	b.wantNames("b")
	if files, err := os.ReadDir("."); err != nil || len(files) != 0 {
		t.Errorf("files %v, %v", files, err)
	}
	if a.Path() != "" {
		t.Errorf("path %q", a.Path())
	}
}

// A database in memory starts with the contents of its file, locks the file, and changes
// it only by snapshots.
func TestInMemoryOfFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torc.db")
	s := killed(t, path)
	w := openWriting(t, Options{Path: path, InMemory: true})
	w.wantNames(s...)
	w.insert("new")
	for _, inMemory := range []bool{false, true} {
		_, err := Open(t.Context(), Options{Path: path, InMemory: inMemory})
		wantCode(t, err, workflow.CodeConflict)
	}
	before := readFile(t, path)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if string(readFile(t, path)) != string(before) {
		t.Error("the file changed without a snapshot")
	}
	openWriting(t, Options{Path: path}).wantNames(s...)
}

// killed creates a database whose owner was killed: the rows are in its journal.
func killed(t *testing.T, path string) (names []string) {
	t.Helper()
	dir := t.TempDir()
	w := openWriting(t, Options{Path: filepath.Join(dir, "torc.db")})
	w.insert("a")
	w.insert("b")
	for _, end := range []string{"", "-wal"} {
		writeFile(t, path+end, string(readFile(t, w.path+end)))
	}
	if len(readFile(t, path+"-wal")) == 0 {
		t.Fatal("there is no journal")
	}
	return []string{"a", "b"}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestInMemoryRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "text")
	writeFile(t, path, "this is no database, and it is long enough to be seen as none")
	_, err := Open(t.Context(), Options{Path: path, InMemory: true})
	wantCode(t, err, workflow.CodeCorrupt)
	_, err = Open(t.Context(), Options{Path: filepath.Join(dir, "none", "db"), InMemory: true})
	wantCode(t, err, workflow.CodeInvalid)

	o := Options{Path: filepath.Join(dir, "torc.db"), InMemory: true}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	_, err = openMemory(t.Context(), &o, &fileLock{})
	wantCode(t, err, workflow.CodeUnavailable)
}

// A use case that fails leaves nothing, although there is no journal file.
func TestInMemoryRollsBack(t *testing.T) {
	w := openWriting(t, Options{InMemory: true})
	w.insert("a")
	err := w.Do("fail", func(tx *Tx) error {
		if err := insert("b")(tx); err != nil {
			return err
		}
		return ErrNoRow
	})
	if err == nil {
		t.Error("it did not fail")
	}
	w.wantNames("a")
}

// Caches can be emptied at any time.
func TestGiveBackMemory(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []Options{{Path: filepath.Join(dir, "disk.db")}, {Path: filepath.Join(dir, "net.db"), AsNetwork: true}, {InMemory: true}} {
		w := openWriting(t, o)
		w.insert("a")
		w.insert("b")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 20 {
					w.readTwice()
				}
			})
		}
		for range 20 {
			if err := w.GiveBackMemory(t.Context()); err != nil {
				t.Error(err)
			}
		}
		all.Wait()
		if err := w.GiveBackMemory(t.Context()); err != nil {
			t.Error(err)
		}
		if n := w.Read.Stats().OpenConnections; n != 0 {
			t.Errorf("%d readers are left", n)
		}
		w.insert("c")
		w.wantNames("a", "b", "c")
	}
}
