package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
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
	argFiles     []string
	null         bool
	showFlags
}

// showFlags say what exec does with the output of jobs, and when it stops.
type showFlags struct {
	group, lineBuffer, quiet, tag bool
	joblog, results, halt         string
}

// NewExec returns the command that runs commands as a workflow.
func NewExec(a *cli.Factory) *cobra.Command {
	var flags execFlags
	var run runFlags
	c := &cobra.Command{
		Use:   "exec [flags] [--] [COMMAND [WORDS...]] [::: VALUES...]",
		Short: "Run commands without writing a specification",
		Long: `Run commands as a workflow, without writing a specification: a command and its words, those
of -c, and the lines of a file.

After ::: follow values; the command runs once for each. It gets the value at {}, or at its
end. {.} is the value without its extension, {/} without its folder, {//} its folder, {/.} without
both, and {#} the number of the job. Values come from files with :::: FILE or -a FILE, line by
line; - is the standard input. Several sources are combined, {1} and {2} are their values; :::+
and ::::+ go along with the source before. Several words reach the command as they are; one
word is a line for bash: 'sort {} | uniq > {.}.out'. As with torc, {i} is the value of --param i.

The output of the jobs is shown in their order, each when it has ended: --group shows it in the order
in which they end, --line-buffer while they run. The report is on the standard error.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm exec gzip -k ::: *.csv
  torc-slurm exec -j 8 'sort {} > {.}.sorted' ::: *.txt
  torc-slurm exec --tag ./sim --rate {1} --seed {2} ::: 0.1 0.2 ::: 1 2 3
  find . -name '*.png' | torc-slurm exec --joblog log convert {} {.}.jpg :::: -
  torc-slurm exec --param i=1:100 -- ./sim {i}
  torc-slurm exec -c 'make -C a' -c 'make -C b'
  torc-slurm exec -C commands.txt --halt soon,fail=3
  torc-slurm exec --dry-run ./sim {} ::: a b`,
		Args: func(c *cobra.Command, args []string) error { return checkExecArgs(a, c, args) },
		Annotations: cli.ServerExits(cli.ExitInvalidSpec, "1 jobs failed, were terminated or were canceled (0 with --exit-zero)",
			"130 interrupted; `torc-slurm run ID` continues the workflow"),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("sample-interval-seconds") && flags.interval < 1 {
				return cli.UsageErrorf("--sample-interval-seconds %d: the minimum is 1", flags.interval)
			}
			if flags.group && flags.lineBuffer || flags.quiet && (flags.group || flags.lineBuffer || flags.tag) {
				return cli.UsageErrorf("--group, --line-buffer and --quiet exclude one another, and --tag needs output")
			}
			return runExec(c.Context(), a, args, flags, run)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false) // what follows the command belongs to it
	f.StringVarP(&flags.name, "name", "n", "", "`NAME` of the workflow (default exec_<time>)")
	f.StringVar(&flags.description, "description", "", "`TEXT` that describes the workflow")
	f.StringArrayVarP(&flags.commands, "command", "c", nil, "`COMMAND` to run; may be repeated")
	f.StringVarP(&flags.commandsFile, "commands-file", "C", "", "`FILE` with a command on each line; # starts a comment; - reads standard input")
	f.StringArrayVar(&flags.params, "param", nil, "`NAME=VALUES` of a parameter: 1:100, [a,b], @file; may be repeated")
	f.StringVar(&flags.link, "link", "product", "`HOW` to combine parameters: product or zip")
	addRunFlags(f, &run)
	f.BoolVar(&flags.dryRun, "dry-run", false, "run nothing; print the commands if there are values, or else the specification as JSON")
	f.StringArrayVarP(&flags.argFiles, "arg-file", "a", nil, "`FILE` with values, one per line, like :::: FILE; may be repeated")
	f.BoolVarP(&flags.null, "null", "0", false, "values in files end with NUL characters")
	f.BoolVar(&flags.group, "group", false, "show the output of jobs in the order in which they end")
	f.BoolVar(&flags.lineBuffer, "line-buffer", false, "show the lines of jobs while they run")
	f.BoolVar(&flags.tag, "tag", false, "begin each line of output with the values of its job")
	f.BoolVar(&flags.quiet, "quiet", false, "do not show the output of jobs")
	f.StringVar(&flags.joblog, "joblog", "", "`FILE` for a line about each job, in the columns of GNU parallel")
	f.StringVar(&flags.results, "results", "", "`DIR` for the output of each job, in folders named after its values")
	f.StringVar(&flags.halt, "halt", "never", "`WHEN` to stop: never, soon,fail=N or now,fail=N; N may be a percentage")
	f.StringVar(&flags.stdio, "stdio", "", "`OUTPUT` to keep: separate, combined, no-stdout, no-stderr, none (default separate)")
	f.StringVar(&flags.monitor, "monitor", "summary", "`HOW` to measure jobs: off, summary, time-series")
	f.StringVar(&flags.nodeMonitor, "monitor-compute-node", "off", "`HOW` to measure the node: off, summary, time-series")
	f.Int64VarP(&flags.interval, "sample-interval-seconds", "i", 0, "`SECONDS` between two measurements")
	f.BoolVar(&flags.plots, "generate-plots", false, "plot time series at the end")
	return c
}

// checkExecArgs returns a usage error for words that are no command.
func checkExecArgs(a *cli.Factory, c *cobra.Command, args []string) error {
	if len(args) == 0 || c.ArgsLenAtDash() == 0 {
		return nil
	}
	if len(args) == 1 && specfile.IsSpec(a, args[0]) && !isProgram(a, args[0]) {
		return cli.UsageErrorf("exec takes commands; did you mean `%s run %s`?", cli.Prefix(a), args[0])
	}
	command, err := c.Flags().GetStringArray("command")
	if err == nil && len(command) > 0 && !strings.HasPrefix(args[0], ":::") {
		whole := append([]string{command[len(command)-1]}, args...)
		return cli.UsageErrorf("-c takes one word, and %q is another: write -c '%s', or no -c", args[0], strings.Join(whole, " "))
	}
	return nil
}

// isProgram reports whether a file may be executed.
func isProgram(a *cli.Factory, name string) bool {
	info, err := os.Stat(a.Path(name))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func runExec(ctx context.Context, a *cli.Factory, words []string, flags execFlags, run runFlags) error {
	in, err := readInput(a, words, &flags)
	if err != nil {
		return err
	}
	stop, err := parseHalt(flags.halt, len(in.commands))
	if err != nil {
		return err
	}
	document, err := execDocument(a, in.commands, flags)
	if err != nil {
		return err
	}
	if stop != nil {
		document.MaxFailures = &stop.fail
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
		if in.rows != nil && a.Format == cli.FormatTable {
			return showCommands(a, in.commands)
		}
		return showExpanded(a, loaded)
	}
	options, err := runnerOptions(a, run)
	if err != nil {
		return err
	}
	if err := checkNew(a, loaded, options); err != nil {
		return err
	}
	if in.rows == nil { // each command may be several jobs
		in.commands = nil
		for i := range loaded.Definition.Jobs {
			in.commands = append(in.commands, loaded.Definition.Jobs[i].Command)
		}
	}
	if run.sink, err = newSink(a, in, loaded.Definition, &flags.showFlags, stop); err != nil {
		return err
	}
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	return runNew(ctx, a, conn, loaded, options, run)
}

// showCommands prints the commands of a dry run.
func showCommands(a *cli.Factory, commands []string) error {
	for _, c := range commands {
		if _, err := fmt.Fprintln(a.Stdout, c); err != nil {
			return err
		}
	}
	return nil
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
func execDocument(a *cli.Factory, commands []string, flags execFlags) (*spec.Document, error) {
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
	if len(parameters) == 0 {
		return jobName(i)
	}
	name := "job"
	if n > 1 {
		name = jobName(i)
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
		return nil, cli.UsageErrorf("there is no command: write it after exec, or use -c or -C")
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
