// Package mcpcmd has the command that serves AI agents.
package mcpcmd

import (
	"context"
	"io"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/logfile"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/schedulergen"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/internal/redact"
	"github.com/torc-slurm/torc-slurm/mcp"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Name is the name of torc's program that the command replaces.
const Name = "torc-mcp-server"

// flags are those of the command.
type flags struct {
	mode      string
	call      string // in which the daemon asks the agent
	outputDir string
	apiURL    string // torc's names of --url, and folders that are not needed here
	ignored   [2]string
}

// New returns the command that serves an AI agent.
func New(a *cli.Factory, version string) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an AI agent by the Model Context Protocol",
		Long: `Serve an AI agent by the Model Context Protocol (MCP) on standard input and output. An
agent is configured to start this command; it then has tools for the status of
workflows, the causes and logs of failures, resources, held jobs and specifications.

The mode says what the agent may do:

  read      nothing changes
  propose   what would change something is stored as a proposal, which a person
            applies with ` + "`torc-slurm proposals apply ID`" + ` (the default)
  apply     changes are made

What jobs print, names and commands are marked in all answers as data that is not to be
obeyed, and are stripped of control characters and of secrets: tokens, keys, passwords,
and what matches the patterns mcp.redact in the configuration.`,
		GroupID: cli.GroupAnalysis,
		Example: `  claude mcp add torc -- torc-slurm mcp
  torc-slurm mcp --mode read
  torc-slurm --url https://host:8443/torc-service/v1 mcp`,
		Args:        cobra.NoArgs,
		Annotations: cli.ServerExits(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			mode, err := mcp.ParseMode(cli.FirstOf(f.mode, a.Config.MCP.Mode, string(mcp.Propose)))
			if err != nil {
				return err
			}
			if f.call != "" && mode != mcp.Propose {
				return cli.UsageErrorf("--call is only possible in the mode propose")
			}
			if f.apiURL != "" && a.Flags.URL == "" {
				a.Flags.URL = f.apiURL
			}
			return serve(cmd.Context(), a, version, mode, &f)
		},
	}
	s := cmd.Flags()
	s.StringVar(&f.mode, "mode", "", "what the agent may do: "+strings.Join(mcp.Modes(), ", ")+" (default propose)")
	s.StringVarP(&f.outputDir, "output-dir", "o", "", "output `DIR` of workflows (default torc_output)")
	s.StringVar(&f.call, "call", "", "key of the call in which the daemon asks the agent")
	s.StringVar(&f.apiURL, "api-url", "", "torc's name of --url")
	s.StringVar(&f.ignored[0], "docs-dir", "", "accepted for torc's sake: the documentation is part of the program")
	s.StringVar(&f.ignored[1], "examples-dir", "", "accepted for torc's sake: the examples are part of the program")
	for _, hidden := range []string{"call", "api-url", "docs-dir", "examples-dir"} {
		_ = s.MarkHidden(hidden) // it exists
	}
	cli.CompleteWords(cmd, "mode", mcp.Modes()...)
	return cmd
}

// serve serves the agent at the standard streams until it goes away.
func serve(ctx context.Context, a *cli.Factory, version string, mode mcp.Mode, f *flags) error {
	outputDir := f.outputDir
	secrets, err := redact.New(a.Config.MCP.Redact)
	if err != nil {
		return workflow.Errorf(workflow.CodeInvalid, "configuration: mcp.redact: %v", err)
	}
	link := &link{app: a}
	s := mcp.New(mcp.Options{
		Version: version, Mode: mode, User: a.User(), Call: f.call, Redact: secrets, Log: a.Log, Connect: link.connect,
		OutputDirs: func(ctx context.Context, c *client.Client, named string) ([]string, error) {
			return outputdir.List(ctx, a, &cli.Connection{Client: c}, cli.FirstOf(named, outputDir))
		},
		OutputRoots: func(named string) []string {
			usual := a.Path(cli.FirstOf(outputDir, a.Config.Client.Run.OutputDir, "torc_output"))
			if named == "" {
				return []string{usual}
			}
			return outputdir.Under(a, named)
		},
		LogFiles: logFiles,
		Plan: func(ctx context.Context, c *client.Client, loaded *spec.Result, q mcp.PlanRequest) (*api.AllocationPlan, error) {
			p := schedulergen.SpecPlan{Partition: q.Partition, NoEstimates: q.NoEstimates}
			p.Defaults()
			p.Charge(q.Account)
			p.Profile = q.Profile
			return schedulergen.PlanSpec(ctx, a, c, loaded, &p)
		},
		Spec: specfile.Options(a, specfile.Flags{}),
	})
	err = s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(a.Stdin), Writer: nopCloser{a.RawStdout}})
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// nopCloser is a writer that is not closed with a session.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func logFiles(dirs []string, workflowID int64) ([]mcp.LogFile, error) {
	found, err := logfile.Find(dirs, workflowID)
	if err != nil {
		return nil, err
	}
	files := make([]mcp.LogFile, len(found))
	for i, f := range found {
		files[i] = mcp.LogFile{Dir: f.Dir, Path: f.Path, Size: f.Info.Size()}
	}
	return files, nil
}

// link connects calls with the daemon. An agent may be silent for longer than an idle
// daemon lives, so that each call makes sure that it runs.
type link struct {
	app *cli.Factory
	mu  sync.Mutex
}

func (l *link) connect(ctx context.Context) (*client.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.app.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.Probe.Version(ctx); !client.IsUnreachable(err) {
		return c.Client, nil
	}
	if c, err = l.app.Reconnect(ctx); err != nil {
		return nil, err
	}
	return c.Client, nil
}
