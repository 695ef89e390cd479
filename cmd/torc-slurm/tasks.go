package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
)

func newTasksCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "tasks", "Wait for work that the server does in the background", newTasksWaitCommand(a))
}

func newTasksWaitCommand(a *app) *cobra.Command {
	var timeout, poll float64
	c := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait for a background task to end",
		Example: `  torc-slurm workflows init 12 --async
  torc-slurm tasks wait 3 --timeout 60`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits("1 the task failed, or did not end in time"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseID("task", args[0])
			if err != nil {
				return err
			}
			if timeout < 0 || poll <= 0 {
				return usageErrorf("--timeout and --poll-fallback-interval are seconds, more than 0")
			}
			return a.runTasksWait(c.Context(), id, seconds(timeout), seconds(poll))
		},
	}
	c.Flags().Float64Var(&timeout, "timeout", 0, "give up after so many `SECONDS` (default: never); the task goes on")
	c.Flags().Float64Var(&poll, "poll-fallback-interval", 10, "ask every so many `SECONDS`, if no event tells earlier")
	return c
}

func (a *app) runTasksWait(ctx context.Context, id int64, timeout, poll time.Duration) error {
	conn, err := a.connect(ctx)
	if err != nil {
		return err
	}
	task, err := waitForTask(ctx, conn, id, timeout, poll)
	if err != nil {
		return a.taskError(id, err)
	}
	if err := a.showRecord(task, func(w io.Writer) {
		writeFields(w, field{"Task", fmt.Sprint(task.ID)}, field{"Workflow ID", fmt.Sprint(task.WorkflowID)},
			field{"Operation", task.Operation}, field{"Status", string(task.Status)}, field{"Error", orEmpty(task.Error)})
	}); err != nil {
		return err
	}
	if task.Status != api.TaskSucceeded {
		return silent(exitFailed)
	}
	return nil
}

// taskError reports, as torc does, why there is no task to show.
func (a *app) taskError(id int64, err error) error {
	kind := "ApiError"
	if errors.Is(err, context.DeadlineExceeded) {
		kind = "Timeout"
		err = failedErrorf("task %d has not ended in time; it goes on", id)
	}
	if a.format != formatJSON {
		return err
	}
	message, _ := errorText(err)
	text, _ := json.MarshalIndent(map[string]any{"status": "error", "error": kind, "message": message, "task_id": id}, "", "  ")
	a.note("%s", text)
	return silent(exitStatus(err))
}

// waitForTask returns the task when it has ended. It is told by the event
// stream of the workflow, and asks from time to time. A timeout of 0 is none.
func waitForTask(ctx context.Context, c *connection, id int64, timeout, poll time.Duration) (*api.Task, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	task, err := c.Task(ctx, id)
	if err != nil || taskEnded(task) {
		return task, err
	}
	told, stop := followTasks(ctx, c, task.WorkflowID)
	defer stop()
	wait := min(poll, 200*time.Millisecond) // it may have ended before the stream began
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if task, err = c.Task(ctx, id); err != nil && ctx.Err() != nil {
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
	return t.Status == api.TaskSucceeded || t.Status == api.TaskFailed
}

// followTasks sends a word for every task of a workflow that has ended.
func followTasks(ctx context.Context, c *connection, workflowID int64) (told <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	words := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event, err := range c.StreamEvents(ctx, workflowID, client.StreamOptions{}) {
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
