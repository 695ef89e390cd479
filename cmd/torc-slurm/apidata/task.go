package apidata

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TaskError reports, as torc does, why no task can be shown.
func TaskError(a *cli.Factory, id int64, err error) error {
	kind := "ApiError"
	if errors.Is(err, context.DeadlineExceeded) {
		kind = "Timeout"
		err = cli.FailedErrorf("task %d has not ended in time; it goes on", id)
	}
	if a.Format != cli.FormatJSON {
		return err
	}
	message, _ := cli.ErrorText(err)
	text, _ := json.MarshalIndent(map[string]any{"status": "error", "error": kind, "message": message, "task_id": id}, "", "  ")
	a.Note("%s", text)
	return cli.Silent(cli.ExitStatus(err))
}

// WaitForTask returns the task when it has ended. It is notified by the
// event stream of the workflow, and polls from time to time. A timeout of 0 is none.
func WaitForTask(ctx context.Context, c *cli.Connection, id int64, timeout, poll time.Duration) (*api.Task, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	task, err := c.Tasks.Get(ctx, id)
	if err != nil || taskEnded(task) {
		return task, err
	}
	told, stop := followTasks(ctx, c, task.WorkflowID)
	defer stop()
	wait := min(poll, 200*time.Millisecond) // it may have ended before the stream began
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if task, err = c.Tasks.Get(ctx, id); err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || taskEnded(task) {
			return task, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-told:
		case <-timer.C:
			wait = min(poll, 2*wait)
			timer.Reset(wait)
		}
	}
}

func taskEnded(t *api.Task) bool {
	return t.Status == workflow.TaskSucceeded || t.Status == workflow.TaskFailed
}

// followTasks sends a message for each task of a workflow that has ended.
func followTasks(ctx context.Context, c *cli.Connection, workflowID int64) (told <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	words := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event, err := range c.Events.Stream(ctx, workflowID, client.StreamOptions{}) {
			if err != nil {
				return // the caller asks as well
			}
			if event.EventType == "task_completed" {
				select {
				case words <- struct{}{}:
				default:
				}
			}
		}
	}()
	return words, func() { cancel(); <-done }
}
