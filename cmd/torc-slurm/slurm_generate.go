package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/sbatch-templates"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// planFlags say how schedulers are made for jobs.
type planFlags struct {
	account, profile string
	single           bool
	groupBy          string
	strategy         string
	multiplier       float64
}

func (p *planFlags) add(cmd *cobra.Command) {
	p.defaults()
	f := cmd.Flags()
	f.StringVarP(&p.account, "account", "a", "", "`ACCOUNT` that is charged")
	f.StringVar(&p.profile, "profile", "", "`NAME` of the cluster (default: the one of this machine)")
	f.BoolVar(&p.single, "single-allocation", false, "one allocation of many nodes instead of many of one node")
	f.StringVar(&p.groupBy, "group-by", p.groupBy, "one scheduler per `WHAT`: partition or resource-requirements")
	f.StringVar(&p.strategy, "walltime-strategy", p.strategy, "`HOW` long allocations are: max-job-runtime or max-partition-time")
	f.Float64Var(&p.multiplier, "walltime-multiplier", p.multiplier, "reserve of max-job-runtime")
	completeWords(cmd, "group-by", string(scheduler.ByPartition), string(scheduler.ByRequirements))
	completeWords(cmd, "walltime-strategy", string(scheduler.MaxJobRuntime), string(scheduler.MaxPartitionTime))
}

// defaults are what the flags are if none is given.
func (p *planFlags) defaults() {
	p.groupBy, p.strategy, p.multiplier = string(scheduler.ByPartition), string(scheduler.MaxJobRuntime), 1.5
}

func (p *planFlags) check() error {
	switch scheduler.GroupBy(p.groupBy) {
	case scheduler.ByPartition, scheduler.ByRequirements:
	default:
		return usageErrorf("--group-by %s: it is partition or resource-requirements", p.groupBy)
	}
	switch scheduler.WalltimeStrategy(p.strategy) {
	case scheduler.MaxJobRuntime, scheduler.MaxPartitionTime:
	default:
		return usageErrorf("--walltime-strategy %s: it is max-job-runtime or max-partition-time", p.strategy)
	}
	if !(p.multiplier >= 1 && p.multiplier <= 1000) {
		return usageErrorf("--walltime-multiplier %g: it is 1 at least", p.multiplier)
	}
	return nil
}

// options are for jobs of a workflow with such settings.
func (p *planFlags) options(account string, config *workflow.ExecutionConfig) scheduler.GenerateOptions {
	return scheduler.GenerateOptions{
		Account: account, GroupBy: scheduler.GroupBy(p.groupBy), Strategy: scheduler.WalltimeStrategy(p.strategy),
		Multiplier: p.multiplier, SingleAllocation: p.single,
		WorkerPerNode: config == nil || config.Mode == "" || config.Mode == "direct",
	}
}

// generateFlags are those of slurm generate.
type generateFlags struct {
	planFlags
	output                       string
	noActions, overwrite, dryRun bool
	skipChecks                   bool
}

func newSlurmGenerateCommand(a *app) *cobra.Command {
	var flags generateFlags
	cmd := &cobra.Command{
		Use:   "generate SPEC",
		Short: "Add Slurm schedulers and actions to a specification",
		Long: `Add to a specification what it needs to run under Slurm: schedulers in the
partitions that suit its jobs best, actions that ask for allocations when jobs
become ready, and the scheduler of each job. The result has the format of the
file that it is written to; on standard output that of the specification. YAML
keeps its comments.`,
		Example: `  torc-slurm slurm generate -a myproject sweep.yaml -o sweep_slurm.yaml
  torc-slurm slurm generate -a myproject --profile kestrel --dry-run sweep.yaml
  torc-slurm slurm generate -a myproject sweep.yaml | torc-slurm create -`,
		Args:              cobra.ExactArgs(1),
		Annotations:       exits("3 there is no such specification or cluster", "5 the specification has schedulers or actions already", "6 the specification is invalid, or jobs fit no partition"),
		ValidArgsFunction: completeSpecs,
		RunE: checked(flags.check, func(cmd *cobra.Command, args []string) error {
			return a.runSlurmGenerate(cmd.Context(), args[0], &flags)
		}),
	}
	flags.add(cmd)
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "write to `FILE` rather than to the standard output")
	cmd.Flags().BoolVar(&flags.noActions, "no-actions", false, "add schedulers only")
	cmd.Flags().BoolVar(&flags.overwrite, "overwrite", false, "replace schedulers and actions that are there")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "show what would be added")
	cmd.Flags().BoolVar(&flags.skipChecks, "skip-checks", false, "leave out jobs that fit no partition, with a warning, rather than refuse")
	return cmd
}

// generated is what slurm generate adds to a specification.
type generated struct {
	site       *siteconfigs.Site
	loaded     *spec.Result
	groups     []scheduler.Generated
	scheduling spec.Scheduling
	warnings   []string
}

func (a *app) runSlurmGenerate(ctx context.Context, path string, flags *generateFlags) error {
	loaded, text, err := a.loadSpecText(path)
	if err != nil {
		return err
	}
	if err := checkUnscheduled(loaded.Definition, flags.overwrite); err != nil {
		return err
	}
	site, err := a.site(ctx, flags.profile)
	if err != nil {
		return err
	}
	g, err := flags.generate(loaded, site)
	if err != nil {
		return err
	}
	if flags.dryRun {
		return a.showGenerated(g)
	}
	to := spec.OutputFormat(flags.output, loaded.Format)
	if flags.output == "" && a.format == formatJSON {
		to = spec.JSON
	}
	result, err := spec.Schedule(path, text, to, g.scheduling)
	if err != nil {
		return err
	}
	if err := a.checkGenerated(path, result, to); err != nil {
		return err
	}
	g.write(a.Stderr, "// ")
	if flags.output == "" {
		_, err := a.Stdout.Write(result)
		return err
	}
	if err := trustedfile.WriteOwn(a.path(flags.output), result, 0o666); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "--output: %v", err)
	}
	return nil
}

// loadSpecText reads a specification and keeps its text.
func (a *app) loadSpecText(path string) (*spec.Result, []byte, error) {
	opts := a.specOptions(specFlags{skipChecks: true})
	var stdin bytes.Buffer
	if opts.Stdin != nil {
		opts.Stdin = io.TeeReader(opts.Stdin, &stdin)
	}
	var text []byte
	opts.ReadFile = func(name string) ([]byte, error) {
		data, err := os.ReadFile(name)
		if name == path {
			text = data
		}
		return data, err
	}
	loaded, err := spec.Load(path, opts)
	if err != nil {
		return nil, nil, err
	}
	if path == "-" {
		text = stdin.Bytes()
	}
	return loaded, text, nil
}

// checkUnscheduled refuses a specification that would lose something.
func checkUnscheduled(d *workflow.Definition, overwrite bool) error {
	if overwrite {
		return nil
	}
	has := len(d.SlurmSchedulers) > 0
	for _, x := range d.Actions {
		has = has || x.ActionType == "schedule_nodes"
	}
	if !has {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "the specification has slurm_schedulers or schedule_nodes actions already").WithHint("--overwrite replaces them")
}

// accountFor is the one that allocations of a workflow are charged to.
func (p *planFlags) accountFor(defaults []byte, site *siteconfigs.Site) (string, error) {
	options, err := sbatchtemplates.ParseDefaults(defaults)
	if err != nil {
		return "", err
	}
	given := p.account
	for _, o := range options {
		if o.Name == "account" {
			given = firstOf(given, o.Value)
		}
	}
	if given = firstOf(given, site.DefaultAccount); given == "" {
		return "", usageErrorf("no account to charge; give one with --account, or as account in slurm_defaults")
	}
	return given, nil
}

func (flags *generateFlags) generate(loaded *spec.Result, site *siteconfigs.Site) (*generated, error) {
	account, err := flags.accountFor(loaded.Definition.SlurmDefaults, site)
	if err != nil {
		return nil, err
	}
	g := &generated{site: site, loaded: loaded}
	work, options := scheduler.WorkOf(loaded.Definition), flags.options(account, loaded.Definition.ExecutionConfig)
	if !flags.skipChecks {
		if err := refuseUnfit(work, site, options); err != nil {
			return nil, err
		}
	}
	g.groups, g.warnings, err = scheduler.Generate(work, site, options)
	if err != nil {
		return nil, err
	}
	if len(g.groups) == 0 {
		hint := ""
		if len(g.warnings) > 0 {
			hint = g.warnings[0]
		}
		return nil, workflow.Errorf(workflow.CodeInvalid, "there is no job that a scheduler could be made for").WithHint("%s", hint)
	}
	g.schedule(flags.noActions)
	return g, nil
}

// refuseUnfit refuses jobs for which no scheduler can be made.
func refuseUnfit(work []scheduler.Work, site *siteconfigs.Site, o scheduler.GenerateOptions) error {
	unfit, err := scheduler.UnfitWork(work, site, o)
	if err != nil || len(unfit) == 0 {
		return err
	}
	lines := []string{"jobs fit no partition of " + site.Title() + ":"}
	for _, u := range unfit {
		lines = append(lines, u.String())
	}
	return &exitError{exitInvalidSpec, workflow.Errorf(workflow.CodeInvalid, "%s", strings.Join(lines, "\n")).
		WithHint("change what these jobs need; --skip-checks leaves them out")}
}

// checkGenerated reads what was generated from a file, as create would.
func (a *app) checkGenerated(path string, text []byte, format spec.Format) error {
	loaded, err := spec.Parse(filepath.Join(filepath.Dir(path), "generated."+string(format)), text, a.specOptions(specFlags{}))
	var broken spec.Errors
	if errors.As(err, &broken) {
		return fmt.Errorf("the generated specification is invalid: %w", err)
	}
	if err != nil {
		return err
	}
	for _, w := range loaded.Warnings {
		a.note("warning: %s", w.Error.Error())
	}
	return nil
}
