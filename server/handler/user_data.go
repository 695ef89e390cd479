package handler

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// userData handles requests about user data.
type userData struct{ *Deps }

func (h userData) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/user_data", "Create a user data record, with links to jobs", h.createUserData),
		rest.Handle("POST", "/bulk_user_data", "Create user data records, all or none", h.createUserDataList, rest.Bulk),
		rest.Handle("GET", "/user_data", "List the user data of a workflow", List(h.listUserData, listedUserData)),
		rest.Handle("GET", "/user_data/{id}", "Get a user data record", ByID(h.Store.UserData.Get, fromUserData)),
		rest.Handle("PUT", "/user_data/{id}", "Change a user data record", h.updateUserData),
		rest.Handle("DELETE", "/user_data/{id}", "Delete a user data record", ByID(h.Store.UserData.Delete, fromUserData)),
		rest.Handle("DELETE", "/user_data", "Delete the user data of a workflow", h.deleteAllUserData),
	}
}

func toUserData(d api.UserData) artifact.UserData {
	return artifact.UserData{
		ID: Or(d.ID, 0), WorkflowID: d.WorkflowID, Name: d.Name, IsEphemeral: Or(d.IsEphemeral, false), Data: raw(d.Data),
	}
}

func fromUserData(d artifact.UserData) api.UserData {
	return api.UserData{ID: &d.ID, WorkflowID: d.WorkflowID, Name: d.Name, IsEphemeral: &d.IsEphemeral, Data: d.Data}
}

// listedUserData writes null where there is no data, as torc does in lists.
func listedUserData(d artifact.UserData) api.UserData {
	wire := fromUserData(d)
	if wire.Data == nil {
		wire.Data = json.RawMessage("null")
	}
	return wire
}

type userDataLinkParams struct {
	ConsumerJobID *int64 `query:"consumer_job_id" doc:"a job that reads it"`
	ProducerJobID *int64 `query:"producer_job_id" doc:"a job that writes it"`
}

func (h userData) createUserData(r *rest.Request[userDataLinkParams, api.UserData]) (api.UserData, error) {
	created, err := h.Store.UserData.Create(r.Context(), []artifact.UserData{toUserData(r.Body)}, store.UserDataLinks(r.Params))
	if err != nil {
		return api.UserData{}, err
	}
	return fromUserData(created[0]), nil
}

func (h userData) createUserDataList(r *rest.Request[rest.None, api.UserDataList]) (api.UserDataList, error) {
	err := checkBulk("user data", r.Body.UserData, func(d api.UserData) (int64, string) { return d.WorkflowID, d.Name })
	if err != nil {
		return api.UserDataList{}, err
	}
	created, err := h.Store.UserData.Create(r.Context(), Each(r.Body.UserData, toUserData), store.UserDataLinks{})
	return api.UserDataList{UserData: Each(created, fromUserData)}, err
}

type userDataListParams struct {
	WorkflowPageParams
	ConsumerJobID *int64  `query:"consumer_job_id"`
	ProducerJobID *int64  `query:"producer_job_id"`
	Name          *string `query:"name" doc:"a part of the name, in any case"`
	IsEphemeral   *bool   `query:"is_ephemeral"`
}

func (h userData) listUserData(r *rest.Request[userDataListParams, rest.None], page store.Page) ([]artifact.UserData, int64, error) {
	return h.Store.UserData.List(r.Context(), store.UserDataFilter{
		WorkflowID: r.Params.WorkflowID, ConsumerJobID: r.Params.ConsumerJobID, ProducerJobID: r.Params.ProducerJobID,
		Name: r.Params.Name, IsEphemeral: r.Params.IsEphemeral,
	}, page)
}

func (h userData) updateUserData(r *rest.Request[IDParams, api.UserData]) (api.UserData, error) {
	d, err := h.Store.UserData.Update(r.Context(), r.Params.ID, store.UserDataUpdate{
		IsEphemeral: r.Body.IsEphemeral, Name: &r.Body.Name, Data: raw(r.Body.Data),
	})
	return fromUserData(d), err
}

func (h userData) deleteAllUserData(r *rest.Request[WorkflowParams, rest.None]) (api.DeletedUserData, error) {
	n, err := h.Store.UserData.DeleteAll(r.Context(), r.Params.WorkflowID)
	return api.DeletedUserData{Message: fmt.Sprintf("Deleted %d user data records", n), DeletedCount: n}, err
}
