package server

import "encoding/json"

// workflow creates a workflow and returns its id.
func (a *testAPI) workflow() int64 {
	a.t.Helper()
	id, err := a.must("POST", "/workflows", `{"name":"w","user":"me","env":{"A":"1"}}`)["id"].(json.Number).Int64()
	if err != nil {
		a.t.Fatal(err)
	}
	return id
}
