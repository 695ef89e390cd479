package jobaccess

// scopes has an entry for each route of the API, by method and pattern. Jobs read what
// belongs to their workflow, add jobs to it while they run, and write its files, user data
// and events. They may not use what runs a workflow (claims, completions, retries, resets,
// cancellation), what configures it (policies, handlers, actions, schedulers, allocations,
// nodes), or other workflows.
var scopes = map[string]Scope{
	"GET /ping":    Everyone,
	"GET /version": Everyone,

	"POST /admin/reload-auth": Refused,

	"GET /tasks/{id}":                 Refused,
	"GET /workflows/{id}/active_task": Refused,

	"POST /workflows":              Refused,
	"GET /workflows":               Refused,
	"POST /workflows/definition":   Refused,
	"GET /workflows/{id}":          Workflow,
	"PUT /workflows/{id}":          Refused,
	"DELETE /workflows/{id}":       Refused,
	"POST /workflows/{id}/archive": Refused,

	"PUT /workflows/{id}/cancel":                      Refused,
	"GET /workflows/{id}/cancellation":                Refused,
	"POST /workflows/{id}/start_run":                  Refused,
	"POST /workflows/{id}/reset_status":               Refused,
	"POST /workflows/{id}/initialize_jobs":            Refused,
	"POST /workflows/{id}/reset_job_status":           Refused,
	"POST /workflows/{id}/process_changed_job_inputs": Refused,

	"GET /workflows/{id}/status":                      Workflow,
	"GET /workflows/{id}/is_complete":                 Workflow,
	"GET /workflows/{id}/is_uninitialized":            Workflow,
	"GET /workflows/{id}/job_ids":                     Workflow,
	"GET /workflows/{id}/running_jobs":                Workflow,
	"GET /workflows/{id}/slurm_job_correlations":      Workflow,
	"GET /workflows/{id}/job_dependencies":            Workflow,
	"GET /workflows/{id}/job_file_relationships":      Workflow,
	"GET /workflows/{id}/job_user_data_relationships": Workflow,
	"GET /workflows/{id}/required_existing_files":     Workflow,
	"GET /workflows/{id}/missing_user_data":           Workflow,
	"GET /workflows/{id}/stages":                      Workflow,
	"GET /workflows/{id}/why":                         Workflow,
	"GET /workflows/{id}/failure_groups":              Workflow,
	"GET /workflows/{id}/failed_workflow":             Workflow,
	"GET /workflows/{id}/compensations":               Workflow,
	"GET /workflows/{id}/check_resources":             Workflow,
	"GET /workflows/{id}/efficiency":                  Workflow,
	"GET /workflows/{id}/diagnosis":                   Refused,  // it is about nodes
	"POST /workflows/{id}/correct_resources":          Workflow, // a dry run
	"POST /workflows/{id}/recover":                    Refused,
	"GET /workflows/{id}/execution_plan":              Refused, // it names schedulers
	"POST /workflows/{id}/slurm_accounting":           Refused,
	"GET /workflows/{id}/resource_statistics":         Workflow,
	"POST /workflows/{id}/slurm_usage":                Refused,
	"POST /workflows/{id}/regenerate":                 Refused,
	"POST /workflows/{id}/allocation_plan":            Refused,
	"POST /workflows/definition/allocation_plan":      Refused,
	"POST /workflows/{id}/reset":                      Refused,
	"POST /workflows/{id}/amend":                      Refused,
	"POST /workflows/{id}/reset_jobs":                 Refused,
	"POST /jobs/{id}/retry":                           Refused,
	"GET /workflows/{id}/claim_holds":                 Refused,
	"POST /workflows/{id}/release_claims":             Refused,
	"POST /workflows/{id}/pause":                      Refused,
	"POST /workflows/{id}/cancel_jobs":                Refused,
	"POST /workflows/{id}/hold_jobs":                  Refused,
	"POST /workflows/{id}/release_jobs":               Refused,
	"POST /workflows/{id}/prioritize_jobs":            Refused,
	"POST /jobs/{id}/cancel":                          Refused,

	"POST /jobs":              Refused, // would not be initialized; use spawn_jobs
	"POST /bulk_jobs":         Refused,
	"GET /jobs":               Query,
	"GET /jobs/{id}":          Job,
	"PUT /jobs/{id}":          Job,
	"DELETE /jobs/{id}":       Refused,
	"DELETE /jobs":            Refused,
	"GET /jobs/{id}/attempts": Job,
	"GET /jobs/{id}/why":      Job,

	"POST /jobs/{id}/spawn_jobs": Job,

	"POST /workflows/{id}/claim_next_jobs":                       Refused,
	"POST /workflows/{id}/claim_jobs_based_on_resources/{limit}": Refused,
	"POST /workflows/{id}/batch_complete_jobs":                   Refused,
	"PUT /jobs/{id}/manage_status_change/{status}/{run_id}":      Refused,
	"PUT /jobs/{id}/start_job/{run_id}/{compute_node_id}":        Refused,
	"POST /jobs/{id}/complete_job/{status}/{run_id}":             Refused,
	"POST /jobs/{id}/retry/{run_id}":                             Refused,
	"GET /workflows/{id}/classifier":                             Refused,
	"GET /holds":                                                 Refused,
	"GET /holds/verdicts":                                        Refused, // also those of other workflows
	"GET /holds/suggested_policy":                                Refused,
	"GET /proposals":                                             Refused, // also those of other workflows
	"GET /proposals/{id}":                                        Refused,
	"POST /proposals":                                            Refused,
	"POST /proposals/{id}/apply":                                 Refused,
	"POST /proposals/{id}/reject":                                Refused,
	"POST /workflows/{id}/resolve_holds":                         Refused,
	"POST /workflows/{id}/hold_verdicts":                         Refused,
	"GET /audit":                                                 Refused,
	"GET /alerts":                                                Refused,
	"POST /workflows/{id}/test_alert":                            Refused,
	"GET /breakers":                                              Refused,
	"POST /breakers/reset":                                       Refused,

	"POST /files":        Body,
	"POST /bulk_files":   Body,
	"GET /files":         Query,
	"GET /files/{id}":    File,
	"PUT /files/{id}":    File,
	"DELETE /files/{id}": File,
	"DELETE /files":      Refused, // all of the workflow's

	"POST /user_data":        Body,
	"POST /bulk_user_data":   Body,
	"GET /user_data":         Query,
	"GET /user_data/{id}":    UserData,
	"PUT /user_data/{id}":    UserData,
	"DELETE /user_data/{id}": UserData,
	"DELETE /user_data":      Refused,

	"POST /resource_requirements":        Refused,
	"GET /resource_requirements":         Query,
	"GET /resource_requirements/{id}":    Requirements,
	"PUT /resource_requirements/{id}":    Refused,
	"DELETE /resource_requirements/{id}": Refused,
	"DELETE /resource_requirements":      Refused,

	"POST /results":        Refused, // runners report how jobs ended
	"GET /results":         Query,
	"GET /results/{id}":    Result,
	"PUT /results/{id}":    Refused,
	"DELETE /results/{id}": Refused,
	"DELETE /results":      Refused,

	"POST /events":                      Body,
	"GET /events":                       Query,
	"GET /events/{id}":                  Event,
	"PUT /events/{id}":                  Refused,
	"DELETE /events/{id}":               Refused,
	"DELETE /events":                    Refused,
	"GET /workflows/{id}/events/stream": Workflow,

	"POST /slurm_stats": Refused,
	"GET /slurm_stats":  Query,

	"POST /compute_nodes":        Refused,
	"GET /compute_nodes":         Refused,
	"GET /compute_nodes/{id}":    Refused,
	"PUT /compute_nodes/{id}":    Refused,
	"DELETE /compute_nodes/{id}": Refused,
	"DELETE /compute_nodes":      Refused,

	"POST /scheduled_compute_nodes":        Refused,
	"GET /scheduled_compute_nodes":         Refused,
	"GET /scheduled_compute_nodes/{id}":    Refused,
	"PUT /scheduled_compute_nodes/{id}":    Refused,
	"DELETE /scheduled_compute_nodes/{id}": Refused,
	"DELETE /scheduled_compute_nodes":      Refused,

	"POST /slurm_schedulers":        Refused,
	"GET /slurm_schedulers":         Refused,
	"GET /slurm_schedulers/{id}":    Refused,
	"PUT /slurm_schedulers/{id}":    Refused,
	"DELETE /slurm_schedulers/{id}": Refused,
	"DELETE /slurm_schedulers":      Refused,

	"POST /local_schedulers":        Refused,
	"GET /local_schedulers":         Refused,
	"GET /local_schedulers/{id}":    Refused,
	"PUT /local_schedulers/{id}":    Refused,
	"DELETE /local_schedulers/{id}": Refused,
	"DELETE /local_schedulers":      Refused,

	"POST /failure_handlers":               Refused,
	"GET /failure_handlers/{id}":           Refused,
	"DELETE /failure_handlers/{id}":        Refused,
	"GET /workflows/{id}/failure_handlers": Refused,

	"POST /retry_policies":               Refused,
	"GET /retry_policies":                Refused,
	"GET /retry_policies/{name}":         Refused,
	"PUT /retry_policies/{name}":         Refused,
	"DELETE /retry_policies/{name}":      Refused,
	"GET /retry_policies/{name}/history": Refused,
	"GET /retry_queues":                  Refused,
	"PUT /retry_queues":                  Refused,
	"POST /retry_queues/attach":          Refused,
	"POST /retry_queues/detach":          Refused,
	"GET /retry_settings":                Refused,
	"PUT /retry_settings":                Refused,
	"GET /retry_settings/history":        Refused,
	"POST /retry_simulations":            Refused,

	"POST /workflows/{id}/actions":                   Refused,
	"GET /workflows/{id}/actions":                    Refused,
	"GET /workflows/{id}/actions/pending":            Refused,
	"PUT /workflows/{id}/actions/{action_id}":        Refused,
	"DELETE /workflows/{id}/actions/{action_id}":     Refused,
	"POST /workflows/{id}/actions/{action_id}/claim": Refused,

	"POST /workflows/{id}/remote_workers":            Refused,
	"GET /workflows/{id}/remote_workers":             Refused,
	"DELETE /workflows/{id}/remote_workers/{worker}": Refused,

	"POST /workflows/{id}/runners": Refused,
	"POST /runners/{id}/turn":      Refused,
	"POST /runners/{id}/leave":     Refused,
	"POST /runners/{id}/steps":     Refused,

	"POST /workflows/{id}/allocations":   Refused,
	"GET /workflows/{id}/allocations":    Refused,
	"GET /allocations":                   Refused,
	"GET /allocations/{id}":              Refused,
	"POST /allocations/{id}/cancel":      Refused,
	"GET /allocations/{id}/cancellation": Refused,
	"POST /workflows/{id}/submit":        Refused,
	"POST /workflows/{id}/plan":          Refused,

	// Pages outside of the API.
	"GET /openapi.yaml": Everyone,
	"GET /{$}":          Everyone,
	"GET /dashboard":    Everyone,
	"GET /metrics":      Refused, // of all workflows
}

// ScopeOf returns the scope of a route; Unset if it has none.
func ScopeOf(method, pattern string) Scope { return scopes[method+" "+pattern] }

// Routes returns the routes that have a scope, as method and pattern.
func Routes() map[string]Scope { return scopes }
