package store

import (
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/fleet"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// What use cases take and return, so that callers need not know the package of each.

type (
	// AllocationFilter selects allocations of a workflow.
	AllocationFilter = view.AllocationFilter
	// AllocationIntent is the intent to request an allocation from Slurm.
	AllocationIntent = fleet.AllocationIntent
	// AllocationLoad has the runners of an allocation and their jobs.
	AllocationLoad = view.AllocationLoad
	// AllocationNode is a runner in an allocation that has not left.
	AllocationNode = view.AllocationNode
	// AllocationRunner is a runner in an allocation.
	AllocationRunner = view.AllocationRunner
	// AskedAllocation is an allocation that an action requested, and its outcome.
	AskedAllocation = view.AskedAllocation
	// BreakerFilter selects trips of circuit breakers.
	BreakerFilter = view.BreakerFilter
	// Changes is what a commit made visible to others.
	Changes = core.Changes
	// ClassDemand counts the jobs of a claim class with equal avoid lists that need a
	// place.
	ClassDemand = view.ClassDemand
	// AheadJobs are blocked jobs of a class that are equally far from being ready.
	AheadJobs = view.AheadJobs
	// ComputeNodeFilter selects compute nodes of a workflow.
	ComputeNodeFilter = record.ComputeNodeFilter
	// EventFilter selects events of a workflow.
	EventFilter = record.EventFilter
	// VerdictFilter selects remembered verdicts.
	VerdictFilter = view.VerdictFilter
	// ProposalFilter selects proposals.
	ProposalFilter = view.ProposalFilter
	// FileFilter selects files of a workflow.
	FileFilter = record.FileFilter
	// FoundJob is a Slurm job with the name of an intent.
	FoundJob = fleet.FoundJob
	// InitializeOptions configure Workflows.Initialize.
	InitializeOptions = engine.InitializeOptions
	// JobFilter selects jobs of a workflow.
	JobFilter = view.JobFilter
	// Judged is what a judgment of an allocation rests on: its record and its runners.
	Judged = fleet.Judged
	// Kind is a kind of rows that belong to a workflow.
	Kind = view.Kind
	// LiveRunner is one of our runners that has not left.
	LiveRunner = view.LiveRunner
	// LocalSchedulerUpdate is a change of a local scheduler.
	LocalSchedulerUpdate = record.LocalSchedulerUpdate
	// LoginWork describes jobs that the daemon runs on its own host.
	LoginWork = view.LoginWork
	// Observation is the observed state of a live allocation.
	Observation = fleet.Observation
	// Outgoing is a message to be sent now.
	Outgoing = record.Outgoing
	// Progress counts the jobs of a workflow by how far they are.
	Progress = view.Progress
	// QueuedAllocation is an allocation with the work it has done.
	QueuedAllocation = view.QueuedAllocation
	// Registration is what a runner reports of itself, and what the daemon knows about it.
	Registration = fleet.Registration
	// RequirementsFilter selects requirements of a workflow.
	RequirementsFilter = record.RequirementsFilter
	// RequirementsUpdate is a change of requirements.
	RequirementsUpdate = record.RequirementsUpdate
	// ResultFilter selects results of a workflow.
	ResultFilter = record.ResultFilter
	// RunningJobs counts jobs of a class that end in the same second.
	RunningJobs = view.RunningJobs
	// ScheduledFilter selects requested allocations of a workflow.
	ScheduledFilter = record.ScheduledFilter
	// SlurmSchedulerUpdate is a change of a Slurm scheduler.
	SlurmSchedulerUpdate = record.SlurmSchedulerUpdate
	// SlurmStatsFilter selects Slurm's accounting of attempts.
	SlurmStatsFilter = record.SlurmStatsFilter
	// Summary is an overview of a workflow.
	Summary = view.Summary
	// Supply is the allocations and the demand for them, in one snapshot.
	Supply = view.Supply
	// TaskConflictError reports that another task of the workflow is active.
	TaskConflictError = record.TaskConflictError
	// UserDataFilter selects user data of a workflow.
	UserDataFilter = record.UserDataFilter
	// UserDataLinks are the jobs to which a new record is linked.
	UserDataLinks = record.UserDataLinks
	// UserDataUpdate is a change of user data.
	UserDataUpdate = record.UserDataUpdate
	// WorkflowFilter selects workflows.
	WorkflowFilter = view.WorkflowFilter
)
