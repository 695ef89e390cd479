package socket

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// places are the folders of a test.
type places struct {
	*testing.T
	run, state, temp string
	// former is the socket of a daemon that has ended.
	former string
}

func newPlaces(t *testing.T) *places {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "socket-test") // the name of a test would be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &places{T: t, run: filepath.Join(dir, "run"), state: filepath.Join(dir, "state"), temp: filepath.Join(dir, "temp")}
	for _, dir := range []string{p.run, p.state, p.temp} {
		p.mkdir(dir, 0o700)
	}
	return p
}

func (p *places) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *places) mkdir(dir string, mode os.FileMode) {
	p.check(os.MkdirAll(dir, 0o700))
	p.mode(dir, mode)
}
func (p *places) mode(path string, mode os.FileMode) { p.check(os.Chmod(path, mode)) }
func (p *places) write(path string)                  { p.check(os.WriteFile(path, nil, 0o600)) }

// stranger gives a file to another user and to a group.
func (p *places) stranger(path string, uid, gid int) {
	if os.Geteuid() != 0 {
		p.Skip("only root can give files to another user")
	}
	p.check(os.Lchown(path, uid, gid))
}

// leave creates the socket of a process that was killed.
func (p *places) leave(path string) {
	l, err := net.Listen("unix", path)
	p.check(err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	p.check(l.Close())
	p.former = path
}

func (p *places) long() string { return filepath.Join(p.temp, strings.Repeat("a_long_name/", 7)) }

const (
	nobody = 65534
	inRun  = `^RUN/torc-slurm-x\.sock$`
	inHome = `^STATE/torc-slurm-x\.sock$`
	inTemp = `^TEMP/torc-slurm-[0-9]+/torc-slurm-x\.sock$`
)

// TestListen: whatever makes one folder unusable, there is another one.
func TestListen(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(p *places)
		want string // where it listens
	}{
		{"all will do", func(*places) {}, inRun},
		{"the runtime folder is not set", func(p *places) { p.run = "" }, inHome},
		{"it does not exist", func(p *places) { p.check(os.Remove(p.run)) }, inHome},
		{"it is a relative path", func(p *places) { p.run = "run" }, inHome},
		{"others can read it", func(p *places) { p.mode(p.run, 0o750) }, inHome},
		{"a group can write it", func(p *places) { p.mode(p.run, 0o770); p.stranger(p.run, 0, 1) }, inHome},
		{"it is another user's", func(p *places) { p.stranger(p.run, nobody, 0) }, inHome},
		{"it is a link", func(p *places) {
			p.check(os.Rename(p.run, p.run+"2"))
			p.check(os.Symlink(p.run+"2", p.run))
		}, inHome},
		{"it is a file", func(p *places) { p.check(os.Remove(p.run)); p.write(p.run) }, inHome},
		{"it cannot be written to", func(p *places) {
			if os.Geteuid() == 0 {
				p.Skip("root can write to everything")
			}
			p.mode(p.run, 0o500)
		}, inHome},
		{"another file has the name", func(p *places) { p.write(p.run + "/torc-slurm-x.sock") }, inHome},
		{"its path is too long", func(p *places) { p.run = p.long(); p.mkdir(p.run, 0o700) }, inHome},
		{"there is a dead socket", func(p *places) { p.leave(p.run + "/torc-slurm-x.sock") }, inRun},
		{"another process listens there", func(p *places) {
			l, err := net.Listen("unix", p.run+"/torc-slurm-x.sock")
			p.check(err)
			p.Cleanup(func() { _ = l.Close() })
		}, inHome},

		{"others can read the state folder", func(p *places) { p.run = ""; p.mode(p.state, 0o755) }, inHome},
		{"others can write to it", func(p *places) { p.run = ""; p.mode(p.state, 0o777) }, inTemp},
		{"a group can write it", func(p *places) { p.run = ""; p.mode(p.state, 0o770); p.stranger(p.state, 0, 1) }, inTemp},
		{"it is another user's as well", func(p *places) { p.run = ""; p.stranger(p.state, nobody, 0) }, inTemp},
		{"its path is too long, too", func(p *places) { p.run, p.state = "", p.long(); p.mkdir(p.state, 0o700) }, inTemp},
		{"neither is set", func(p *places) { p.run, p.state = "", "" }, inTemp},

		{"everybody can write to the temporary directory", func(p *places) { p.run, p.state = "", ""; p.mode(p.temp, 0o777|os.ModeSticky) }, inTemp},
		{"others can rename its entries", func(p *places) { p.run, p.state = "", ""; p.mode(p.temp, 0o777) }, `^/tmp/torc-slurm-[0-9]+/`},
		{"its path is too long as well", func(p *places) { p.run, p.state, p.temp = "", "", p.long(); p.mkdir(p.temp, 0o700) }, `^/tmp/torc-slurm-[0-9]+/`},
		{"it does not exist, either", func(p *places) { p.run, p.state, p.temp = "", "", p.temp+"/gone" }, `^/tmp/torc-slurm-[0-9]+/`},

		{"a former folder", func(p *places) {
			p.run, p.state = "", ""
			p.mkdir(p.temp+"/torc-slurm-1", 0o700)
			p.leave(p.temp + "/torc-slurm-1/torc-slurm-x.sock")
		}, `^TEMP/torc-slurm-1/torc-slurm-x\.sock$`},
		{"a former folder that others can write to", func(p *places) {
			p.run, p.state = "", ""
			p.mkdir(p.temp+"/torc-slurm-1", 0o700)
			p.leave(p.temp + "/torc-slurm-1/torc-slurm-x.sock")
			p.mode(p.temp+"/torc-slurm-1", 0o777)
		}, inTemp},
		{"a former folder that is no longer needed", func(p *places) {
			p.mkdir(p.temp+"/torc-slurm-1", 0o700)
			p.leave(p.temp + "/torc-slurm-1/torc-slurm-x.sock")
		}, inRun},
		{"a former socket in the state folder", func(p *places) { p.leave(p.state + "/torc-slurm-x.sock") }, inRun},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlaces(t)
			tc.make(p)
			l, err := Listen(Folders{Runtime: p.run, State: p.state, Temp: []string{p.temp, "/tmp"}}, "x", p.former)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("RUN", p.run, "STATE", p.state, "TEMP", p.temp).Replace(tc.want)
			if !regexp.MustCompile(want).MatchString(l.Path()) || strings.Contains(l.Path(), "/torc-slurm-1/") && !strings.Contains(want, "/torc-slurm-1/") {
				t.Errorf("it listens at %s, want %s", l.Path(), want)
			}
			if info, err := os.Stat(l.Path()); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the socket: %v, %v", info, err)
			}
			c, err := net.Dial("unix", l.Path())
			if err != nil {
				t.Error(err)
			} else {
				_ = c.Close()
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			p.mustBeGone(l.Path())
			if dir := filepath.Dir(l.Path()); strings.HasPrefix(filepath.Base(dir), prefix) {
				p.mustBeGone(dir)
			}
			if p.former != "" && !strings.Contains(tc.name, "others can write") {
				p.mustBeGone(p.former)
			}
		})
	}
}

func (p *places) mustBeGone(path string) {
	p.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		p.Errorf("%s still exists: %v", path, err)
	}
}

// TestNowhere: the error says why each folder is unusable, and nothing is left.
func TestNowhere(t *testing.T) {
	p := newPlaces(t)
	if _, err := Listen(Folders{Runtime: p.run, State: p.state, Temp: []string{p.temp}}, strings.Repeat("x", maxPath), ""); err == nil ||
		strings.Count(err.Error(), "too long") != 3 {
		t.Error(err)
	}
	for _, dir := range []string{p.run, p.state, p.temp} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%v, %v", entries, err)
		}
	}
}

// TestWhatIsLeftAlone: the former socket in an endpoint file is not removed unless it is
// a socket.
func TestWhatIsLeftAlone(t *testing.T) {
	p := newPlaces(t)
	other, err := net.Listen("unix", p.temp+"/torc-slurm-y.sock")
	p.check(err)
	defer other.Close()
	p.write(p.temp + "/torc-slurm-file")
	p.write(p.temp + "/important")
	for _, former := range []string{"/torc-slurm-y.sock", "/torc-slurm-file", "/important"} {
		l, err := Listen(Folders{Runtime: p.run}, "x", p.temp+former)
		p.check(err)
		p.check(l.Close())
		if _, err := os.Lstat(p.temp + former); err != nil {
			t.Error(err)
		}
	}
}
