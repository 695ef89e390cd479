package server

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) userDataRoutes() []route {
	return []route{
		handle("POST", "/user_data", "Create a user data record, with links to jobs", s.createUserData),
		handle("POST", "/bulk_user_data", "Create user data records, all or none", s.createUserDataList, bulk),
		handle("GET", "/user_data", "List the user data of a workflow", s.listUserData),
		handle("GET", "/user_data/{id}", "Get a user data record", s.getUserData),
		handle("PUT", "/user_data/{id}", "Change a user data record", s.updateUserData),
		handle("DELETE", "/user_data/{id}", "Delete a user data record", s.deleteUserData),
		handle("DELETE", "/user_data", "Delete the user data of a workflow", s.deleteAllUserData),
	}
}

func toUserData(d api.UserData) workflow.UserData {
	return workflow.UserData{
		ID: or(d.ID, 0), WorkflowID: d.WorkflowID, Name: d.Name, IsEphemeral: or(d.IsEphemeral, false), Data: raw(d.Data),
	}
}

func fromUserData(d workflow.UserData) api.UserData {
	return api.UserData{ID: &d.ID, WorkflowID: d.WorkflowID, Name: d.Name, IsEphemeral: &d.IsEphemeral, Data: d.Data}
}

// listedUserData writes null where there is no data, as torc does in lists.
func listedUserData(d workflow.UserData) api.UserData {
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

func (s *Server) createUserData(r *request[userDataLinkParams, api.UserData]) (api.UserData, error) {
	created, err := s.Store.CreateUserData(r.Context(), []workflow.UserData{toUserData(r.Body)}, store.UserDataLinks(r.Params))
	if err != nil {
		return api.UserData{}, err
	}
	return fromUserData(created[0]), nil
}

func (s *Server) createUserDataList(r *request[none, api.UserDataList]) (api.UserDataList, error) {
	err := checkBulk("user data", r.Body.UserData, func(d api.UserData) (int64, string) { return d.WorkflowID, d.Name })
	if err != nil {
		return api.UserDataList{}, err
	}
	created, err := s.Store.CreateUserData(r.Context(), each(r.Body.UserData, toUserData), store.UserDataLinks{})
	return api.UserDataList{UserData: each(created, fromUserData)}, err
}

type userDataListParams struct {
	workflowPageParams
	ConsumerJobID *int64  `query:"consumer_job_id"`
	ProducerJobID *int64  `query:"producer_job_id"`
	Name          *string `query:"name" doc:"a part of the name, in any case"`
	IsEphemeral   *bool   `query:"is_ephemeral"`
}

func (s *Server) listUserData(r *request[userDataListParams, none]) (api.Page[api.UserData], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.UserData]{}, err
	}
	records, total, err := s.Store.ListUserData(r.Context(), store.UserDataFilter{
		WorkflowID: r.Params.WorkflowID, ConsumerJobID: r.Params.ConsumerJobID, ProducerJobID: r.Params.ProducerJobID,
		Name: r.Params.Name, IsEphemeral: r.Params.IsEphemeral,
	}, page)
	return pageOf(page, records, total, listedUserData), err
}

func (s *Server) getUserData(r *request[idParams, none]) (api.UserData, error) {
	d, err := s.Store.UserData(r.Context(), r.Params.ID)
	return fromUserData(d), err
}

func (s *Server) updateUserData(r *request[idParams, api.UserData]) (api.UserData, error) {
	d, err := s.Store.UpdateUserData(r.Context(), r.Params.ID, store.UserDataUpdate{
		IsEphemeral: r.Body.IsEphemeral, Name: &r.Body.Name, Data: raw(r.Body.Data),
	})
	return fromUserData(d), err
}

func (s *Server) deleteUserData(r *request[idParams, none]) (api.UserData, error) {
	d, err := s.Store.DeleteUserData(r.Context(), r.Params.ID)
	return fromUserData(d), err
}

func (s *Server) deleteAllUserData(r *request[workflowParams, none]) (api.DeletedUserData, error) {
	n, err := s.Store.DeleteAllUserData(r.Context(), r.Params.WorkflowID)
	return api.DeletedUserData{Message: fmt.Sprintf("Deleted %d user data records", n), DeletedCount: n}, err
}
