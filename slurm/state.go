package slurm

import "strings"

// State is a job's or step's state as Slurm names it: one of the base states,
// or the flag that squeue shows in its place. Names that are not listed here
// belong to versions that we do not know; they are kept, and are neither
// pending nor active nor over.
type State string

// The base states.
const (
	Pending     State = "PENDING"
	Running     State = "RUNNING"
	Suspended   State = "SUSPENDED"
	Completed   State = "COMPLETED"
	Cancelled   State = "CANCELLED"
	Failed      State = "FAILED"
	Timeout     State = "TIMEOUT"
	NodeFail    State = "NODE_FAIL"
	Preempted   State = "PREEMPTED"
	BootFail    State = "BOOT_FAIL"
	Deadline    State = "DEADLINE"
	OutOfMemory State = "OUT_OF_MEMORY"
)

// The flags that squeue and sacct show in place of a base state.
const (
	Completing   State = "COMPLETING"
	Configuring  State = "CONFIGURING"
	Expediting   State = "EXPEDITING"
	LaunchFailed State = "LAUNCH_FAILED"
	PowerUpNode  State = "POWER_UP_NODE"
	ReconfigFail State = "RECONFIG_FAIL"
	Requeued     State = "REQUEUED"
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

// phase is what a state means for somebody who waits for the job.
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

// States lists every state that we know.
func States() []State {
	all := make([]State, len(stateTable))
	for i, row := range stateTable {
		all[i] = row.state
	}
	return all
}

// ParseState reads a state in its long or short form. What follows a blank or a
// plus sign is not part of it: "CANCELLED by 1000" is CANCELLED, the "CANCELLED+"
// of a cut column too.
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

// Known tells whether we know what the state means.
func (s State) Known() bool { return s.phase() != phaseUnknown }

// Pending tells whether the job waits for its first or next start.
func (s State) Pending() bool { return s.phase() == phasePending }

// Active tells whether the job holds nodes: it runs, is suspended, or is on its
// way in or out.
func (s State) Active() bool { return s.phase() == phaseActive }

// Over tells whether the job or step has ended for good. An accounting record
// in state REQUEUED is over, too (Record.Over): it is the record of a life.
func (s State) Over() bool { return s.phase() == phaseOver }

// Ending tells whether the job's processes are being removed; its nodes are not
// free yet.
func (s State) Ending() bool {
	return s == Completing || s == StageOut || s == Signaling
}
