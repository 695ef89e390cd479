package faults

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// strays counts the processes with a name, whatever their environment.
func strays(name string) (n int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if command, err := os.ReadFile(path); err == nil && bytes.HasPrefix(command, []byte(name+"\x00")) {
			n++
		}
	}
	return n
}

// TestStrayOfAKilledRunner: only its runner knows of a process that has left its session,
// cleared its environment and lost its parent. When the runner is killed, Slurm ends the
// process.
func TestStrayOfAKilledRunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	stray := "stray-of-" + w.name()
	w.write("stray.sh", "#!/bin/bash\nenv -i setsid -f bash -c 'exec -a "+stray+" sleep 600'\nexec ./job.sh 30\n", 0o755)
	id := w.submit(shape("debug", "", 10*time.Minute) + `jobs: [{name: job1, command: ./stray.sh}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`)
	a := w.untilRunning(id, 1)
	w.eventually(time.Minute, "the stray runs", func() bool { return strays(stray) == 1 })
	w.signal(w.runner(), syscall.SIGKILL)
	w.eventually(time.Minute, "the allocation ends", func() bool { return w.allocation(a.ID).State == "ended" })
	w.run("cancel", "--no-prompts", text(id))
	w.settleAllocations(id)
	if n := strays(stray); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}
