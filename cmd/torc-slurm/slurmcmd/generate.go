package slurmcmd

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

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/schedulergen"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/scheduler"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// generateFlags are the flags of slurm generate.
type generateFlags struct {
	schedulergen.PlanFlags
	output                       string
	noActions, overwrite, dryRun bool
	skipChecks                   bool
}

func newGenerate(a *cli.Factory) *cobra.Command {
	var flags generateFlags
	cmd := &cobra.Command{
		Use:   "generate SPEC",
		Short: "Add Slurm schedulers and actions to a specification",
		Long: `Add to a specification what it needs to run under Slurm: schedulers in the best
partitions for its jobs, actions that request allocations when jobs become ready, and
the scheduler of each job. The result has the format of the output file; on standard
output that of the specification. YAML keeps its comments.`,
		Example: `  torc-slurm slurm generate -a myproject sweep.yaml -o sweep_slurm.yaml
  torc-slurm slurm generate -a myproject --profile kestrel --dry-run sweep.yaml
  torc-slurm slurm generate -a myproject sweep.yaml | torc-slurm create -`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.Exits("3 there is no such specification or cluster", "5 the specification has schedulers or actions already", "6 the specification is invalid, jobs fit no partition, or no job is left to schedule"),
		ValidArgsFunction: cli.CompleteSpecs,
		RunE: cli.Checked(flags.Check, func(cmd *cobra.Command, args []string) error {
			return runSlurmGenerate(cmd.Context(), a, args[0], &flags)
		}),
	}
	flags.Add(cmd)
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "write to `FILE` instead of standard output")
	cmd.Flags().BoolVar(&flags.noActions, "no-actions", false, "add schedulers only")
	cmd.Flags().BoolVar(&flags.overwrite, "overwrite", false, "replace existing schedulers and actions")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "show what would be added")
	cmd.Flags().BoolVar(&flags.skipChecks, "skip-checks", false, "skip jobs that fit no partition, with a warning")
	return cmd
}

// generated has what slurm generate adds to a specification.
type generated struct {
	site       *siteconfigs.Site
	loaded     *spec.Result
	groups     []scheduler.Generated
	scheduling spec.Scheduling
	warnings   []string
}

func runSlurmGenerate(ctx context.Context, a *cli.Factory, path string, flags *generateFlags) error {
	loaded, text, err := loadSpecText(a, path)
	if err != nil {
		return err
	}
	if err := checkUnscheduled(loaded.Definition, flags.overwrite); err != nil {
		return err
	}
	site, err := sites.Find(ctx, a, flags.Profile)
	if err != nil {
		return err
	}
	g, err := flags.generate(loaded, site)
	if err != nil {
		return err
	}
	if flags.dryRun {
		return showGenerated(a, g)
	}
	to := spec.OutputFormat(flags.output, loaded.Format)
	if flags.output == "" && a.Format == cli.FormatJSON {
		to = spec.JSON
	}
	result, err := spec.Schedule(path, text, to, g.scheduling)
	if err != nil {
		return err
	}
	if err := checkGenerated(a, path, result, to); err != nil {
		return err
	}
	g.write(a.Stderr, "// ")
	if flags.output == "" {
		_, err := a.Stdout.Write(result)
		return err
	}
	if err := trustedfile.WriteOwn(a.Path(flags.output), result, 0o666); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "--output: %v", err)
	}
	return nil
}

// loadSpecText loads a specification without its checks, and returns it with its text.
func loadSpecText(a *cli.Factory, path string) (*spec.Result, []byte, error) {
	opts := specfile.Options(a, specfile.Flags{SkipChecks: true})
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

// checkUnscheduled returns an error if the specification has schedulers or actions that would
// be replaced.
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

func (flags *generateFlags) generate(loaded *spec.Result, site *siteconfigs.Site) (*generated, error) {
	account, err := flags.AccountFor(loaded.Definition.SlurmDefaults, site)
	if err != nil {
		return nil, err
	}
	g := &generated{site: site, loaded: loaded}
	work, options := scheduler.WorkOf(loaded.Definition), flags.Options(account, loaded.Definition.ExecutionConfig)
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
		return nil, &cli.ExitError{Status: cli.ExitInvalidSpec, Err: workflow.Errorf(workflow.CodeInvalid, "no job is left that a scheduler could be generated for").WithHint("%s", hint)}
	}
	g.schedule(flags.noActions)
	return g, nil
}

// refuseUnfit returns an error that lists the jobs that fit no partition.
func refuseUnfit(work []scheduler.Work, site *siteconfigs.Site, o scheduler.GenerateOptions) error {
	unfit, err := scheduler.UnfitWork(work, site, o)
	if err != nil || len(unfit) == 0 {
		return err
	}
	lines := []string{"jobs fit no partition of " + site.Title() + ":"}
	for _, u := range unfit {
		lines = append(lines, u.String())
	}
	return &cli.ExitError{Status: cli.ExitInvalidSpec, Err: workflow.Errorf(workflow.CodeInvalid, "%s", strings.Join(lines, "\n")).
		WithHint("change what these jobs need; --skip-checks leaves them out")}
}

// checkGenerated checks a generated specification in the same way as create does. It returns an
// error if the specification is invalid.
func checkGenerated(a *cli.Factory, path string, text []byte, format spec.Format) error {
	loaded, err := spec.Parse(filepath.Join(filepath.Dir(path), "generated."+string(format)), text, specfile.Options(a, specfile.Flags{}))
	var broken spec.Errors
	if errors.As(err, &broken) {
		return fmt.Errorf("the generated specification is invalid: %w", err)
	}
	if err != nil {
		return err
	}
	for _, w := range loaded.Warnings {
		a.Note("warning: %s", w.Error.Error())
	}
	return nil
}
