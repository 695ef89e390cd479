package handler

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/server/rest"
)

// Routes returns the table of the API, without what only torc clients call.
func Routes(d *Deps) []rest.Route {
	return slices.Concat(
		system{d}.routes(),
		tasks{d}.routes(),
		workflows{d}.routes(),
		workflowRuns{d}.routes(),
		runStarts{d}.routes(),
		workflowViews{d}.routes(),
		definitions{d}.routes(),
		jobs{d}.routes(),
		jobRuns{d}.routes(),
		holds{d}.routes(),
		alerts{d}.routes(),
		claimHolds{d}.routes(),
		jobOperations{d}.routes(),
		breakers{d}.routes(),
		compensations{d}.routes(),
		spawns{d}.routes(),
		files{d}.routes(),
		userData{d}.routes(),
		requirements{d}.routes(),
		results{d}.routes(),
		slurmStats{d}.routes(),
		events{d}.routes(),
		computeNodes{d}.routes(),
		scheduledNodes{d}.routes(),
		slurmSchedulers{d}.routes(),
		failureHandlers{d}.routes(),
		retryPolicies{d}.routes(),
		retrySimulations{d}.routes(),
		actions{d}.routes(),
		runners{d}.routes(),
		allocations{d}.routes(),
		schedules{d}.routes(),
		allocationQueue{d}.routes(),
		stages{d}.routes(),
		reasons{d}.routes(),
		resourceUse{d}.routes(),
		efficiencies{d}.routes(),
		diagnoses{d}.routes(),
		recoveries{d}.routes(),
		executionPlans{d}.routes(),
		slurmUsages{d}.routes(),
		regenerations{d}.routes(),
		allocationPlans{d}.routes(),
		resets{d}.routes(),
		proposals{d}.routes(),
	)
}
