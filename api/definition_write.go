package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// definitionChunk is the most records in a line: large enough for little overhead, small
// enough for little memory.
const definitionChunk = 1000

// WriteDefinition writes d as lines for POST /workflows/definition. With a key it can be
// repeated; see DefinitionHeader.
func WriteDefinition(w io.Writer, d *workflow.Definition, key string) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(DefinitionLine{Workflow: &DefinitionHeader{Key: key, Definition: *d}}); err != nil {
		return fmt.Errorf("write definition of workflow %q: %w", d.Name, err)
	}
	for _, write := range []func() error{
		func() error {
			return writeChunks(lines, d.Files, func(c []workflow.FileDefinition) DefinitionLine { return DefinitionLine{Files: c} })
		},
		func() error {
			return writeChunks(lines, d.UserData, func(c []workflow.UserDataDefinition) DefinitionLine { return DefinitionLine{UserData: c} })
		},
		func() error { return writeChunks(lines, d.Requirements, requirementsChunk) },
		func() error {
			return writeChunks(lines, d.FailureHandlers, func(c []workflow.FailureHandlerDefinition) DefinitionLine { return DefinitionLine{FailureHandlers: c} })
		},
		func() error {
			return writeChunks(lines, d.SlurmSchedulers, func(c []workflow.SlurmSchedulerDefinition) DefinitionLine { return DefinitionLine{SlurmSchedulers: c} })
		},
		func() error {
			return writeChunks(lines, d.Stages, func(c []workflow.StageDefinition) DefinitionLine { return DefinitionLine{Stages: c} })
		},
		func() error {
			return writeChunks(lines, d.Jobs, func(c []workflow.JobDefinition) DefinitionLine { return DefinitionLine{Jobs: c} })
		},
		func() error {
			return writeChunks(lines, d.Actions, func(c []workflow.ActionDefinition) DefinitionLine { return DefinitionLine{Actions: c} })
		},
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

func requirementsChunk(records []workflow.ResourceRequirements) (l DefinitionLine) {
	for _, r := range records {
		l.Requirements = append(l.Requirements, DefinitionRequirements{
			Name: r.Name, NumCPUs: r.NumCPUs, NumGPUs: r.NumGPUs, NumNodes: r.NumNodes, Memory: r.Memory, Runtime: r.Runtime,
		})
	}
	return l
}
