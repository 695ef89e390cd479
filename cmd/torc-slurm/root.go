package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of commands in the help.
const (
	groupLifecycle  = "lifecycle"
	groupManagement = "management"
	groupCompute    = "compute"
	groupAnalysis   = "analysis"
	groupServer     = "server"
	groupUtility    = "utility"
)

// globalFlags are accepted by every command.
type globalFlags struct {
	format           string
	logLevel         string
	verbose          bool
	url              string
	password         string
	promptPassword   bool
	skipVersionCheck bool
	tlsCACert        string
	tlsInsecure      bool
	cookie           string
	standalone       bool
	database         string
	inMemory         bool
	snapshotInterval int64 // seconds
}

// newRoot makes the tree of commands.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "torc-slurm",
		Short: "Run workflows of jobs",
		Long: `torc-slurm runs workflows of jobs: in the right order, the right number at a
time, with failures named, repaired and retried.

There is no server to look after: a command finds your daemon or starts it.`,
		Example: `  torc-slurm run sweep.yaml            run a workflow here, with progress and a report
  torc-slurm exec -j 8 --param i=1:100 -- ./sim {i}
  torc-slurm why simulate_042          why is this job where it is?
  torc-slurm logs follow simulate_042`,
		Version:           version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.configure(c) },
		Args:              cobra.ArbitraryArgs,
		RunE:              a.runGroup,
		Annotations:       exits(),
		// A letter before a command is the one that all commands have, behind
		// it the command's own.
		TraverseChildren: true,
	}
	root.Flags().SortFlags = false
	addGlobalFlags(root, &a.flags)
	for _, g := range []cobra.Group{
		{ID: groupLifecycle, Title: "Workflow lifecycle:"},
		{ID: groupManagement, Title: "Workflow management:"},
		{ID: groupCompute, Title: "Scheduler and compute:"},
		{ID: groupAnalysis, Title: "Analysis and debugging:"},
		{ID: groupServer, Title: "Server administration:"},
		{ID: groupUtility, Title: "Configuration and utilities:"},
	} {
		root.AddGroup(&g)
	}
	root.AddCommand(
		newCreateCommand(a), newRunCommand(a), newSubmitCommand(a), newExecCommand(a), newStatusCommand(a), newWatchCommand(a), newRecoverCommand(a), newCancelCommand(a), newDeleteCommand(a),
		newTasksCommand(a),
		newHoldsCommand(a),
		newAlertsCommand(a),
		newBreakersCommand(a),
		newWhyCommand(a), newLogsCommand(a),
		newServeCommand(a), newHtpasswdCommand(a), newAdminCommand(a), newRunnerCommand(a), newNodeGatewayCommand(a), newLoginRunnerCommand(a), newTorcRunnerCommand(a), newDBCommand(a), newPingCommand(a),
		newHPCCommand(a), newSlurmCommand(a), newSqCommand(a), newScheduledComputeNodesCommand(a),
		newConfigCommand(a), newCompletionsCommand(a),
		newResetCommand(a), newWorkflowsCommand(a), newJobsCommand(a), newFilesCommand(a), newUserDataCommand(a),
		newResourceRequirementsCommand(a), newFailureHandlersCommand(a), newRetryPolicyCommand(a), newComputeNodesCommand(a),
		newResultsCommand(a), newEventsCommand(a), newJobDependenciesCommand(a), newReportsCommand(a),
	)
	noPathsElsewhere(root)
	root.SetHelpCommandGroupID(groupUtility)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("torc-slurm {{.Version}}\n")
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(flagError)
	root.SuggestionsMinimumDistance = 2
	return root
}

func addGlobalFlags(root *cobra.Command, f *globalFlags) {
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVarP(&f.format, "format", "f", "", "output `FORMAT`: table, json or csv (lists only)")
	flags.StringVar(&f.url, "url", "", "`URL` of the server (TORC_API_URL); without it, your own daemon")
	flags.BoolVarP(&f.standalone, "standalone", "s", false, "everything in this process, with a database of its own")
	flags.StringVar(&f.database, "db", "", "database `FILE` of --standalone (default torc_output/torc.db)")
	addStandaloneFlags(flags, f)
	flags.StringVar(&f.password, "password", "", "`PASSWORD` for the server (TORC_PASSWORD)")
	flags.BoolVar(&f.promptPassword, "prompt-password", false, "ask for the password")
	flags.StringVar(&f.tlsCACert, "tls-ca-cert", "", "PEM `FILE` with the authority that the server's certificate is checked against (TORC_TLS_CA_CERT)")
	flags.BoolVar(&f.tlsInsecure, "tls-insecure", false, "accept any certificate (TORC_TLS_INSECURE)")
	flags.StringVar(&f.cookie, "cookie-header", "", "`VALUE` of the Cookie header (TORC_COOKIE_HEADER)")
	flags.BoolVar(&f.skipVersionCheck, "skip-version-check", false, "talk to a server of another major version")
	flags.StringVar(&f.logLevel, "log-level", "", "`LEVEL` of messages: debug, info, warn or error (RUST_LOG; default warn)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "the same as --log-level debug")
	_ = root.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formatTable, formatJSON, formatCSV}, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

// flagError is what a user reads about a flag that cannot be understood.
func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		kind := map[string]string{"int64": "a whole number", "float64": "a number", "bool": "true or false", "int64Slice": "a list of whole numbers"}
		if want := kind[invalid.GetFlag().Value.Type()]; want != "" {
			text = fmt.Sprintf("--%s %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
	}
	return usageErrorf("%s; see `%s --help`", text, c.CommandPath())
}

// configure combines configuration files, variables and flags.
func (a *app) configure(c *cobra.Command) error {
	config, err := loadConfig(&a.Environment)
	if err != nil {
		return err
	}
	a.config = config
	a.format = firstOf(a.flags.format, config.Client.Format, formatTable)
	switch a.format {
	case formatTable, formatJSON, formatCSV:
	default:
		bad := a.format
		a.format = formatTable
		return usageErrorf("unknown format %q: it is table, json or csv", bad)
	}
	if a.format == formatCSV && c.Annotations[csvAnnotation] == "" {
		a.format = formatTable
		if a.flags.format != "" {
			return usageErrorf("csv is for lists; `%s` shows none", c.CommandPath())
		}
	}
	level := slog.LevelDebug
	if !a.flags.verbose {
		if level, err = parseLogLevel(firstOf(a.flags.logLevel, a.getenv("RUST_LOG"), config.Client.LogLevel, "warn")); err != nil {
			return err
		}
	}
	a.log = logTo(a.Stderr, level)
	for _, warning := range config.warnings {
		a.log.Warn(warning)
	}
	if a.flags.database != "" && !a.flags.standalone {
		return usageErrorf("--db names the database of --standalone; add -s")
	}
	return a.checkInMemory(c)
}

// parseLogLevel reads a level. Of a list of filters as RUST_LOG may have it,
// the one without a module counts.
func parseLogLevel(text string) (slog.Level, error) {
	level := text
	for part := range strings.SplitSeq(text, ",") {
		if !strings.Contains(part, "=") {
			level = part
		}
	}
	switch strings.ToLower(strings.TrimSpace(level)) {
	case "trace", "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	case "off", "none":
		return slog.LevelError + 4, nil
	}
	if strings.Contains(text, "=") {
		return slog.LevelWarn, nil // filters for other programs
	}
	return 0, usageErrorf("unknown log level %q: it is debug, info, warn or error", text)
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// newGroup makes a command that only has subcommands.
func newGroup(a *app, groupID, use, short string, sub ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, GroupID: groupID, RunE: a.runGroup, Annotations: exits(), SuggestionsMinimumDistance: 2}
	c.AddCommand(sub...)
	return c
}

// runGroup is what a command does that needs a subcommand.
func (a *app) runGroup(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	hint := fmt.Sprintf("see `%s --help`", c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageErrorf("%s has no command %q; %s", c.CommandPath(), args[0], hint)
}

// usageTemplate is cobra's, with the exit statuses of the command.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if gt (len .Aliases) 0}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

{{if .HasParent}}Flags{{else}}Flags of all commands{{end}}:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{with index .Annotations "exit status"}}

Exit status:
{{. | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} [command] --help" says more about a command.{{else if .HasParent}}

"{{.Root.Name}} --help" lists the flags that all commands have.{{end}}
`
