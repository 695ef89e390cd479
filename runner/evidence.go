package runner

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/oom"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

const (
	terminationSize = 4 << 10
	// maxOthers limits how many other jobs are named as victims.
	maxOthers = 10
)

// terminationFile returns the path where an attempt may write why it ends.
func (w *work) terminationFile(g *lease.Grant) string {
	path := output.LogPath("", w.runner.opts.WorkflowID, g.JobID, w.runner.about.RunID, g.Attempt, ".txt")
	return filepath.Join(w.runner.opts.OutputDir, output.TerminationDir, filepath.Base(path))
}

// findings is what the loop knows of an ended attempt. A worker gathers the rest.
type findings struct {
	grant           *lease.Grant
	key             string
	pid             int
	started         time.Time
	exit            *process.Exit
	spawnErr        *process.SpawnError
	killed          workflow.KillReason
	note            string
	files           output.Files
	alone           bool
	step            bool      // of Slurm: its process is srun
	shortSince      time.Time // as in attempt
	script          bool      // a recovery script: not measured, without outputs
	memoryLimit     int64
	runLimit        time.Duration
	usage           process.Usage
	dir             string
	terminationFile string
	detector        *failure.Detector
}

// report gathers the evidence of an ended attempt and returns its report.
func (f *findings) report(tracker *oom.Tracker, log *slog.Logger) lease.Report {
	r := lease.Report{
		LeaseRef:  f.grant.LeaseRef,
		StartedMS: f.started.UnixMilli(),
		EndedMS:   time.Now().UnixMilli(),
	}
	e := &r.Evidence
	e.KilledBy, e.Note = f.killed, f.note
	e.MemoryLimitBytes = f.memoryLimit
	e.RunLimitSeconds = int64(f.runLimit / time.Second)
	if f.spawnErr != nil {
		f.addSpawnError(e)
		f.detector.Match(e, "")
		return r
	}
	r.EndedMS = f.exit.At.UnixMilli()
	if f.exit.Signal != 0 {
		e.Signal = f.exit.Signal
	} else {
		code := int64(f.exit.Code)
		e.ExitCode = &code
	}
	switch {
	case f.script:
		f.addMessages(e)
		return r
	case f.step:
		if f.grant.Requirements != workflow.DefaultRequirements {
			e.MemoryLimitBytes = f.grant.MemoryBytes // Slurm enforces it
		}
		f.addMessages(e)
		steps.ExplainByStderr(e, output.Tail(f.files.Stderr, output.TailSize), f.killed != "")
	case f.pid != 0:
		f.addUsage(e)
		f.addOOM(e, tracker)
		f.addMessages(e)
	default:
		f.addUsage(e)
	}
	if f.files.SrunOnly {
		_ = os.Remove(f.files.Stderr) // harmless if it stays
	}
	if f.succeeded() {
		found := output.CheckDeclared(f.grant.OutputFiles, f.dir)
		r.FileTimes = found.Times
		e.MissingOutputs, e.MissingOutputCount = found.Missing, found.Count
		if found.Count == 0 && f.files.DeleteIfOK {
			if err := f.files.Remove(); err != nil {
				log.Warn("cannot delete output files", "job_id", f.grant.JobID, "error", err)
			}
		}
	}
	return r
}

func (f *findings) succeeded() bool { return f.exit.Signal == 0 && f.exit.Code == 0 }

func (f *findings) addSpawnError(e *workflow.Evidence) {
	e.SpawnError = f.spawnErr.Error()
	e.SpawnErrno = f.spawnErr.Errno
	e.SpawnOfCommand = f.spawnErr.OfCommand
	errno := unix.Errno(f.spawnErr.Errno)
	e.DiskFull = errno == unix.ENOSPC || errno == unix.EDQUOT
}

// addUsage takes the larger of the sampled and the kernel's values. The kernel's peak
// counts only above our own size, at which every child starts.
func (f *findings) addUsage(e *workflow.Evidence) {
	e.PeakMemoryBytes = f.usage.PeakMemory
	e.AvgMemoryBytes = f.usage.AverageMemory()
	if f.exit.MaxRSS > e.PeakMemoryBytes && f.exit.MaxRSS > ownMaxRSS() {
		e.PeakMemoryBytes = f.exit.MaxRSS
	}
	if e.AvgMemoryBytes == 0 {
		e.AvgMemoryBytes = e.PeakMemoryBytes
	}
	cpu := max(f.exit.CPU, f.usage.CPU)
	e.CPUSeconds = cpu.Seconds()
	if elapsed := f.exit.At.Sub(f.started); elapsed > 0 {
		e.AvgCPUPercent = 100 * cpu.Seconds() / elapsed.Seconds()
	}
	e.PeakCPUPercent = max(f.usage.PeakCPU, e.AvgCPUPercent)
}

func ownMaxRSS() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Maxrss << 10
}

// addOOM attributes the OOM kills that the kernel counted meanwhile.
func (f *findings) addOOM(e *workflow.Evidence, tracker *oom.Tracker) {
	exit := oom.Exit{At: f.exit.At, Signal: f.exit.Signal, Code: f.exit.Code, ByUs: f.killed != "",
		Size: min(f.exit.MaxRSS, e.PeakMemoryBytes)} // of the tree, and not our own size
	found := tracker.Finish(f.key, exit)
	if found.Grown <= 0 {
		return
	}
	e.OOMKills = found.Grown
	e.OOMExclusive = f.alone && found.OnlyUs
	s := found.Share
	e.OOMShare = &workflow.OOMShare{
		Kills: s.Kills, Seen: s.Seen, Process: s.Process, Doubtful: s.Doubt, Likely: s.Likely,
		Others: s.Others[:min(len(s.Others), maxOthers)], OtherCount: len(s.Others),
	}
	if s.Kills+s.Doubt > 0 && exit.Killed() {
		e.OOMVictims = 1
	}
	if e.OOMExclusive { // no other job can have been hit
		e.OOMShare.Kills, e.OOMShare.Doubtful, e.OOMShare.Likely = found.Grown, 0, false
	}
}

// addMessages adds what the attempt wrote about its end.
func (f *findings) addMessages(e *workflow.Evidence) {
	if message := output.Tail(f.terminationFile, terminationSize); message != "" {
		e.TerminationMessage = message
		_ = os.Remove(f.terminationFile) // the report has it
	}
	if f.succeeded() {
		return
	}
	text := output.Tail(f.files.Stderr, workflow.CategoryTextSize)
	if f.detector.Match(e, text); f.script {
		e.Category, e.Subcategory, e.CategoryHint, e.CategoryLine = "", "", "", "" // only attempts have them
	}
	e.StderrTail = output.Clip(text, output.TailSize)
	e.DiskFull = strings.Contains(e.StderrTail, unix.ENOSPC.Error()) ||
		strings.Contains(strings.ToLower(e.StderrTail), "no space left on device") ||
		strings.Contains(strings.ToLower(e.StderrTail), "disk quota exceeded") ||
		e.StderrTail == "" && hasNoRoom(f.files.Stderr) // there was no space for the message either
}

// hasNoRoom reports whether the file system that a file is on is full.
func hasNoRoom(path string) bool {
	var s unix.Statfs_t
	if path == "" || unix.Statfs(path, &s) != nil {
		return false
	}
	return s.Blocks > 0 && s.Bavail == 0 || s.Files > 0 && s.Ffree == 0
}
