package slurm

import (
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// State is the state of a job or step, by Slurm's name: one of the base states, or the
// flag that squeue shows instead. Names that are not listed here belong to unknown
// versions; they are kept, and are neither pending nor active nor over.
type State string

// The base states.
const (
	Pending     State = "PENDING"
	Running     State = "RUNNING"
	Suspended   State = failure.Suspended
	Completed   State = failure.Completed
	Cancelled   State = failure.Cancelled
	Failed      State = failure.Failed
	Timeout     State = failure.Timeout
	NodeFail    State = failure.NodeFail
	Preempted   State = failure.Preempted
	BootFail    State = failure.BootFail
	Deadline    State = failure.Deadline
	OutOfMemory State = failure.OutOfMemory
)

// The flags that squeue and sacct show instead of a base state.
const (
	Completing   State = "COMPLETING"
	Configuring  State = "CONFIGURING"
	Expediting   State = "EXPEDITING"
	LaunchFailed State = failure.LaunchFailed
	PowerUpNode  State = "POWER_UP_NODE"
	ReconfigFail State = failure.ReconfigFail
	Requeued     State = failure.Requeued
	RequeueFed   State = "REQUEUE_FED"
	RequeueHold  State = "REQUEUE_HOLD"
	Resizing     State = "RESIZING"
	ResvDelHold  State = "RESV_DEL_HOLD"
	Revoked      State = "REVOKED"
	Signaling    State = "SIGNALING"
	SpecialExit  State = "SPECIAL_EXIT"
	StageOut     State = "STAGE_OUT"
	Stopped      State = "STOPPED"
	UpdateDB     State = "UPDATE_DB"
)

// phase is what a state means for the progress of a job.
type phase uint8

const (
	phaseUnknown phase = iota
	phasePending
	phaseActive
	phaseOver
)

// stateTable has each known state, its short form in squeue, and its phase.
var stateTable = []struct {
	state State
	short string
	phase phase
}{
	{Pending, "PD", phasePending},
	{Running, "R", phaseActive},
	{Suspended, "S", phaseActive},
	{Completed, "CD", phaseOver},
	{Cancelled, "CA", phaseOver},
	{Failed, "F", phaseOver},
	{Timeout, "TO", phaseOver},
	{NodeFail, "NF", phaseOver},
	{Preempted, "PR", phaseOver},
	{BootFail, "BF", phaseOver},
	{Deadline, "DL", phaseOver},
	{OutOfMemory, "OOM", phaseOver},
	{Completing, "CG", phaseActive},
	{Configuring, "CF", phaseActive},
	{Expediting, "EXP", phasePending},
	{LaunchFailed, "LF", phaseOver},
	{PowerUpNode, "PO", phaseActive},
	{ReconfigFail, "RC", phaseOver},
	{Requeued, "RQ", phasePending},
	{RequeueFed, "RF", phasePending},
	{RequeueHold, "RH", phasePending},
	{Resizing, "RS", phaseActive},
	{ResvDelHold, "RD", phasePending},
	{Revoked, "RV", phaseActive}, // another cluster of the federation runs it
	{Signaling, "SI", phaseActive},
	{SpecialExit, "SE", phasePending},
	{StageOut, "SO", phaseActive},
	{Stopped, "ST", phaseActive},
	{UpdateDB, "UD", phaseActive},
}

// States returns all known states.
func States() []State {
	all := make([]State, len(stateTable))
	for i, row := range stateTable {
		all[i] = row.state
	}
	return all
}

// ParseState parses a state in its long or short form. Text after a blank or a
// plus sign is ignored: "CANCELLED by 1000" is CANCELLED, and so is the "CANCELLED+"
// of a truncated column.
func ParseState(text string) State {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	text = strings.ToUpper(strings.TrimRight(text, "+"))
	for _, row := range stateTable {
		if text == row.short {
			return row.state
		}
	}
	return State(text)
}

func (s State) phase() phase {
	for _, row := range stateTable {
		if s == row.state {
			return row.phase
		}
	}
	return phaseUnknown
}

// Known reports whether the meaning of the state is known.
func (s State) Known() bool { return s.phase() != phaseUnknown }

// Pending reports whether the job waits for its first or next start.
func (s State) Pending() bool { return s.phase() == phasePending }

// Active reports whether the job holds nodes: it is running, suspended, starting or
// ending.
func (s State) Active() bool { return s.phase() == phaseActive }

// Over reports whether the job or step has finally ended. An accounting record
// in state REQUEUED is over, too (Record.Over): it is the record of a restart.
func (s State) Over() bool { return s.phase() == phaseOver }

// Ending reports whether the job's processes are being removed; its nodes are not
// free yet.
func (s State) Ending() bool {
	return s == Completing || s == StageOut || s == Signaling
}
