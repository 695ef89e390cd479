package logs

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/logfile"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/logscan"
)

// logIssue is a line with a known error.
type logIssue struct {
	File        string           `json:"file"`
	LineNumber  int              `json:"line_number"`
	Line        string           `json:"line"`
	Description string           `json:"pattern_description"`
	Severity    logscan.Severity `json:"severity"`
}

// logAnalysis is the result of logs analyze.
type logAnalysis struct {
	WorkflowID   int64                   `json:"workflow_id"`
	Bundle       *logfile.BundleMetadata `json:"bundle,omitempty"`
	FilesScanned int                     `json:"files_scanned"`
	TotalIssues  int                     `json:"total_issues"`
	Errors       int                     `json:"errors"`
	Warnings     int                     `json:"warnings"`
	Issues       []logIssue              `json:"issues"`
	// Summary has the number of issues by description.
	Summary map[string]int `json:"summary"`
}

func newAnalyze(a *cli.Factory) *cobra.Command {
	var workflowID int64
	cmd := &cobra.Command{
		Use:   "analyze BUNDLE|DIR",
		Short: "Search log files for known errors",
		Long: `Search a bundle of log files, or an output directory, for lines with known errors: out
of memory, time limits, full disks, missing programs and modules, lost connections and
the like. The command needs no server.`,
		Example: `  torc-slurm logs analyze wf12.tar.gz
  torc-slurm logs analyze torc_output -w 12`,
		ValidArgsFunction: cli.CompletePaths,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.Exits("1 there are no logs, or they belong to several workflows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			analysis, err := analyzeLogs(cmd.Context(), a.Path(args[0]), cli.Given(cmd, "workflow", workflowID))
			if err != nil {
				return &cli.ExitError{Status: cli.ExitFailed, Err: err}
			}
			return a.ShowRecord(analysis, func(w io.Writer) { analysis.write(w) })
		},
	}
	cmd.Flags().Int64VarP(&workflowID, "workflow", "w", 0, "`ID` of the workflow, if the logs belong to several")
	return cmd
}

// analyzeLogs returns the known errors in a bundle or a directory. It returns an error if
// that cannot be read, has no logs of the wanted workflow, or, without a wanted one, logs of
// several. The files are read here and not by the daemon, which may run on another machine
// or without permission to read them.
func analyzeLogs(ctx context.Context, path string, wanted *int64) (*logAnalysis, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeNotFound, "cannot read %s: %v", path, err)
	}
	s := logScan{of: make(map[int64]*logAnalysis)}
	if info.IsDir() {
		err = s.directory(ctx, path)
	} else {
		err = s.bundle(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	return s.choose(path, wanted)
}

// logScan collects the issues by workflow.
type logScan struct {
	of       map[int64]*logAnalysis
	metadata *logfile.BundleMetadata // of a bundle
}

func (s *logScan) directory(ctx context.Context, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = outputdir.SkipAside(dir, path, entry)
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if _, ok := logfile.WorkflowOf(entry.Name()); !ok {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return s.file(relative, f)
	})
}

func (s *logScan) bundle(ctx context.Context, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return workflow.Errorf(workflow.CodeNotFound, "cannot read the bundle: %v", err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return notABundle(name, err)
	}
	defer unzipped.Close()
	archive := tar.NewReader(unzipped)
	for ctx.Err() == nil {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return notABundle(name, err)
		case header.Typeflag != tar.TypeReg:
			continue
		case path.Base(header.Name) == logfile.BundleMetadataName:
			err = json.NewDecoder(archive).Decode(&s.metadata)
		default:
			err = s.file(header.Name, archive)
		}
		if err != nil {
			return notABundle(name, err)
		}
	}
	return ctx.Err()
}

func notABundle(name string, err error) error {
	return workflow.Errorf(workflow.CodeInvalid, "%s is not a readable bundle (.tar.gz): %v", name, err)
}

// file searches a log, unless its name belongs to no workflow.
func (s *logScan) file(name string, r io.Reader) error {
	id, ok := logfile.WorkflowOf(path.Base(filepath.ToSlash(name)))
	if !ok {
		return nil
	}
	a := s.of[id]
	if a == nil {
		a = &logAnalysis{WorkflowID: id, Issues: []logIssue{}, Summary: make(map[string]int)}
		s.of[id] = a
	}
	a.FilesScanned++
	err := logscan.Scan(r, func(f logscan.Finding) {
		a.add(logIssue{File: name, LineNumber: f.Number, Line: cli.Printable(f.Line), Description: f.Description, Severity: f.Severity})
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

func (a *logAnalysis) add(issue logIssue) {
	a.Issues = append(a.Issues, issue)
	a.TotalIssues++
	a.Summary[issue.Description]++
	if issue.Severity == logscan.Error {
		a.Errors++
	} else {
		a.Warnings++
	}
}

// choose returns the issues of one workflow: the wanted one, or the only one.
func (s *logScan) choose(path string, wanted *int64) (*logAnalysis, error) {
	ids := slices.Sorted(maps.Keys(s.of))
	switch {
	case len(ids) == 0:
		return nil, workflow.Errorf(workflow.CodeNotFound, "there are no log files in %s", path)
	case wanted != nil && s.of[*wanted] == nil:
		return nil, workflow.Errorf(workflow.CodeNotFound, "there are no log files of workflow %d in %s, only those of %s", *wanted, path, cli.Joined(ids))
	case wanted == nil && len(ids) > 1:
		return nil, workflow.Errorf(workflow.CodeInvalid, "there are log files of several workflows in %s: %s", path, cli.Joined(ids)).
			WithHint("choose one with -w")
	case wanted == nil:
		wanted = &ids[0]
	}
	a := s.of[*wanted]
	a.Bundle = s.metadata
	slices.SortStableFunc(a.Issues, func(x, y logIssue) int { return strings.Compare(x.File, y.File) })
	return a, nil
}

// write writes the issues as text.
func (a *logAnalysis) write(w io.Writer) {
	if b := a.Bundle; b != nil {
		fmt.Fprintln(w, "Bundle Information")
		cli.WriteFields(w, cli.Field{"  Workflow", fmt.Sprintf("%d %s", b.WorkflowID, cli.Printable(b.WorkflowName))},
			cli.Field{"  User", b.WorkflowUser}, cli.Field{"  Collected", b.CollectedAt},
			cli.Field{"  Files", fmt.Sprintf("%d (%s)", b.FilesCollected, workflow.FormatBytes(b.TotalSizeBytes))})
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "Detected Issues: %d errors, %d warnings in %s\n", a.Errors, a.Warnings, workflow.CountOf(int64(a.FilesScanned), "file", "files"))
	file := ""
	for _, issue := range a.Issues {
		if issue.File != file {
			file = issue.File
			fmt.Fprintf(w, "\n%s\n", cli.Printable(file))
		}
		fmt.Fprintf(w, "  %d: %s: %s\n", issue.LineNumber, issue.Description, cli.Cut(issue.Line, 200))
	}
	if len(a.Summary) == 0 {
		return
	}
	fmt.Fprintln(w, "\nError Type Summary")
	kinds := slices.SortedFunc(maps.Keys(a.Summary), func(x, y string) int {
		if a.Summary[x] != a.Summary[y] {
			return a.Summary[y] - a.Summary[x]
		}
		return strings.Compare(x, y)
	})
	for _, kind := range kinds {
		fmt.Fprintf(w, "  %6d  %s\n", a.Summary[kind], kind)
	}
}
