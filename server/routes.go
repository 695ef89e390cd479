package server

import "slices"

// routes is the table of the API.
func (s *Server) routes() []route {
	return slices.Concat(
		s.systemRoutes(),
		s.taskRoutes(),
		s.workflowRoutes(),
		s.workflowRunRoutes(),
		s.workflowViewRoutes(),
		s.definitionRoutes(),
		s.jobRoutes(),
		s.jobRunRoutes(),
		s.holdRoutes(),
		s.alertRoutes(),
		s.claimHoldRoutes(),
		s.breakerRoutes(),
		s.compensationRoutes(),
		s.spawnRoutes(),
		s.fileRoutes(),
		s.userDataRoutes(),
		s.resourceRequirementsRoutes(),
		s.resultRoutes(),
		s.slurmStatsRoutes(),
		s.eventRoutes(),
		s.computeNodeRoutes(),
		s.scheduledComputeNodeRoutes(),
		s.slurmSchedulerRoutes(),
		s.localSchedulerRoutes(),
		s.failureHandlerRoutes(),
		s.retryPolicyRoutes(),
		s.retrySimulationRoutes(),
		s.actionRoutes(),
		s.remoteWorkerRoutes(),
		s.runnerRoutes(),
		s.allocationRoutes(),
		s.scheduleRoutes(),
		s.allocationQueueRoutes(),
		s.stageRoutes(),
		s.whyRoutes(),
	)
}
