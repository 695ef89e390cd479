package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/spec"
)

// execFlags are the flags of exec, except those of a runner.
type execFlags struct {
	name         string
	description  string
	commands     []string
	commandsFile string
	params       []string
	link         string
	monitor      string
	nodeMonitor  string
	plots        bool
	interval     int64
	stdio        string
	dryRun       bool
}

// NewExec returns the command that runs commands as a workflow.
func NewExec(a *cli.Factory) *cobra.Command {
	var flags execFlags
	var run runFlags
	c := &cobra.Command{
		Use:   "exec [flags] [-- WORDS...]",
		Short: "Run commands without writing a specification",
		Long: `Run commands as a workflow, without writing a specification: the command after --, those
of -c and the lines of a file. Each runs once for every combination of parameters.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm exec -j 8 --param i=1:100 -- ./sim {i}
  torc-slurm exec -c 'make -C a' -c 'make -C b'
  torc-slurm exec -C commands.txt
  torc-slurm exec --param x=[1,2] --param y=@values.txt --link zip -- ./fit {x} {y}
  torc-slurm exec --dry-run --param i=1:3 -- ./sim {i}`,
		Args: func(c *cobra.Command, args []string) error { return checkExecArgs(a, c, args) },
		Annotations: cli.ServerExits(cli.ExitInvalidSpec, "1 jobs failed, were terminated or were canceled (0 with --exit-zero)",
			"130 interrupted; `torc-slurm run ID` continues the workflow"),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("sample-interval-seconds") && flags.interval < 1 {
				return cli.UsageErrorf("--sample-interval-seconds %d: the minimum is 1", flags.interval)
			}
			return runExec(c.Context(), a, args, flags, run)
		},
	}
	f := c.Flags()
	f.StringVarP(&flags.name, "name", "n", "", "`NAME` of the workflow (default exec_<time>)")
	f.StringVar(&flags.description, "description", "", "`TEXT` that describes the workflow")
	f.StringArrayVarP(&flags.commands, "command", "c", nil, "`COMMAND` to run; may be repeated")
	f.StringVarP(&flags.commandsFile, "commands-file", "C", "", "`FILE` with a command on each line; # starts a comment; - reads standard input")
	f.StringArrayVar(&flags.params, "param", nil, "`NAME=VALUES` of a parameter: 1:100, [a,b], @file; may be repeated")
	f.StringVar(&flags.link, "link", "product", "`HOW` to combine parameters: product or zip")
	addRunFlags(f, &run)
	f.BoolVar(&flags.dryRun, "dry-run", false, "print the specification as JSON and run nothing")
	f.StringVar(&flags.stdio, "stdio", "", "`OUTPUT` to keep: separate, combined, no-stdout, no-stderr, none (default separate)")
	f.StringVar(&flags.monitor, "monitor", "summary", "`HOW` to measure jobs: off, summary, time-series")
	f.StringVar(&flags.nodeMonitor, "monitor-compute-node", "off", "`HOW` to measure the node: off, summary, time-series")
	f.Int64VarP(&flags.interval, "sample-interval-seconds", "i", 0, "`SECONDS` between two measurements")
	f.BoolVar(&flags.plots, "generate-plots", false, "plot time series at the end")
	return c
}

// checkExecArgs returns a usage error for arguments that do not follow --.
func checkExecArgs(a *cli.Factory, c *cobra.Command, args []string) error {
	dash := c.ArgsLenAtDash()
	stray := args
	if dash >= 0 {
		stray = args[:dash]
	}
	switch {
	case len(stray) == 0:
		return nil
	case specfile.IsSpec(a, stray[0]):
		return cli.UsageErrorf("exec takes commands; did you mean `%s run %s`?", cli.Prefix(a), stray[0])
	}
	return cli.UsageErrorf("%q: write the command after --, or give it with -c", strings.Join(stray, " "))
}

func runExec(ctx context.Context, a *cli.Factory, words []string, flags execFlags, run runFlags) error {
	document, err := execDocument(a, words, flags)
	if err != nil {
		return err
	}
	text, err := document.JSON()
	if err != nil {
		return fmt.Errorf("write the specification: %w", err)
	}
	loaded, err := spec.Parse("exec.json", text, specfile.Options(a, specfile.Flags{NoMonitoring: flags.monitor == "off"}))
	if err != nil {
		return execError(err)
	}
	if len(loaded.Definition.Jobs) == 0 {
		return cli.UsageErrorf("the parameters have no values, so there is nothing to run")
	}
	if flags.dryRun {
		return showExpanded(a, loaded)
	}
	options, err := runnerOptions(a, run)
	if err != nil {
		return err
	}
	if err := checkNew(a, loaded, options); err != nil {
		return err
	}
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	return runNew(ctx, a, conn, loaded, options, run)
}

// execError returns a usage error without positions, since the user has not seen the document.
func execError(err error) error {
	errs, ok := err.(spec.Errors)
	if !ok {
		return err
	}
	var lines []string
	for _, e := range errs {
		text := e.Message
		if e.Hint != "" {
			text += " (" + e.Hint + ")"
		}
		lines = append(lines, text)
	}
	return cli.UsageErrorf("%s", strings.Join(lines, "\n"))
}

// showExpanded prints the specification with all jobs.
func showExpanded(a *cli.Factory, loaded *spec.Result) error {
	text, err := spec.Expanded(loaded.Definition).JSON()
	if err != nil {
		return fmt.Errorf("write the specification: %w", err)
	}
	return a.WriteJSON(json.RawMessage(text))
}

// execDocument returns the specification for the flags, or a usage error.
func execDocument(a *cli.Factory, words []string, flags execFlags) (*spec.Document, error) {
	commands, err := execCommands(a, words, flags)
	if err != nil {
		return nil, err
	}
	parameters, err := execParameters(flags.params)
	if err != nil {
		return nil, err
	}
	if flags.link != "product" && flags.link != "zip" {
		return nil, cli.UsageErrorf("--link must be product or zip, not %q", flags.link)
	}
	monitor, err := flags.resourceMonitor()
	if err != nil {
		return nil, err
	}
	document := &spec.Document{
		Name:        cli.FirstOf(flags.name, "exec_"+a.Now().Format("20060102_150405")),
		Description: flags.description, Parameters: parameters, ResourceMonitor: monitor,
	}
	if flags.stdio != "" {
		mode := strings.ReplaceAll(flags.stdio, "-", "_")
		document.ExecutionConfig = &spec.ExecutionConfig{Stdio: &spec.Stdio{Mode: mode}}
	}
	for i, command := range commands {
		job := &spec.Job{Name: execJobName(i, len(commands), parameters), Command: command}
		if len(parameters) > 0 {
			job.ParameterMode = flags.link
			for _, p := range parameters {
				job.UseParameters = append(job.UseParameters, p.Name)
			}
		}
		document.Jobs = append(document.Jobs, job)
	}
	return document, nil
}

// execJobName returns the name of job i of n, which is unique after expansion.
func execJobName(i, n int, parameters spec.Parameters) string {
	name := "job"
	if n > 1 {
		name = fmt.Sprintf("job_%0*d", len(fmt.Sprint(n)), i+1)
	}
	for _, p := range parameters {
		name += "_{" + p.Name + "}"
	}
	return name
}

// execCommands returns the commands: the words after --, then those of -c, then those of the
// file. It returns a usage error if there are none.
func execCommands(a *cli.Factory, words []string, flags execFlags) ([]string, error) {
	var commands []string
	if len(words) > 0 {
		command, err := cli.QuoteWords(words)
		if err != nil {
			return nil, err
		}
		commands = append(commands, command)
	}
	commands = append(commands, flags.commands...)
	if flags.commandsFile != "" {
		lines, err := specfile.ReadCommands(a, flags.commandsFile)
		if err != nil {
			return nil, err
		}
		commands = append(commands, lines...)
	}
	if len(commands) == 0 {
		return nil, cli.UsageErrorf("there is no command: write it after --, or use -c or -C")
	}
	return commands, nil
}

// execParameters parses the values of --param, each NAME=VALUES.
func execParameters(texts []string) (spec.Parameters, error) {
	var parameters spec.Parameters
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, cli.UsageErrorf("--param %q is not NAME=VALUES, for example i=1:100", text)
		}
		for _, p := range parameters {
			if p.Name == name {
				return nil, cli.UsageErrorf("duplicate --param %s", name)
			}
		}
		parameters = append(parameters, spec.Parameter{Name: name, Value: value})
	}
	return parameters, nil
}

// resourceMonitor returns the settings for what is measured, or a usage error.
func (f execFlags) resourceMonitor() (*spec.ResourceMonitor, error) {
	scopes := map[string]string{"off": "", "summary": "summary", "time-series": "time_series"}
	jobs, ok := scopes[f.monitor]
	if !ok {
		return nil, cli.UsageErrorf("--monitor must be off, summary or time-series, not %q", f.monitor)
	}
	node, ok := scopes[f.nodeMonitor]
	if !ok {
		return nil, cli.UsageErrorf("--monitor-compute-node must be off, summary or time-series, not %q", f.nodeMonitor)
	}
	if f.plots && jobs != "time_series" && node != "time_series" {
		return nil, cli.UsageErrorf("--generate-plots needs --monitor or --monitor-compute-node time-series")
	}
	m := &spec.ResourceMonitor{GeneratePlots: f.plots}
	if f.interval > 0 {
		m.SampleIntervalSeconds = &f.interval
	}
	m.Jobs = &spec.JobMonitor{Enabled: jobs != "", Granularity: jobs}
	if node != "" {
		m.ComputeNode = &spec.NodeMonitor{Enabled: true, Granularity: node}
	}
	return m, nil
}
