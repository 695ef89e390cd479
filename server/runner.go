package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxWait is how long the answer to a turn is held at most.
const maxWait = 10 * time.Second

func (s *Server) runnerRoutes() []route {
	return []route{
		handle("POST", "/workflows/{id}/runners", "Introduce a runner; repeating it with the same key returns the same runner", s.registerRunner, runnersOwnWorkflow),
		handle("POST", "/runners/{id}/turn", "Everything between a runner and the daemon in one call; may be repeated", s.turn, bulk, conflict409, runnersThemselves),
		handle("POST", "/runners/{id}/leave", "A runner says goodbye", s.leaveRunner, runnersThemselves),
	}
}

func (s *Server) registerRunner(r *request[idParams, api.RegisterRequest]) (api.RegisterResponse, error) {
	b := &r.Body
	var scheduler json.RawMessage
	if b.Scheduler != nil {
		text, err := json.Marshal(b.Scheduler)
		if err != nil {
			return api.RegisterResponse{}, fmt.Errorf("scheduler of a runner: %w", err)
		}
		scheduler = text
	}
	member, err := memberOf(r.Context(), b.Allocation)
	if err != nil {
		return api.RegisterResponse{}, err
	}
	login, err := s.loginPart(b)
	if err != nil {
		return api.RegisterResponse{}, err
	}
	known, err := s.Store.RegisterRunner(r.Context(), store.Registration{
		WorkflowID: r.Params.ID, Key: b.Key, Hostname: b.Hostname, PID: b.PID, BootID: b.BootID,
		StartTime: b.StartTime, EndTime: b.EndTime, NumCPUs: b.NumCPUs, MemoryBytes: b.MemoryBytes, NumGPUs: b.NumGPUs,
		NumNodes: b.NumNodes, Labels: b.Labels, NodeType: b.NodeType, OutputDir: b.OutputDir, MaxParallelJobs: b.MaxParallelJobs,
		SchedulerConfigID: b.SchedulerConfigID, StrictScheduler: b.StrictScheduler, Scheduler: scheduler,
		Allocation: member, Login: login, SharesHost: b.SharesHost,
	})
	if err != nil {
		return api.RegisterResponse{}, err
	}
	s.leases.renew(known.RunnerID, 0, s.Now())
	w := &known.Workflow
	answer := api.RegisterResponse{
		RunnerID: known.RunnerID, RunID: w.RunID, WorkflowName: w.Name, Env: w.Env,
		ExecutionConfig: w.ExecutionConfig, ResourceMonitor: w.ResourceMonitor, EnforceRuntime: w.EnforceRuntime,
		LeaseSeconds: s.leases.period.Seconds(), HeartbeatSeconds: s.leases.period.Seconds() / turnsPerLease,
		WaitForNewJobs: w.ComputeNodeWaitForNewJobsSeconds, IgnoreCompletion: w.ComputeNodeIgnoreWorkflowCompletion,
		WaitForHealthyMins: w.ComputeNodeWaitForHealthyDatabaseMinutes, MinTimeForNewJobs: w.ComputeNodeMinTimeForNewJobsSeconds,
	}
	if w.SubmissionDirectory != nil {
		answer.SubmissionDirectory = *w.SubmissionDirectory
	}
	return answer, nil
}

// turn records what a runner says and answers when there is something to tell
// it, when a newer turn of the runner arrives, or when the time that it asked
// for is over.
func (s *Server) turn(r *request[idParams, api.TurnRequest]) (api.TurnResponse, error) {
	id, b := r.Params.ID, &r.Body
	defer func() {
		if r.Context().Err() != nil {
			s.connectionBroke(id)
		}
	}()
	workflowID, staysOn, err := s.Store.WorkflowOfRunner(r.Context(), id)
	if err != nil {
		return api.TurnResponse{}, err
	}
	newer := s.leases.renew(id, b.Turn, s.Now())
	if s.leases.pause(id, b.Turn, b.Paused) {
		if err := s.Store.NoteLaunchPause(r.Context(), id, *b.Paused); err != nil {
			return api.TurnResponse{}, err
		}
	}
	work := s.Hub.Subscribe(WorkOf(workflowID), RunnerOf(id))
	defer work.Close()
	said := fromTurn(id, b)
	heard, err := s.Store.Turn(r.Context(), said)
	if err != nil {
		return api.TurnResponse{}, err
	}
	wait := min(time.Duration(b.WaitSeconds*float64(time.Second)), maxWait)
	deadline := time.NewTimer(max(wait, 0))
	defer deadline.Stop()
	// Later looks only ask; what the runner reported is recorded.
	said.Reports, said.GiveBack, said.Recovered, said.NotStarted = nil, nil, nil, nil
	stopped := s.leases.ordered(id)
	for waiting := wait > 0 && !hasNews(&heard, staysOn) && !stopped; waiting; {
		select {
		case <-work.C:
			if heard, err = s.Store.Turn(r.Context(), said); err != nil {
				return api.TurnResponse{}, err
			}
			stopped = s.leases.ordered(id)
			waiting = !hasNews(&heard, staysOn) && !stopped
		case <-newer:
			waiting = false
		case <-deadline.C:
			waiting = false
		case <-s.stopping:
			waiting = false
		case <-r.Context().Done():
			return api.TurnResponse{}, context.Cause(r.Context())
		}
	}
	s.Metrics.turn(&heard)
	heard.Stop = heard.Stop || stopped
	return toTurn(b.Turn, &heard), nil
}

// connectionBroke has the watchdog look at a runner at once.
func (s *Server) connectionBroke(runner int64) {
	s.leases.doubt(runner)
	select {
	case s.look <- struct{}{}:
	default: // it has been told to look
	}
}

// hasNews reports whether a runner must hear the answer now. That the workflow
// is complete is no news to a runner that stays on.
func hasNews(t *store.TurnResult, staysOn bool) bool {
	return len(t.Results)+len(t.Grants)+len(t.Voided)+len(t.Cancel) > 0 || t.Signs != nil || t.Stop || t.Complete && !staysOn || t.Canceled
}

func fromRef(l api.LeaseRef) store.LeaseRef {
	return store.LeaseRef{JobID: l.JobID, Attempt: l.Attempt, Fence: l.Fence}
}

func fromHeld(held []api.Held) []store.Held {
	return each(held, func(h api.Held) store.Held {
		return store.Held{LeaseRef: fromRef(h.LeaseRef), StartedMS: h.StartedMS, Ending: h.Ending}
	})
}

func toRef(l store.LeaseRef) api.LeaseRef {
	return api.LeaseRef{JobID: l.JobID, Attempt: l.Attempt, Fence: l.Fence}
}

func fromTurn(runnerID int64, b *api.TurnRequest) store.Turn {
	return store.Turn{
		RunnerID: runnerID, Number: b.Turn, RunID: b.RunID, SignsHash: b.SignsHash,
		Held: fromHeld(b.Held), Started: fromHeld(b.Started), Dying: b.Dying,
		Reports: each(b.Reports, func(p api.Report) store.Report {
			return store.Report{LeaseRef: fromRef(p.LeaseRef), StartedMS: p.StartedMS, EndedMS: p.EndedMS, Evidence: p.Evidence,
				FileTimes: each(p.FileTimes, func(f api.FileTime) store.FileTime { return store.FileTime(f) })}
		}),
		GiveBack: each(b.GiveBack, fromRef), NotStarted: fromHeld(b.NotStarted),
		Recovered: each(b.Recovered, func(v api.Recovered) store.Recovered {
			return store.Recovered{LeaseRef: fromRef(v.LeaseRef), ReturnCode: v.ReturnCode, Error: v.Error,
				StartedMS: v.StartedMS, EndedMS: v.EndedMS, Evidence: v.Evidence}
		}),
		Free: store.Free{
			Slots: b.Free.Slots, TimeLeftSeconds: b.Free.TimeLeftSeconds,
			Nodes: each(b.Free.Nodes, func(n api.FreeNode) workflow.OfferNode {
				return workflow.OfferNode{Name: n.Name, CPUs: n.CPUs, MemoryBytes: n.MemoryBytes, GPUs: n.GPUs, Busy: n.Busy, Together: n.Together}
			}),
		},
	}
}

func toTurn(number int64, t *store.TurnResult) api.TurnResponse {
	answer := api.TurnResponse{
		Turn: number, RunID: t.RunID, EndTime: t.EndTime, Complete: t.Complete, Canceled: t.Canceled,
		OpenJobs: t.OpenJobs, HeldJobs: t.HeldJobs, ClaimableLater: t.ClaimableLater, ClaimsHeld: t.ClaimsHeld, WaitsForHost: t.WaitsForHost, Signs: t.Signs,
		Voided: each(t.Voided, toRef), Cancel: each(t.Cancel, toRef),
		Results: each(t.Results, func(p store.ReportResult) api.ReportResult {
			return api.ReportResult{LeaseRef: toRef(p.LeaseRef), Outcome: string(p.Outcome), Message: p.Message, Status: p.Status,
				Recovery: toRecovery(p.Recovery), ReturnCode: p.ReturnCode, Cause: string(p.Cause), Reason: p.Reason}
		}),
		Grants: each(t.Grants, toGrant),
	}
	if t.Canceled {
		answer.Orders = append(answer.Orders, api.OrderCancel)
	}
	if t.Stop {
		answer.Orders = append(answer.Orders, api.OrderStop)
	}
	return answer
}

func toRecovery(v *store.Recovery) *api.Recovery {
	if v == nil {
		return nil
	}
	return &api.Recovery{Script: v.Script, ReturnCode: v.ReturnCode, Cause: string(v.Cause), TimeoutSeconds: v.TimeoutSeconds}
}

func toGrant(g store.Grant) api.Grant {
	var input *api.GrantInput
	if g.Input != nil {
		input = &api.GrantInput{Variable: g.Input.Variable, Data: g.Input.Data}
	}
	return api.Grant{
		LeaseRef: toRef(g.LeaseRef), Name: g.Name, Command: g.Command, InvocationScript: g.InvocationScript, Env: g.Env, Node: g.Node,
		Requirements: g.Requirements, CPUs: g.Class.CPUs, GPUs: g.Class.GPUs, Nodes: g.Class.Nodes,
		MemoryBytes: g.Class.MemoryBytes, RuntimeSeconds: g.Class.RuntimeSeconds,
		RunTimeout: g.RunTimeout, Stdio: g.Stdio, Recovery: toRecovery(g.Recovery),
		Input: input, Compensates: g.Compensates,
		OutputFiles: each(g.OutputFiles, func(f store.GrantFile) api.GrantFile { return api.GrantFile(f) }),
	}
}

func (s *Server) leaveRunner(r *request[idParams, api.LeaveRequest]) (api.LeaveResponse, error) {
	b := &r.Body
	n, err := s.Store.LeaveRunner(r.Context(), r.Params.ID, store.Farewell{
		Reason: b.Reason, DurationSeconds: b.DurationSeconds, SampleCount: b.SampleCount, PeakCPUPercent: b.PeakCPUPercent,
		AvgCPUPercent: b.AvgCPUPercent, PeakMemoryBytes: b.PeakMemoryBytes, AvgMemoryBytes: b.AvgMemoryBytes,
	})
	if err != nil {
		return api.LeaveResponse{}, err
	}
	s.leases.forget(r.Params.ID)
	if err := s.pollAllocationOf(r.Context(), r.Params.ID); err != nil {
		return api.LeaveResponse{}, err
	}
	return api.LeaveResponse{GivenBack: n}, nil
}

// pollAllocationOf has Slurm asked soon about the allocation that a runner was in:
// it ends when its last runner has left.
func (s *Server) pollAllocationOf(ctx context.Context, runner int64) error {
	intent, err := s.Store.IntentOfRunner(ctx, runner)
	if err == nil && intent != "" && s.PollAllocations != nil {
		s.PollAllocations()
	}
	return err
}
