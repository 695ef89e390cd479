package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

func (s *Server) addCreateTools() {
	add(s, tool{name: "create_workflow", title: "Check, save or create a workflow", changes: true,
		description: "Check a specification (action validate), write it to a new file (save_spec_file), or create a workflow from it (create_workflow). Always validate first. get_example and get_docs (topic spec) show how specifications are written. Creating starts nothing: a person runs the workflow with torc-slurm run or submit."}, createWorkflow)
}

type createIn struct {
	changeIn
	SpecJSON     string `json:"spec_json" jsonschema:"text of the specification in JSON or YAML"`
	Action       string `json:"action" jsonschema:"validate, save_spec_file or create_workflow"`
	WorkflowType string `json:"workflow_type" jsonschema:"local: it runs on one machine; slurm: in allocations of Slurm"`
	User         string `json:"user,omitempty" jsonschema:"accepted and not used: workflows belong to the user of the server"`
	Account      string `json:"account,omitempty" jsonschema:"with slurm: the account that is charged"`
	HPCProfile   string `json:"hpc_profile,omitempty" jsonschema:"accepted and not used: allocations are requested on the cluster of the daemon"`
	OutputPath   string `json:"output_path,omitempty" jsonschema:"with save_spec_file: a new file"`
	Reason       string `json:"reason,omitempty" jsonschema:"why; people see it before they apply the change"`
}

type createOut struct {
	Valid      bool       `json:"valid"`
	Errors     []string   `json:"errors" jsonschema:"the first 50"`
	Warnings   []string   `json:"warnings" jsonschema:"the first 50"`
	Name       string     `json:"workflow_name"`
	Jobs       int        `json:"job_count"`
	JobEntries int        `json:"job_count_before_expansion"`
	Files      int        `json:"file_count"`
	JobNames   []string   `json:"job_names" jsonschema:"the first 20"`
	WorkflowID int64      `json:"workflow_id,omitempty" jsonschema:"of the created workflow"`
	Path       string     `json:"path,omitempty" jsonschema:"of the saved file"`
	Change     *changeOut `json:"change,omitempty" jsonschema:"the proposal to create the workflow"`
	Next       string     `json:"next,omitempty"`
}

func createWorkflow(ctx context.Context, c *call, in createIn) (out createOut, err error) {
	s := c.server
	switch {
	case in.Action != "validate" && in.Action != "save_spec_file" && in.Action != "create_workflow":
		return out, workflow.Errorf(workflow.CodeInvalid, "unknown action %q", in.Action).WithHint("use validate, save_spec_file or create_workflow")
	case in.WorkflowType != "local" && in.WorkflowType != "slurm":
		return out, workflow.Errorf(workflow.CodeInvalid, "unknown workflow_type %q", in.WorkflowType).WithHint("use local or slurm")
	}
	if out, err = s.validate(in.SpecJSON); err != nil {
		return out, err
	}
	if in.Action == "validate" {
		if out.Valid {
			out.Next = "call again with the action create_workflow"
		}
		return out, nil
	}
	if !out.Valid {
		return out, workflow.Errorf(workflow.CodeInvalid, "the specification is not valid: %s", strings.Join(out.Errors, "; ")).
			WithHint("correct it, and check it with the action validate")
	}
	if in.Action == "save_spec_file" {
		out.Path, err = s.save(in)
		return out, err
	}
	return out, c.create(ctx, in, &out)
}

// validate checks a specification.
func (s *Server) validate(text string) (out createOut, err error) {
	o := s.Spec
	o.Stdin = strings.NewReader(text)
	v, err := spec.Validate("-", o)
	if err != nil {
		return out, err
	}
	sum := &v.Summary
	return createOut{
		Valid: v.Valid, Errors: firstLines(v.Errors), Warnings: firstLines(v.Warnings), Name: sum.WorkflowName, Jobs: sum.JobCount,
		JobEntries: sum.JobCountBeforeExpansion, Files: sum.FileCount, JobNames: firstOf(sum.JobNames),
	}, nil
}

func firstLines(lines []string) []string { return lines[:min(len(lines), usualItems)] }

// save writes a specification to a new file.
func (s *Server) save(in createIn) (string, error) {
	if s.Mode != Apply {
		return "", workflow.Errorf(workflow.CodeForbidden, "this server writes no files (mode %s)", s.Mode).
			WithHint("save the text with your own tools, or have a person start torc-slurm mcp with --mode apply")
	}
	if in.OutputPath == "" {
		return "", workflow.Errorf(workflow.CodeInvalid, "output_path is missing")
	}
	path := in.OutputPath
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Spec.Dir, path)
	}
	f, err := trustedfile.OpenOwn(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_, err = f.WriteString(in.SpecJSON)
		err = errors.Join(err, f.Close())
	}
	if errors.Is(err, fs.ErrExist) {
		return "", workflow.Errorf(workflow.CodeConflict, "%s exists already", path).WithHint("choose another output_path")
	}
	if err != nil {
		return "", workflow.Errorf(workflow.CodeForbidden, "output_path: %v", err)
	}
	return path, nil
}

// create proposes to create a workflow, and in the mode apply creates it.
func (c *call) create(ctx context.Context, in createIn, out *createOut) error {
	loaded, err := c.server.parse(in.SpecJSON)
	if err != nil {
		return err
	}
	if in.WorkflowType == "slurm" {
		if missing := undeclared(loaded.Definition); missing != "" {
			return workflow.Errorf(workflow.CodeInvalid, "job %s declares no resource requirements, which an allocation of Slurm is requested by", missing).
				WithHint("give each job resource_requirements with num_cpus, memory and runtime")
		}
	}
	var lines bytes.Buffer
	if err := api.WriteDefinition(&lines, loaded.Definition, ""); err != nil {
		return err
	}
	change, _, err := c.change(ctx, &api.NewProposal{
		Kind: proposal.Create, Reason: cmp.Or(in.Reason, "create the workflow "+loaded.Definition.Name), Definition: lines.String(),
	}, in.changeIn)
	if err != nil {
		return err
	}
	out.Change, out.WorkflowID = &change, change.Proposal.WorkflowID
	id := "ID"
	if out.WorkflowID != 0 {
		id = fmt.Sprint(out.WorkflowID)
	}
	start := "torc-slurm run " + id
	if in.WorkflowType == "slurm" {
		start = "torc-slurm submit " + id
		if in.Account != "" {
			start += " --account " + in.Account
		}
	}
	if out.Next = "a person starts it with " + start; out.WorkflowID == 0 {
		out.Next = fmt.Sprintf("a person creates it with torc-slurm proposals apply %d, and starts it with %s", change.Proposal.ID, start)
	}
	return nil
}

// undeclared returns the first job without resource requirements; empty if there is none.
func undeclared(d *workflow.Definition) string {
	for i := range d.Jobs {
		if j := &d.Jobs[i]; j.Requirements == "" {
			return j.Name
		}
	}
	return ""
}

// within returns a reader of files in a folder and below it. A specification can name tables
// and parts, and the errors about a file quote it: without this limit it would be a way to
// read any file of the user.
func within(dir string, read func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		file, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, err
		}
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, err
		}
		if below, err := filepath.Rel(root, file); err != nil || !filepath.IsLocal(below) {
			return nil, workflow.Errorf(workflow.CodeForbidden, "%s is outside of %s, where the agent works", path, dir)
		}
		return read(file)
	}
}
