package server

import (
	"database/sql"
)

// workflow makes a workflow and returns its id.
func (a *testAPI) workflow() int64 {
	a.t.Helper()
	db, err := sql.Open("sqlite3", a.Store.Path())
	if err != nil {
		a.t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Exec(`INSERT INTO workflow (name, user, timestamp) VALUES ('w', 'me', '2026-11-21T10:00:00.000Z')`)
	if err != nil {
		a.t.Fatal(err)
	}
	id, _ := r.LastInsertId()
	return id
}
