package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxSize is the limit for a file of the repository, in bytes. The largest ones are
// generated and have some hundred KiB.
const maxSize = 1 << 20

// programs are the first bytes of compiled programs, by kind.
var programs = map[string]string{
	"\x7fELF":          "a program or library of Linux",
	"\xcf\xfa\xed\xfe": "a program or library of macOS",
	"\xca\xfe\xba\xbe": "a program or library of macOS",
	"MZ\x90\x00":       "a program or library of Windows",
	"!<arch>\n":        "an archive of object files",
}

// TestTrackedFiles checks that no compiled program and no large file is committed.
func TestTrackedFiles(t *testing.T) {
	names := tracked(t, root)
	if len(names) < 100 {
		t.Errorf("git tracks only %d files", len(names))
	}
	for _, name := range names {
		problem, err := fileProblem(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if problem != "" {
			t.Errorf("%s %s: remove it with git rm --cached and add it to .gitignore", name, problem)
		}
	}
}

// tracked returns the files of a folder that git tracks or that the next commit would
// add. Without a git work tree there are none to check.
func tracked(t *testing.T, dir string) []string {
	t.Helper()
	index, err := exec.Command("git", "-C", dir, "rev-parse", "--path-format=absolute", "--git-path", "index").CombinedOutput()
	if err != nil {
		t.Skipf("no git, or no git work tree here, so tracked files were not checked: %v: %s", err, index)
	}
	// The go command runs a passed test again if a file that it opened has changed.
	if _, err := os.ReadFile(strings.TrimSuffix(string(index), "\n")); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "-C", dir, "ls-files", "-z").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}

// fileProblem says why a file does not belong in the repository. A file that was deleted
// here is no problem, nor are links.
func fileProblem(path string) (problem string, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular():
		return "", nil
	case err != nil:
		return "", err
	case info.Size() > maxSize:
		return fmt.Sprintf("has %d bytes, the limit is %d", info.Size(), maxSize), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	start := make([]byte, 8)
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	for begin, what := range programs {
		if bytes.HasPrefix(start[:n], []byte(begin)) {
			return "is " + what, nil
		}
	}
	return "", nil
}

// TestTrackedFileProblems checks that the rules above can fail.
func TestTrackedFileProblems(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct{ text, want string }{
		"empty":      {"", ""},
		"short":      {"MZ", ""},
		"script":     {"#!/bin/sh\necho ELF\n", ""},
		"just small": {strings.Repeat("x", maxSize), ""},
		"large":      {strings.Repeat("x", maxSize+1), "has 1048577 bytes"},
		"program":    {"\x7fELF\x02\x01\x01", "is a program"},
		"library.a":  {"!<arch>\n/ 0", "is an archive"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := fileProblem(path)
		if err != nil || (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
	// A test binary that is added by force is found before it is committed.
	for _, args := range [][]string{{"init", "-q"}, {"add", "-f", "program", "script"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Skipf("git %v: %s, %v", args, out, err)
		}
	}
	if names := tracked(t, dir); strings.Join(names, " ") != "program script" {
		t.Errorf("git tracks %q", names)
	}
}
