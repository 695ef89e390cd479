package guard

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// Other users can connect as often as they like. Of each of them the log has one
// line in foreignPause, and of foreignUsers at a time.
const (
	foreignPause = time.Minute
	foreignUsers = 64
)

// foreignLog notes connections of other users.
type foreignLog struct {
	mu    sync.Mutex
	users map[uint32]*foreignUser
}

type foreignUser struct {
	logged  time.Time // the latest line
	silence int       // connections since then
}

// note writes about a connection of another user that was closed, unless it has
// done so for that user a moment ago.
func (f *foreignLog) note(log *slog.Logger, address net.Addr, uid uint32) {
	if line, more := f.count(uid, time.Now()); line {
		log.Warn("another user's connection was closed", "uid", uid, "address", address.String(), "more_before", more)
	}
}

// count counts a connection, and says whether it deserves a line, and how many
// before it had none.
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
