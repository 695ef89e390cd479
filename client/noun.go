package client

type (
	// Actions are the calls about actions.
	Actions struct{ *conn }
	// Alerts are the calls about alerts.
	Alerts struct{ *conn }
	// Allocations are the calls about allocations.
	Allocations struct{ *conn }
	// Breakers are the calls about circuit breakers.
	Breakers struct{ *conn }
	// ComputeNodes are the calls about compute nodes.
	ComputeNodes struct{ *conn }
	// Events are the calls about events.
	Events struct{ *conn }
	// FailureHandlers are the calls about failure handlers.
	FailureHandlers struct{ *conn }
	// Files are the calls about files.
	Files struct{ *conn }
	// Holds are the calls about jobs held for classification.
	Holds struct{ *conn }
	// Jobs are the calls about jobs.
	Jobs struct{ *conn }
	// Proposals are the calls about proposed changes.
	Proposals struct{ *conn }
	// ResourceRequirements are the calls about resource requirements.
	ResourceRequirements struct{ *conn }
	// Results are the calls about results.
	Results struct{ *conn }
	// RetryPolicies are the calls about retry policies, the queues that they are for and their settings.
	RetryPolicies struct{ *conn }
	// Runners are the calls that runners make.
	Runners struct {
		*conn
		actions Actions
	}
	// ScheduledComputeNodes are the calls about scheduled compute nodes.
	ScheduledComputeNodes struct{ *conn }
	// SlurmSchedulers are the calls about Slurm schedulers.
	SlurmSchedulers struct{ *conn }
	// SlurmStats are the calls about what Slurm accounted for attempts.
	SlurmStats struct{ *conn }
	// Tasks are the calls about tasks.
	Tasks struct{ *conn }
	// UserData are the calls about user data.
	UserData struct{ *conn }
	// Workflows are the calls about workflows and their runs.
	Workflows struct{ *conn }
)

func newClient(c *conn) *Client {
	return &Client{
		conn: c,

		Actions:               Actions{c},
		Alerts:                Alerts{c},
		Allocations:           Allocations{c},
		Breakers:              Breakers{c},
		ComputeNodes:          ComputeNodes{c},
		Events:                Events{c},
		FailureHandlers:       FailureHandlers{c},
		Files:                 Files{c},
		Holds:                 Holds{c},
		Jobs:                  Jobs{c},
		Proposals:             Proposals{c},
		ResourceRequirements:  ResourceRequirements{c},
		Results:               Results{c},
		RetryPolicies:         RetryPolicies{c},
		Runners:               Runners{c, Actions{c}},
		ScheduledComputeNodes: ScheduledComputeNodes{c},
		SlurmSchedulers:       SlurmSchedulers{c},
		SlurmStats:            SlurmStats{c},
		Tasks:                 Tasks{c},
		UserData:              UserData{c},
		Workflows:             Workflows{c},
	}
}
