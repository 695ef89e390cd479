package store

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/fleet"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// What use cases take and return: callers need not know in which room each is declared.

type (
	// AllocationFilter says which allocations of a workflow are wanted; nil fields do
	// not matter.
	AllocationFilter = view.AllocationFilter
	// AllocationIntent is the intent to ask Slurm for an allocation.
	AllocationIntent = fleet.AllocationIntent
	// AllocationLoad is what has come of an allocation: its runners and their jobs.
	AllocationLoad = view.AllocationLoad
	// AllocationNode is a runner in an allocation that has not left.
	AllocationNode = view.AllocationNode
	// AllocationRunner is a runner that lives in an allocation.
	AllocationRunner = view.AllocationRunner
	// AskedAllocation is an allocation that an action has asked for, and what came of
	// it.
	AskedAllocation = view.AskedAllocation
	// BreakerFilter says which trips of circuit breakers are wanted; zero fields do
	// not matter.
	BreakerFilter = view.BreakerFilter
	// Changes is what a commit made visible to others.
	Changes = core.Changes
	// ClassDemand is the jobs of a claim class with equal avoid lists that want a
	// place to run, now or in some time.
	ClassDemand = view.ClassDemand
	// ComputeNodeFilter says which compute nodes of a workflow are wanted; nil fields
	// do not matter.
	ComputeNodeFilter = record.ComputeNodeFilter
	// EventFilter says which events of a workflow are wanted; nil fields do not
	// matter.
	EventFilter = record.EventFilter
	// FileFilter says which files of a workflow are wanted; nil fields do not matter.
	FileFilter = record.FileFilter
	// FoundJob is a Slurm job that bears an intent's name.
	FoundJob = fleet.FoundJob
	// InitializeOptions say how to initialize a workflow's jobs.
	InitializeOptions = engine.InitializeOptions
	// JobFilter says which jobs of a workflow are wanted; nil fields do not matter.
	JobFilter = view.JobFilter
	// Judged is what a judgment of an allocation rests on: its record, and the runners
	// that lived in it.
	Judged = fleet.Judged
	// Kind is a kind of rows that belong to a workflow.
	Kind = view.Kind
	// LiveRunner is a runner of ours that has not left.
	LiveRunner = view.LiveRunner
	// LocalSchedulerUpdate is a change of a local scheduler: a nil field is kept.
	LocalSchedulerUpdate = record.LocalSchedulerUpdate
	// LoginWork is jobs that the daemon has to run on its own host.
	LoginWork = view.LoginWork
	// Observation is what was seen of a live allocation.
	Observation = fleet.Observation
	// Outgoing is a message that is to be sent now.
	Outgoing = record.Outgoing
	// Progress is how many jobs of a workflow there are, and how far they are.
	Progress = view.Progress
	// QueuedAllocation is an allocation beside what has come of it.
	QueuedAllocation = view.QueuedAllocation
	// Registration is what a runner says of itself, with what the daemon knows of it.
	Registration = fleet.Registration
	// RequirementsFilter says which requirements of a workflow are wanted; nil fields
	// do not matter.
	RequirementsFilter = record.RequirementsFilter
	// RequirementsUpdate is a change of requirements: a nil field is kept.
	RequirementsUpdate = record.RequirementsUpdate
	// ResultFilter says which results of a workflow are wanted; nil fields do not
	// matter.
	ResultFilter = record.ResultFilter
	// RunningJobs is claimed or running jobs of a class that should end in the same
	// second if they take as long as declared.
	RunningJobs = view.RunningJobs
	// ScheduledFilter says which allocations of a workflow are wanted; nil fields do
	// not matter.
	ScheduledFilter = record.ScheduledFilter
	// SlurmSchedulerUpdate is a change of a shape: a nil field is kept.
	SlurmSchedulerUpdate = record.SlurmSchedulerUpdate
	// SlurmStatsFilter says which rows of a workflow are wanted; nil fields do not
	// matter.
	SlurmStatsFilter = record.SlurmStatsFilter
	// Summary is a workflow at a glance.
	Summary = view.Summary
	// Supply is the allocations there are, and what wants a place in them, at one
	// moment: a job that a runner claims meanwhile is counted once, and what is
	// refused meanwhile is either there or a refusal.
	Supply = view.Supply
	// TaskConflictError says that another task of the workflow is in the way.
	TaskConflictError = record.TaskConflictError
	// UserDataFilter says which records of a workflow are wanted; nil fields do not
	// matter.
	UserDataFilter = record.UserDataFilter
	// UserDataLinks are the jobs that a new record is linked with.
	UserDataLinks = record.UserDataLinks
	// UserDataUpdate is a change of a record: a nil field is kept.
	UserDataUpdate = record.UserDataUpdate
	// WorkflowFilter says which workflows are wanted; nil fields do not matter.
	WorkflowFilter = view.WorkflowFilter
)
