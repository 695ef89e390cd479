package guard

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// Limits of the log, since other users can connect as often as they like: one line per
// user in foreignPause, for foreignUsers at a time.
const (
	foreignPause = time.Minute
	foreignUsers = 64
)

// foreignLog logs connections of other users.
type foreignLog struct {
	mu    sync.Mutex
	users map[uint32]*foreignUser
}

type foreignUser struct {
	logged  time.Time // the latest line
	silence int       // connections since then
}

// record logs a closed connection of another user, unless it has just done so for that
// user.
func (f *foreignLog) record(log *slog.Logger, address net.Addr, uid uint32) {
	if line, more := f.count(uid, time.Now()); line {
		log.Warn("another user's connection was closed", "uid", uid, "address", address.String(), "more_before", more)
	}
}

// count counts a connection. It reports whether to log it, and how many before were not
// logged.
func (f *foreignLog) count(uid uint32, now time.Time) (line bool, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.users[uid]
	switch {
	case u == nil && len(f.users) >= foreignUsers:
		for id, other := range f.users {
			if now.Sub(other.logged) >= foreignPause {
				delete(f.users, id)
			}
		}
		if len(f.users) >= foreignUsers {
			return false, 0
		}
	case u != nil && now.Sub(u.logged) < foreignPause:
		u.silence++
		return false, 0
	case u != nil:
		before = u.silence
	}
	if f.users == nil {
		f.users = map[uint32]*foreignUser{}
	}
	f.users[uid] = &foreignUser{logged: now}
	return true, before
}
