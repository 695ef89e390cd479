package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// definitionChunk is how many records a line has at most: large enough that a
// line costs little, small enough that neither side holds much of the stream.
const definitionChunk = 1000

// WriteDefinition writes d as lines for POST /workflows/definition. The key
// makes a repetition harmless; see DefinitionHeader.
func WriteDefinition(w io.Writer, d *workflow.Definition, key string) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	header := definitionHeader(d)
	header.Key = key
	if err := lines.Encode(DefinitionLine{Workflow: &header}); err != nil {
		return fmt.Errorf("write definition of workflow %q: %w", d.Name, err)
	}
	for _, write := range []func() error{
		func() error { return writeChunks(lines, d.Files, fileChunk) },
		func() error { return writeChunks(lines, d.UserData, userDataChunk) },
		func() error { return writeChunks(lines, d.Requirements, requirementsChunk) },
		func() error { return writeChunks(lines, d.FailureHandlers, failureHandlerChunk) },
		func() error { return writeChunks(lines, d.SlurmSchedulers, slurmSchedulerChunk) },
		func() error { return writeChunks(lines, d.Stages, stageChunk) },
		func() error { return writeChunks(lines, d.Jobs, jobChunk) },
		func() error { return writeChunks(lines, d.Actions, actionChunk) },
		func() error {
			return lines.Encode(DefinitionLine{End: &DefinitionEnd{Jobs: int64(len(d.Jobs)), Files: int64(len(d.Files))}})
		},
		buffered.Flush,
	} {
		if err := write(); err != nil {
			return fmt.Errorf("write definition of workflow %q: %w", d.Name, err)
		}
	}
	return nil
}

func definitionHeader(d *workflow.Definition) DefinitionHeader {
	return DefinitionHeader{
		Name: d.Name, User: d.User, Description: d.Description, Project: d.Project, Metadata: d.Metadata,
		Env: d.Env, SubmissionDirectory: d.SubmissionDirectory, AccessGroups: d.AccessGroups,
		ComputeNodeWaitForNewJobsSeconds:         d.ComputeNodeWaitForNewJobsSeconds,
		ComputeNodeIgnoreWorkflowCompletion:      d.ComputeNodeIgnoreWorkflowCompletion,
		ComputeNodeWaitForHealthyDatabaseMinutes: d.ComputeNodeWaitForHealthyDatabaseMinutes,
		ComputeNodeMinTimeForNewJobsSeconds:      d.ComputeNodeMinTimeForNewJobsSeconds,
		ComputeNodeExpirationBufferSeconds:       d.ComputeNodeExpirationBufferSeconds,
		UsePendingFailed:                         d.UsePendingFailed,
		EnableROCrate:                            d.EnableROCrate,
		EnforceRuntime:                           d.EnforceRuntime,
		ExecutionConfig:                          d.ExecutionConfig,
		ResourceMonitor:                          d.ResourceMonitor,
		SlurmDefaults:                            d.SlurmDefaults,
		DynamicJobs:                              d.DynamicJobs,
		Policy:                                   d.Policy,
	}
}

// writeChunks writes records in lines of at most definitionChunk.
func writeChunks[T any](lines *json.Encoder, records []T, line func([]T) DefinitionLine) error {
	for len(records) > 0 {
		n := min(len(records), definitionChunk)
		if err := lines.Encode(line(records[:n])); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

func fileChunk(records []workflow.FileDefinition) (l DefinitionLine) {
	for _, r := range records {
		l.Files = append(l.Files, DefinitionFile(r))
	}
	return l
}

func userDataChunk(records []workflow.UserDataDefinition) (l DefinitionLine) {
	for _, r := range records {
		l.UserData = append(l.UserData, DefinitionUserData(r))
	}
	return l
}

func requirementsChunk(records []workflow.ResourceRequirements) (l DefinitionLine) {
	for _, r := range records {
		l.Requirements = append(l.Requirements, DefinitionRequirements{
			Name: r.Name, NumCPUs: r.NumCPUs, NumGPUs: r.NumGPUs, NumNodes: r.NumNodes, Memory: r.Memory, Runtime: r.Runtime,
		})
	}
	return l
}

func failureHandlerChunk(records []workflow.FailureHandlerDefinition) (l DefinitionLine) {
	for _, r := range records {
		l.FailureHandlers = append(l.FailureHandlers, DefinitionFailureHandler(r))
	}
	return l
}

func slurmSchedulerChunk(records []workflow.SlurmSchedulerDefinition) (l DefinitionLine) {
	for _, r := range records {
		l.SlurmSchedulers = append(l.SlurmSchedulers, DefinitionSlurmScheduler(r))
	}
	return l
}

func stageChunk(records []workflow.StageDefinition) (l DefinitionLine) {
	for _, r := range records {
		l.Stages = append(l.Stages, DefinitionStage(r))
	}
	return l
}

func jobChunk(records []workflow.JobDefinition) (l DefinitionLine) {
	l.Jobs = make([]DefinitionJob, len(records))
	for i, r := range records {
		l.Jobs[i] = DefinitionJob(r)
	}
	return l
}

func actionChunk(records []workflow.ActionDefinition) (l DefinitionLine) {
	for _, r := range records {
		l.Actions = append(l.Actions, DefinitionAction(r))
	}
	return l
}
