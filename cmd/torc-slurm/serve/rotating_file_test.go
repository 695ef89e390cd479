package serve

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestRotatingFile fills a log eight times: five predecessors are kept, and no
// record is cut in two.
func TestRotatingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "server.log")
	f, err := openRotating(path)
	if err != nil {
		t.Fatal(err)
	}
	const records = 8
	for i := range records {
		record := bytes.Repeat([]byte{byte('a' + i)}, rotateSize-10)
		for _, part := range [][]byte{record, []byte("tail\n")} {
			if n, err := f.Write(part); err != nil || n != len(part) {
				t.Fatalf("wrote %d bytes, %v", n, err)
			}
		}
	}
	f.Close()
	names := []string{path}
	for i := range rotateKeep {
		names = append(names, fmt.Sprintf("%s.%d", path, i+1))
	}
	for i, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if want := byte('a' + records - 1 - i); text[0] != want || len(text) != rotateSize-5 || !bytes.HasSuffix(text, []byte("tail\n")) {
			t.Errorf("%s has %d bytes that begin with %c, want %c", name, len(text), text[0], want)
		}
	}
	if _, err := os.Stat(fmt.Sprintf("%s.%d", path, rotateKeep+1)); err == nil {
		t.Error("too many are kept")
	}

	// A later server appends.
	if f, err = openRotating(path); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("next\n")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != rotateSize {
		t.Errorf("size %d, %v", info.Size(), err)
	}
}
