package faults

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// programs are Slurm's programs that have a wrapper in front of the real ones.
var programs = []string{"sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo", "sacctmgr", "srun"}

// wrapper counts the calls and carries out a fault, if there is one.
const wrapper = `#!/bin/bash
name=${0##*/}
if [ -z "$SLURM_JOB_ID" ]; then
	printf '%s %s %s\n' "$(date +%s.%N)" "$name" "$*" >>'DIR/calls'
fi
if [ "$name" = sbatch ]; then exec 2> >(tee -a 'DIR/refusals' >&2); fi
real() { /usr/bin/$name "$@"; }
if [ -f "DIR/fault/$name" ]; then . "DIR/fault/$name"; fi
exec "/usr/bin/$name" "$@"
`

// job is what all jobs run: it records its start and end, and holds a lock as long as any
// of its processes lives. Its arguments are a duration, and what it does when it is told
// to end. A job that lingers continues after the first attempt's time is over, without
// the lock, like a process that it left behind.
const job = `#!/bin/bash
note() { printf '%s %s %s %s %s %s %s\n' "$1" "$TORC_JOB_NAME" "$TORC_ATTEMPT_ID" "$$" "$(date +%s.%N)" "${SLURM_JOB_ID:--}" "$TORC_JOB_ID" >>'DIR/journal'; }
exec 8>>"DIR/lock/${TORC_JOB_NAME//\//-}"
flock -n 8 || note TWICE
note start
case $2 in
checkpoint) trap 'note checkpoint; touch "DIR/saved/$TORC_JOB_NAME"; exit 0' TERM ;;
ignore) trap '' TERM INT ;;
linger) if [ "$TORC_ATTEMPT_ID" = 1 ]; then sleep "$1"; note lingers; exec 8>&-; sleep 1000; fi ;;
hog) head -c "${HOG:-600m}" /dev/zero | tail >/dev/null; status=$?; note hogged; exit $status ;;
esac
end=$((SECONDS + $1))
while ((SECONDS < end)); do sleep 0.5; done
note end
`

func (w *world) writeScripts() {
	for _, name := range programs {
		w.write("bin/"+name, strings.ReplaceAll(wrapper, "DIR", w.dir), 0o755)
	}
	w.write("job.sh", strings.ReplaceAll(job, "DIR", w.dir), 0o755)
	for _, name := range []string{"fault/.", "lock/.", "saved/.", "out/."} {
		if err := os.MkdirAll(w.path(name), 0o777); err != nil {
			w.t.Fatal(err)
		}
		if err := os.Chown(w.path(name), int(w.owner.Uid), int(w.owner.Gid)); err != nil {
			w.t.Fatal(err)
		}
	}
	w.write("journal", "", 0o644)
	w.write("calls", "", 0o644)
	w.write("token", strings.Repeat("f", 40), 0o600)
}

// fault has a program of Slurm first run a piece of shell script, in which DIR is the
// world's folder.
func (w *world) fault(program, script string) {
	w.write("fault/"+program, strings.ReplaceAll(script, "DIR", w.dir)+"\n", 0o644)
}

// endFault ends a fault.
func (w *world) endFault(program string) {
	if err := os.Remove(w.path("fault", program)); err != nil {
		w.t.Fatal(err)
	}
}

// call is a call of a Slurm program by the user's daemon or command line. Calls of
// runners in allocations are not counted.
type call struct {
	at      time.Time
	program string
	args    string
}

func (w *world) calls() []call {
	var all []call
	for _, line := range w.lines("calls") {
		at, rest, _ := strings.Cut(line, " ")
		program, args, _ := strings.Cut(rest, " ")
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil {
			w.t.Fatalf("calls: %q: %v", line, err)
		}
		all = append(all, call{time.UnixMilli(int64(seconds * 1000)), program, args})
	}
	return all
}

// sbatchFailsOnce has the next sbatch time out, after or instead of creating a job; a
// piece of shell script says how it times out.
func (w *world) sbatchFailsOnce(makes bool, how string) {
	act := `cat >/dev/null`
	if makes {
		act = `real "$@" >/dev/null`
	}
	w.fault("sbatch", `rm -f "$BASH_SOURCE"; `+act+`; `+how)
}

func (w *world) lines(name string) []string {
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
