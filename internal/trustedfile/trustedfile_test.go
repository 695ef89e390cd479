package trustedfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// stranger is another user.
const stranger = 65534

// tree is a folder for a test.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T) tree {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{t, root}
	tr.mode(".", 0o755)
	return tr
}

func (tr tree) path(name string) string { return filepath.Join(tr.root, name) }

func (tr tree) check(err error) {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatal(err)
	}
}

func (tr tree) dir(name string, mode fs.FileMode) {
	tr.check(os.Mkdir(tr.path(name), 0o700))
	tr.mode(name, mode)
}
func (tr tree) mode(name string, mode fs.FileMode) { tr.check(os.Chmod(tr.path(name), mode)) }
func (tr tree) link(name, target string)           { tr.check(os.Symlink(target, tr.path(name))) }

func (tr tree) file(name string, mode fs.FileMode) {
	tr.check(os.WriteFile(tr.path(name), []byte("text"), 0o600))
	tr.mode(name, mode)
}

// owner gives a file, or a link, to another user, or to another group if uid is ours.
func (tr tree) owner(name string, uid, gid int) {
	tr.t.Helper()
	if os.Geteuid() != 0 {
		tr.t.Skip("only root can give files to another user")
	}
	tr.check(os.Lchown(tr.path(name), uid, gid))
}

// TestRead: a file is read if nobody else could have written it in any way.
func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		make  func(tr tree)
		plain bool
		want  string // of the error; empty if it is read
	}{
		{name: "ours", make: func(tr tree) { tr.file("d/f", 0o644) }},
		{name: "not there", make: func(tree) {}, want: "no such file"},
		{name: "writable for all", make: func(tr tree) { tr.file("d/f", 0o646) }, want: "everybody can write it (mode 0646)"},
		{name: "writable for a group", make: func(tr tree) { tr.file("d/f", 0o664); tr.owner("d/f", 0, 1) }, want: "the group daemon can write it (mode 0664)"},
		{name: "writable for our own group", make: func(tr tree) { tr.file("d/f", 0o664); tr.mode("d", 0o775) }},
		{name: "a stranger's", make: func(tr tree) { tr.file("d/f", 0o644); tr.owner("d/f", stranger, 0) }, want: "it belongs to the user nobody (uid 65534)"},
		{name: "in a stranger's folder", make: func(tr tree) { tr.file("d/f", 0o644); tr.owner("d", stranger, 0) }, want: "belongs to the user nobody"},
		{name: "in a folder that all can write", make: func(tr tree) { tr.file("d/f", 0o644); tr.mode("d", 0o777) }, want: "everybody can write into the folder"},
		{name: "in a folder that a group can write", make: func(tr tree) { tr.file("d/f", 0o644); tr.owner("d", 0, 1); tr.mode("d", 0o775|fs.ModeSetgid) }, want: "the group daemon can write into the folder"},
		{name: "ours in a folder like /tmp", make: func(tr tree) { tr.file("d/f", 0o644); tr.mode("d", 0o777|fs.ModeSticky) }},
		{name: "a stranger's in a folder like /tmp", make: func(tr tree) {
			tr.file("d/f", 0o644)
			tr.owner("d/f", stranger, 0)
			tr.mode("d", 0o777|fs.ModeSticky)
		}, want: "belongs to the user nobody"},
		{name: "below a folder that all can write", make: func(tr tree) { tr.file("d/f", 0o644); tr.mode(".", 0o777) }, want: "everybody can write into the folder"},
		{name: "below a stranger's folder", make: func(tr tree) { tr.file("d/f", 0o644); tr.owner(".", stranger, 0) }, want: "belongs to the user nobody"},
		{name: "by a link of ours", make: func(tr tree) { tr.file("real", 0o644); tr.link("d/f", "../real") }},
		{name: "by a link where none is allowed", make: func(tr tree) { tr.file("real", 0o644); tr.link("d/f", "../real") }, plain: true, want: "symbolic link"},
		{name: "by a folder that is a link of ours", make: func(tr tree) {
			tr.check(os.Remove(tr.path("d")))
			tr.dir("elsewhere", 0o700)
			tr.file("elsewhere/f", 0o644)
			tr.link("d", tr.path("elsewhere"))
		}, plain: true},
		{name: "by a stranger's link in a folder like /tmp", make: func(tr tree) {
			tr.file("real", 0o644)
			tr.link("d/f", "../real")
			tr.owner("d/f", stranger, 0)
			tr.mode("d", 0o777|fs.ModeSticky)
		}, want: "belongs to the user nobody"},
		{name: "by a link to where others can write", make: func(tr tree) {
			tr.dir("open", 0o777)
			tr.file("open/f", 0o644)
			tr.link("d/f", "../open/f")
		}, want: "everybody can write into the folder"},
		{name: "a link to itself", make: func(tr tree) { tr.link("d/f", "f") }, want: "too many levels"},
		{name: "a folder", make: func(tr tree) { tr.dir("d/f", 0o755) }, want: "not a regular file"},
		{name: "a stranger's in a folder that we trust", make: func(tr tree) {
			tr.file("d/f", 0o666)
			tr.owner("d/f", stranger, 0)
			tr.mode("d", 0o777)
			Trust([]string{tr.path("d")})
			tr.t.Cleanup(func() { Trust(nil) })
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := newTree(t)
			tr.dir("d", 0o755)
			tc.make(tr)
			text, err := read(tr.path("d/f"), rules{plain: tc.plain})
			switch {
			case tc.want == "" && (err != nil || string(text) != "text"):
				t.Errorf("read: %q, %v", text, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("read: %q, %v; want an error with %q", text, err, tc.want)
			}
			if tc.name == "not there" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is not fs.ErrNotExist", err)
			}
		})
	}
}

// TestReadSecret: a secret that others can read is rejected.
func TestReadSecret(t *testing.T) {
	tr := newTree(t)
	tr.file("f", 0o640)
	if _, err := ReadSecret(tr.path("f")); workflow.CodeOf(err) != workflow.CodeForbidden || !strings.Contains(err.Error(), "chmod 600 "+tr.path("f")) {
		t.Errorf("a secret that a group can read: %v", err)
	}
	tr.mode("f", 0o600)
	if text, err := ReadSecret(tr.path("f")); err != nil || string(text) != "text" {
		t.Errorf("a secret: %q, %v", text, err)
	}
}

// TestCheckFolder: what counts is who could replace files in a folder.
func TestCheckFolder(t *testing.T) {
	tr := newTree(t)
	tr.dir("d", 0o777)
	if err := CheckFolder(tr.path("d")); workflow.CodeOf(err) != workflow.CodeForbidden {
		t.Errorf("a folder that all can write: %v", err)
	}
	tr.mode("d", 0o777|fs.ModeSticky)
	if err := CheckFolder(tr.path("d")); err != nil {
		t.Errorf("a folder like /tmp: %v", err)
	}
	tr.mode("d", 0o755)
	if err := CheckFolder(tr.path("d")); err != nil {
		t.Errorf("a folder of ours: %v", err)
	}
}

// TestAppend: a log in a shared folder is appended to if it is ours. Whatever somebody
// has put in its place is not.
func TestAppend(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(tr tree)
		want string
	}{
		{name: "new", make: func(tree) {}},
		{name: "ours", make: func(tr tree) { tr.file("d/log", 0o664) }},
		{name: "a link", make: func(tr tree) { tr.link("d/log", "../mine") }, want: "symbolic link"},
		{name: "a link to nothing", make: func(tr tree) { tr.link("d/log", "../new") }, want: "symbolic link"},
		{name: "a hard link", make: func(tr tree) { tr.check(os.Link(tr.path("mine"), tr.path("d/log"))) }, want: "hard link"},
		{name: "a stranger's file", make: func(tr tree) { tr.file("d/log", 0o666); tr.owner("d/log", stranger, 0) }, want: "belongs to the user nobody"},
		{name: "a pipe", make: func(tr tree) { tr.check(unix.Mkfifo(tr.path("d/log"), 0o666)) }, want: "not a regular file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := newTree(t)
			tr.dir("d", 0o777)
			tr.file("mine", 0o600)
			tc.make(tr)
			f, err := Append(tr.path("d/log"), 0o666)
			if err == nil {
				_, err = f.WriteString(" more")
				tr.check(errors.Join(err, f.Close()))
			}
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v; want an error with %q", err, tc.want)
			}
			if text, err := os.ReadFile(tr.path("mine")); err != nil || string(text) != "text" {
				t.Errorf("the file behind it now has %q, %v", text, err)
			}
			if _, err := os.Lstat(tr.path("new")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file was made through a link: %v", err)
			}
		})
	}
}

// TestAppendWithSecondName: in a folder where only we can write, a hard link is ours, for
// instance of a backup.
func TestAppendWithSecondName(t *testing.T) {
	tr := newTree(t)
	tr.file("log", 0o644)
	tr.check(os.Link(tr.path("log"), tr.path("backup")))
	f, err := Append(tr.path("log"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	tr.check(f.Close())
}

// TestWrite: whatever is in the place of a file is replaced, not written to.
func TestWrite(t *testing.T) {
	tr := newTree(t)
	tr.file("mine", 0o600)
	tr.link("f", "mine")
	tr.check(Write(tr.path("f"), []byte("new"), 0o644))
	mine, err := os.ReadFile(tr.path("mine"))
	if err != nil || string(mine) != "text" {
		t.Errorf("the file behind the link: %q, %v", mine, err)
	}
	info, err := os.Lstat(tr.path("f"))
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("the new file: %v, %v", info.Mode(), err)
	}
}

// TestHasOthers: a group is private if the group file names no other member.
func TestHasOthers(t *testing.T) {
	const file = "root:x:0:\nalice:x:1000:\nproj:x:2000:alice,bob\nbob:x:1001:bob\n"
	for group, want := range map[string]bool{"alice": false, "proj": true, "bob": true, "nowhere": false} {
		if got := hasOthers([]byte(file), group, "alice"); got != want {
			t.Errorf("group %s: %v", group, got)
		}
	}
}
