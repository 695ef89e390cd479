package runner

import (
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// EventKind is what an Event reports.
type EventKind string

// The kinds of events.
const (
	EventRegistered EventKind = "registered"  // with the daemon
	EventGranted    EventKind = "granted"     // the runner has a job to run
	EventStarted    EventKind = "started"     // its process runs
	EventEnded      EventKind = "ended"       // the daemon has recorded its end
	EventRecovering EventKind = "recovering"  // its recovery script runs
	EventRecovered  EventKind = "recovered"   // its recovery script has ended
	EventVoided     EventKind = "voided"      // the runner has lost its lease
	EventAction     EventKind = "action"      // an action was carried out
	EventOutage     EventKind = "outage"      // the daemon does not answer
	EventResumed    EventKind = "resumed"     // it answers again
	EventStopping   EventKind = "stopping"    // the runner takes no new jobs
	EventOutputLost EventKind = "output_lost" // the output directory was removed
)

// Event is something worth showing to a person who watches a runner. Only the fields
// of its kind are set.
type Event struct {
	Kind    EventKind
	Time    time.Time
	JobID   int64
	JobName string
	Attempt int64
	// Status, ReturnCode, Cause and Reason are the daemon's answer to a report.
	Status     workflow.JobStatus
	ReturnCode int64
	Cause      workflow.CauseKind
	Reason     string
	Duration   time.Duration // of the attempt
	Message    string        // of outages, stops, refusals, actions
	Failed     bool          // of a command of an action
}

// Summary is what a runner has done from Run to its end.
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
	OutputLost  []string // messages about a removed output directory
	Reason      string   // why the runner left
	// Complete, Canceled and OpenJobs are the daemon's last answer about the
	// workflow.
	Complete bool
	Canceled bool
	OpenJobs int64
	// Offer is what the runner offered to jobs while nothing ran.
	Offer placement.Offer

	SampleCount     int64
	PeakCPUPercent  float64
	AvgCPUPercent   float64
	PeakMemoryBytes int64
	AvgMemoryBytes  int64
}
