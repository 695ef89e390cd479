package guard

import (
	"testing"
	"time"
)

func TestForeignLogIsBounded(t *testing.T) {
	var f foreignLog
	now := time.Now()
	for i, tc := range []struct {
		uid    uint32
		after  time.Duration
		line   bool
		before int
	}{
		{1, 0, true, 0},
		{1, time.Second, false, 0},
		{2, time.Second, true, 0},
		{1, 2 * time.Second, false, 0},
		{1, foreignPause, true, 2},
		{1, 2 * foreignPause, true, 0},
	} {
		if line, before := f.count(tc.uid, now.Add(tc.after)); line != tc.line || before != tc.before {
			t.Errorf("%d: line %v, %d before; want %v, %d", i, line, before, tc.line, tc.before)
		}
	}
	now = now.Add(time.Hour)
	lines := 0
	for uid := range uint32(1000) {
		if line, _ := f.count(uid+10, now); line {
			lines++
		}
	}
	if lines > foreignUsers || lines < foreignUsers-2 || len(f.users) > foreignUsers {
		t.Errorf("%d lines about a thousand users, %d are kept", lines, len(f.users))
	}
	if line, _ := f.count(5000, now.Add(foreignPause)); !line {
		t.Error("another user had no line after the others had expired")
	}
}
