// Package db has the commands about database files.
package db

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// New returns the group of commands about database files. They need no server, and do not
// disturb a running one.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupServer, "db", "Back up and check databases", newBackup(a), newCheck(a))
}

// databasePath returns the path of the database that a command reads: the given one, that of
// --standalone, or the one that serve would use.
func databasePath(a *cli.Factory, name string) (string, error) {
	if name == "" && a.Flags.Standalone {
		return daemonlink.StandaloneDatabase(a), nil
	}
	return daemonlink.ServeDatabase(a, name)
}

// databaseError sets the exit status ExitRefused for a database that cannot be read. Without
// it, the status would be that of an unreachable server, or of failed work.
func databaseError(err error) error {
	switch workflow.CodeOf(err) {
	case workflow.CodeUnavailable, workflow.CodeCorrupt:
		return &cli.ExitError{Status: cli.ExitRefused, Err: err}
	}
	return err
}

func newBackup(a *cli.Factory) *cobra.Command {
	var database string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of a database",
		Long: `Write a consistent copy of a database to a file that does not exist yet. A server may
use the database meanwhile.`,
		Example: `  torc-slurm db backup ~/torc-$(date +%F).db
  torc-slurm -s db backup copy.db                    the one in ./torc_output
  torc-slurm db backup copy.db --database /data/torc.db`,
		ValidArgsFunction: cli.CompletePaths,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.Exits("3 there is no such database", "5 the database cannot be read, or the copy cannot be written"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := databasePath(a, database)
			if err != nil {
				return err
			}
			to := a.Path(args[0])
			if err := store.Backup(cmd.Context(), from, to); err != nil {
				return databaseError(err)
			}
			return a.ShowMessage(struct {
				Status   string `json:"status"`
				Database string `json:"database"`
				Backup   string `json:"backup"`
			}{"success", from, to}, "Wrote a copy of %s to %s", from, to)
		},
	}
	cmd.Flags().StringVarP(&database, "database", "d", "", "database `FILE` (default: that of your daemon)")
	return cmd
}

// checkResult is the JSON output of db check.
type checkResult struct {
	Status   string         `json:"status"` // ok, damaged
	Database string         `json:"database"`
	Deep     bool           `json:"deep"`
	Findings []checkFinding `json:"findings"`
}

// checkFinding is a violation that db check has found.
type checkFinding struct {
	Promise string `json:"promise"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

func newCheck(a *cli.Factory) *cobra.Command {
	var (
		deep       bool
		outputDirs []string
	)
	cmd := &cobra.Command{
		Use:   "check [DATABASE]",
		Short: "Check a database",
		Long: `Check a database: the file, references and counters. With --deep, the command also checks
the records against the guarantees of the engine: one record for each attempt, at most
one lease for each job, no job started too early, retries within their budgets, one
verdict for each run, events without gaps. With output directories, it checks that every
acknowledged report that runners still keep there is recorded.

The command only reads. A server may use the database meanwhile.`,
		Example: `  torc-slurm db check
  torc-slurm -s db check --deep                      the one in ./torc_output
  torc-slurm db check --deep /data/torc.db -o /scratch/torc_output`,
		ValidArgsFunction: cli.CompletePaths,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.Exits("1 the check found problems", "3 there is no such database", "5 the file cannot be read, is not a database, or is of another version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := databasePath(a, cli.FirstArg(args))
			if err != nil {
				return err
			}
			findings, err := checkDatabase(cmd.Context(), path, deep, paths(a, outputDirs))
			if err != nil {
				return databaseError(err)
			}
			return showFindings(a, path, deep, findings)
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "check all records")
	cmd.Flags().StringArrayVarP(&outputDirs, "output-dir", "o", nil, "with --deep: an output `DIR` of runs in this database; may be repeated")
	_ = cmd.MarkFlagDirname("output-dir")
	return cmd
}

// paths returns the user's paths as absolute ones.
func paths(a *cli.Factory, names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = a.Path(name)
	}
	return all
}

func checkDatabase(ctx context.Context, path string, deep bool, outputDirs []string) ([]check.Finding, error) {
	if !deep {
		return check.File(ctx, path)
	}
	var witness check.Witness
	for _, dir := range outputDirs {
		reports, err := spooledReports(dir)
		if err != nil {
			return nil, err
		}
		witness.Spooled = append(witness.Spooled, reports...)
	}
	return check.Deep(ctx, path, witness)
}

// spooledReports returns the reports that runners keep in an output directory.
func spooledReports(outputDir string) ([]check.SpooledReport, error) {
	paths, err := spool.Files(filepath.Join(outputDir, "spool"))
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalid, "cannot read the reports in %s: %v", outputDir, err)
	}
	var all []check.SpooledReport
	for _, path := range paths {
		contents, err := spool.Read(path)
		if err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalid, "%v", err)
		}
		for i, report := range contents.Reports {
			all = append(all, check.SpooledReport{
				RunID:    contents.Header.RunID,
				LeaseRef: lease.LeaseRef{JobID: report.JobID, Attempt: report.Attempt, Fence: report.Fence},
				EndedMS:  report.EndedMS,
				Answered: i < contents.Answered,
			})
		}
	}
	return all, nil
}

// showFindings shows the result. It returns a silent error with exit status 1 if there are
// findings.
func showFindings(a *cli.Factory, path string, deep bool, findings []check.Finding) error {
	result := checkResult{Status: "ok", Database: path, Deep: deep, Findings: []checkFinding{}}
	for _, f := range findings {
		result.Findings = append(result.Findings, checkFinding(f))
	}
	if len(findings) > 0 {
		result.Status = "damaged"
	}
	err := a.ShowRecord(result, func(w io.Writer) {
		for _, f := range findings {
			fmt.Fprintln(w, f)
		}
		if len(findings) == 0 {
			fmt.Fprintf(w, "%s is sound\n", path)
		}
	})
	if err == nil && len(findings) > 0 {
		return cli.Silent(cli.ExitFailed)
	}
	return err
}
