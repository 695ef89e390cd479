package runner

import (
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// EventKind names what an Event tells.
type EventKind string

// The kinds of events.
const (
	EventRegistered EventKind = "registered"  // the daemon knows the runner
	EventGranted    EventKind = "granted"     // a job is ours to run
	EventStarted    EventKind = "started"     // its process runs
	EventEnded      EventKind = "ended"       // the daemon has recorded its end
	EventRecovering EventKind = "recovering"  // its recovery script runs
	EventRecovered  EventKind = "recovered"   // its recovery script has ended
	EventVoided     EventKind = "voided"      // it was given to others
	EventAction     EventKind = "action"      // an action was carried out
	EventOutage     EventKind = "outage"      // the daemon does not answer
	EventResumed    EventKind = "resumed"     // it answers again
	EventStopping   EventKind = "stopping"    // the runner takes nothing new
	EventOutputLost EventKind = "output_lost" // somebody removed the output directory
)

// Event is something that a person who watches a runner wants to see. Only the
// fields that matter to its kind are set.
type Event struct {
	Kind    EventKind
	Time    time.Time
	JobID   int64
	JobName string
	Attempt int64
	// Status, ReturnCode, Cause and Reason are the daemon's words on an end.
	Status     workflow.JobStatus
	ReturnCode int64
	Cause      workflow.CauseKind
	Reason     string
	Duration   time.Duration // of the attempt
	Message    string        // of outages, stops, refusals, actions
	Failed     bool          // of a command of an action
}

// Summary is what a runner did in its life.
type Summary struct {
	RunnerID int64
	RunID    int64
	Workflow string // its name
	Duration time.Duration
	// Started counts processes, Attempts the ends that the daemon recorded.
	Started  int64
	Attempts int64
	ByStatus map[workflow.JobStatus]int64 // of jobs after their attempts
	ByCause  map[workflow.CauseKind]int64
	// Undelivered counts reports that are in the spool and not with the daemon.
	Undelivered int
	OutputLost  []string // what there is to say of an output directory that was removed
	Reason      string   // why the runner left
	// Complete, Canceled and OpenJobs are the daemon's last word on the
	// workflow.
	Complete bool
	Canceled bool
	OpenJobs int64
	// Offer is what the runner had when nothing ran, for the whole of its time.
	Offer placement.Offer

	SampleCount     int64
	PeakCPUPercent  float64
	AvgCPUPercent   float64
	PeakMemoryBytes int64
	AvgMemoryBytes  int64
}
