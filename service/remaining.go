package service

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	sbatchtemplates "github.com/torc-slurm/torc-slurm/sbatch-templates"
	"github.com/torc-slurm/torc-slurm/scheduler"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// defaultReserve is what the longest runtime is multiplied by where the request does
// not say.
const defaultReserve = 1.5

// remaining is the jobs of a workflow that have not begun, with what decides about their
// Slurm schedulers.
type remaining struct {
	service    *Service
	workflowID int64
	request    *api.SchedulerOptions
	options    scheduler.GenerateOptions
	jobs       []workflow.Job
	work       []scheduler.Work // of the jobs
	site       *siteconfigs.Site
	known      []compute.SlurmScheduler // those that are there
}

// remaining reads the jobs that have not begun, and those that a request includes.
// Options that say nothing are CodeInvalid.
func (s *Service) remaining(ctx context.Context, workflowID int64, q *api.SchedulerOptions) (*remaining, error) {
	r := &remaining{service: s, workflowID: workflowID, request: q}
	if err := r.setOptions(); err != nil {
		return nil, err
	}
	return r, r.findJobs(ctx)
}

func (r *remaining) setOptions() error {
	q := r.request
	r.options = scheduler.GenerateOptions{
		Partition: q.Partition, Walltime: time.Duration(q.WalltimeSeconds) * time.Second, SingleAllocation: q.SingleAllocation,
		GroupBy: cmp.Or(scheduler.GroupBy(q.GroupBy), scheduler.ByPartition), Multiplier: defaultReserve,
		Strategy: cmp.Or(scheduler.WalltimeStrategy(q.WalltimeStrategy), scheduler.MaxJobRuntime),
		Stamp:    r.service.Now().Format("20060102_150405"),
	}
	if q.WalltimeMultiplier != nil {
		r.options.Multiplier = *q.WalltimeMultiplier
	}
	switch {
	case q.WalltimeSeconds < 0:
		return workflow.Errorf(workflow.CodeInvalid, "walltime_seconds: %d is not a valid walltime", q.WalltimeSeconds)
	case r.options.GroupBy != scheduler.ByPartition && r.options.GroupBy != scheduler.ByRequirements:
		return workflow.Errorf(workflow.CodeInvalid, "group_by: %q is neither partition nor resource-requirements", q.GroupBy)
	case r.options.Strategy != scheduler.MaxJobRuntime && r.options.Strategy != scheduler.MaxPartitionTime:
		return workflow.Errorf(workflow.CodeInvalid, "walltime_strategy: %q is neither max-job-runtime nor max-partition-time", q.WalltimeStrategy)
	}
	return nil
}

// findJobs reads the jobs that have not begun, and those that the request includes, with
// what they need.
func (r *remaining) findJobs(ctx context.Context) error {
	s := r.service
	requirements, err := s.requirementsByID(ctx, r.workflowID)
	if err != nil {
		return err
	}
	jobs, err := all(func(page store.Page) ([]workflow.Job, int64, error) {
		return s.Store.Jobs.List(ctx, store.JobFilter{WorkflowID: r.workflowID, WithRelations: true}, page)
	})
	if err != nil {
		return err
	}
	included := make(map[int64]bool)
	for _, id := range r.request.IncludeJobIDs {
		included[id] = true
	}
	places := make(numbering)
	for _, j := range jobs {
		switch j.Status {
		case workflow.Uninitialized, workflow.Ready, workflow.Blocked:
		default:
			if !included[j.ID] {
				continue
			}
		}
		places[j.ID] = int32(len(r.jobs))
		r.jobs = append(r.jobs, j)
	}
	levels := graph.Levels(len(r.jobs), func(i int) []int32 { return places.known(r.jobs[i].DependsOn) })
	for i, j := range r.jobs {
		w := scheduler.Work{Level: levels[i], Labeled: len(j.Labels) > 0, Login: j.Login}
		if j.ResourceRequirementsID != nil {
			w.Requirements = requirements[*j.ResourceRequirementsID]
		}
		r.work = append(r.work, w)
	}
	return nil
}

// prepare finds the site, the account that is charged, and the schedulers that are there.
// Without a site, in the request or here, it is CodeConflict.
func (r *remaining) prepare(ctx context.Context) (err error) {
	if r.site, err = r.findSite(ctx); err != nil {
		return err
	}
	w, err := r.service.Store.Workflows.Get(ctx, r.workflowID)
	if err != nil {
		return err
	}
	r.known, err = all(func(page store.Page) ([]compute.SlurmScheduler, int64, error) {
		return r.service.Store.SlurmSchedulers.List(ctx, r.workflowID, page)
	})
	if err != nil {
		return err
	}
	r.options.WorkerPerNode = w.ExecutionConfig == nil || w.ExecutionConfig.Mode == "" || w.ExecutionConfig.Mode == "direct"
	r.options.Account, err = r.account(w.SlurmDefaults)
	return err
}

// findSite returns the site of the request, or else that of the daemon.
func (r *remaining) findSite(ctx context.Context) (*siteconfigs.Site, error) {
	if len(r.request.Site) > 0 {
		var given siteconfigs.Site
		if err := json.Unmarshal(r.request.Site, &given); err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalid, "site: %v", err)
		}
		return &given, nil
	}
	if r.service.Site == nil {
		return nil, ErrNoSlurm
	}
	return r.service.Site(ctx)
}

// account is the one that allocations are charged to.
func (r *remaining) account(defaults []byte) (string, error) {
	account := r.request.Account
	for _, c := range r.known {
		account = cmp.Or(account, c.Account)
	}
	options, err := sbatchtemplates.ParseDefaults(defaults)
	if err != nil {
		return "", err
	}
	for _, o := range options {
		if o.Name == "account" {
			account = cmp.Or(account, o.Value)
		}
	}
	if account = cmp.Or(account, r.site.DefaultAccount); account == "" {
		return "", workflow.Errorf(workflow.CodeInvalid, "no account is set; set --account, or account in slurm_defaults")
	}
	return account, nil
}
