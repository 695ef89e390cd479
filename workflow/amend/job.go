// Package amend compares a workflow with a new definition of it: which jobs have to run
// again and why, which are new, and which the definition no longer has.
package amend

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// Side is what is compared: the workflow as it is, or its new definition.
type Side struct {
	Jobs     []Job
	Files    []File
	UserData []UserData
	// Stated says that the states of the files are known.
	Stated bool
}

// Job is a job of a side. It refers to other jobs, files and user data by their index in
// the side; the lists are ascending.
type Job struct {
	Name           string
	Command        string
	Script         string            // the invocation script
	Env            map[string]string // the workflow's, overridden by the job's
	DependsOn      []int32
	InputFiles     []int32
	OutputFiles    []int32
	InputUserData  []int32
	OutputUserData []int32
	Settings       Settings
	Stage          int32 // the stage that it is in; 0: the main one
	Child          int32 // the stage that it stands for, as a sub-workflow job; 0: none
	State          State // of a job of the workflow
}

// File is a file of a side.
type File struct {
	Name string
	Path string
	// ModTime is in seconds since the epoch; nil if the file does not exist, or, in the
	// workflow, if it is not known. Size is in bytes; nil if it is not known.
	ModTime *float64
	Size    *int64
}

// change returns how a file that exists in the workflow has changed; empty if it has not.
func (f *File) change(now *File) string {
	switch {
	case f.ModTime == nil:
		return ""
	case now.ModTime == nil:
		return now.Path + " is gone"
	case f.Size != nil && now.Size != nil && *f.Size != *now.Size:
		return fmt.Sprintf("%s has changed from %d to %d bytes", now.Path, *f.Size, *now.Size)
	case !artifact.SameTime(f.ModTime, now.ModTime):
		return now.Path + " was modified"
	}
	return ""
}

// UserData is a record of user data of a side.
type UserData struct {
	Name string
	Data string // JSON; empty if there is none, or if jobs write it
}

// State is how far a job of the workflow is.
type State struct {
	Status    workflow.JobStatus
	NotNeeded bool // disabled, because it runs only after a failure and there was none
	Skipped   bool // canceled, because a job before it did not succeed
	Spawned   bool // a job of the workflow added it, so that no definition has it
	Removed   bool // an earlier definition no longer had it
	Rests     bool // it is in a compensation, which only a failed run starts
}

// Settings are the properties of a job that apply without running it again, as texts.
type Settings struct {
	Requirements   string
	Priority       int64
	Labels         string
	Scheduler      string
	FailureHandler string
	RunIf          workflow.RunIf
	Policy         string
	Stdio          string
	RunTimeout     string
}

// changes returns how settings differ from those before, one text for each.
func (s *Settings) changes(before *Settings) (all []string) {
	if *s == *before {
		return nil
	}
	for _, v := range []struct{ key, before, now string }{
		{"resource_requirements", before.Requirements, s.Requirements},
		{"priority", strconv.FormatInt(before.Priority, 10), strconv.FormatInt(s.Priority, 10)},
		{"labels", before.Labels, s.Labels},
		{"scheduler", before.Scheduler, s.Scheduler},
		{"failure_handler", before.FailureHandler, s.FailureHandler},
		{"run_if", before.RunIf.String(), s.RunIf.String()},
		{"policy", before.Policy, s.Policy},
		{"stdio", before.Stdio, s.Stdio},
		{"run_timeout", before.RunTimeout, s.RunTimeout},
	} {
		if v.before != v.now {
			all = append(all, v.key+": "+difference(v.before, v.now))
		}
	}
	return all
}

// longestPart is how many characters of either side of a difference are shown.
const longestPart = 60

// difference returns what differs between two texts: "--steps 10 → --steps 20". Words that
// both begin or end with are left out, except the one before the difference if that may
// be its name.
func difference(before, now string) string {
	if before == "" || now == "" {
		return shorten(before) + " → " + shorten(now)
	}
	a, b := strings.Fields(before), strings.Fields(now)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if start == len(a) && start == len(b) {
		return "only white space differs"
	}
	from := max(start-1, 0)
	if start < len(a)-end && start < len(b)-end && strings.Contains(a[start], "=") && strings.Contains(b[start], "=") {
		from = start
	}
	return shorten(strings.Join(a[from:len(a)-end], " ")) + " → " + shorten(strings.Join(b[from:len(b)-end], " "))
}

// shorten returns the beginning of a long text, and a dash for an empty one.
func shorten(text string) string {
	if text == "" {
		return "–"
	}
	if runes := []rune(text); len(runes) > longestPart {
		return string(runes[:longestPart-1]) + "…"
	}
	return text
}

// nameList returns the first names of a list.
func nameList(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
