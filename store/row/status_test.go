package row

import "testing"

func TestWithStatuses(t *testing.T) {
	for query, want := range map[string]string{
		`SELECT '{}' FROM job WHERE id = ?`: `SELECT '{}' FROM job WHERE id = ?`,
		`status = {ready}`:                  `status = 2`,
		`status IN {live}`:                  `status IN (3, 4)`,
		`status IN {open}`:                  `status IN (0, 1, 2, 3, 4, 10)`,
		`status IN {unsuccessful} OR status = {pending_failed}`:          `status IN (6, 7, 8) OR status = 10`,
		`status IN ({ready}, {pending}, {running}, {pending_failed})`:    `status IN (2, 3, 4, 10)`,
		`status NOT BETWEEN {completed} AND {disabled} OR n = {unknown}`: `status NOT BETWEEN 5 AND 9 OR n = {unknown}`,
	} {
		if got := WithStatuses(query); got != want {
			t.Errorf("%s: %s, not %s", query, got, want)
		}
	}
}
