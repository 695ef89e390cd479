package runner

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// statusFields reads the fields of a file such as /proc/self/status.
func statusFields(text string) map[string]string {
	fields := make(map[string]string)
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// TestWhatAJobInherits: a job starts from a clean state, and inherits from the runner
// only what a user has chosen for it.
func TestWhatAJobInherits(t *testing.T) {
	d := runnertest.New(job(`cat /proc/self/status; echo descriptors: /proc/self/fd/*; read -r line; echo "stdin:$?"; ps -o sid= -p $$ | grep -qw $$ && echo session:own`))
	o := testOptions(t, d)
	run(t, o)
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	us, it := statusFields(string(own)), statusFields(logText(t, o.OutputDir, 1, 1, ".o"))
	for name, want := range map[string]string{
		"Umask": us["Umask"], "SigBlk": "0000000000000000", "SigIgn": us["SigIgn"],
		"stdin": "1", "session": "own", "Seccomp": us["Seccomp"], "NoNewPrivs": us["NoNewPrivs"],
	} {
		if it[name] != want {
			t.Errorf("%s is %q, want %q", name, it[name], want)
		}
	}
	for _, path := range strings.Fields(it["descriptors"]) {
		// The shell uses one more to read the directory.
		name := filepath.Base(path)
		if n, err := strconv.Atoi(name); err != nil || n > 3 && !isInherited(name) {
			t.Errorf("descriptor %s is open", name)
		}
	}
	info, err := os.Stat(output.LogPath(o.OutputDir, 1, 1, 1, 1, ".o"))
	if err != nil {
		t.Fatal(err)
	}
	if want := os.FileMode(0o666 &^ parseOctal(us["Umask"])); info.Mode().Perm() != want {
		t.Errorf("the file has mode %v, want %v", info.Mode(), want)
	}
}

// isInherited reports whether a descriptor of this process was inherited: those that we
// have opened are closed when another program starts.
func isInherited(descriptor string) bool {
	text, err := os.ReadFile("/proc/self/fdinfo/" + descriptor)
	if err != nil {
		return false
	}
	flags := statusFields(string(text))["flags"]
	return parseOctal(flags)&unix.O_CLOEXEC == 0
}

func parseOctal(text string) (n int) {
	for _, digit := range text {
		n = n<<3 | int(digit-'0')
	}
	return n
}

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		order lease.Order
		want  workflow.JobStatus
	}{
		{lease.OrderDrain, workflow.Completed},
		{lease.OrderStop, workflow.Ready}, // returned
	} {
		t.Run(string(c.order), func(t *testing.T) {
			dir := t.TempDir()
			d := runnertest.New(job("echo $$ > "+dir+"/pid; until [ -e "+dir+"/go ]; do sleep 0.01; done"),
				runnertest.Job{Grant: lease.Grant{Command: "true"}, After: []int64{1}})
			r := start(t, testOptions(t, d))
			pid := runnertest.ProcessIn(t, dir+"/pid")
			d.Order(c.order)
			if c.order == lease.OrderStop {
				runnertest.Eventually(t, "the job has been ended", func() bool { return !pid.Alive() })
			}
			touch(t, dir+"/go")
			r.wait(t)
			if a, b := d.Job(1), d.Job(2); a.Status != c.want || b.Status != workflow.Ready {
				t.Errorf("jobs are %v and %v", a.Status, b.Status)
			}
		})
	}
}

func TestTerminationSignal(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("trap 'exit 9' USR1; trap 'exit 8' TERM; echo $$ > " + dir + "/pid; while :; do sleep 0.01; done"))
	d.Welcome.ExecutionConfig = &workflow.ExecutionConfig{TerminationSignal: "SIGUSR1"}
	r := start(t, testOptions(t, d))
	runnertest.ProcessIn(t, dir+"/pid")
	r.Stop(StopCancel)
	r.wait(t)
	if e := d.Job(1).Attempts[0].Evidence; e.ExitCode == nil || *e.ExitCode != 9 {
		t.Errorf("evidence %+v", e)
	}
}
