package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// List lists the alerts of a workflow; of all workflows if the id is 0.
func (c Alerts) List(ctx context.Context, workflowID int64, page Page) iter.Seq2[workflow.RaisedAlert, error] {
	query := url.Values{}
	if workflowID != 0 {
		query.Set("workflow_id", fmt.Sprint(workflowID))
	}
	return pages[workflow.RaisedAlert](ctx, c, "/alerts", page, query)
}

// Test raises a test alert and returns its id.
func (c Alerts) Test(ctx context.Context, workflowID int64) (int64, error) {
	out, err := call[api.TestAlert](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/test_alert", workflowID), nil)
	if err != nil {
		return 0, err
	}
	return out.AlertID, nil
}
