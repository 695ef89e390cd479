package trustedfile

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// trustedOwner reports whether a user is us or root, who can do anything anyway.
func trustedOwner(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// overflowUser stands for every user that is not mapped into a user namespace.
const overflowUser = 65534

// isUnmapped reports whether a folder belongs to a user that is not mapped into our user
// namespace, like root's in a container that was started without root. In the initial
// namespace it is always false.
func isUnmapped(uid uint32, kind uint32) bool {
	return kind == unix.S_IFDIR && uid == overflowUser && partialNamespace()
}

var partialNamespace = sync.OnceValue(func() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	var inside, outside, count uint64
	_, err = fmt.Sscan(string(text), &inside, &outside, &count)
	return err == nil && (inside != 0 || outside != 0 || count < 1<<32-1)
})

// writers returns who besides us and root can write a file or into a folder, empty if
// nobody can. The mode includes access control lists: its group part is the most that any
// entry allows.
func writers(st *unix.Stat_t, path string) string {
	switch {
	case st.Mode&0o002 != 0:
		return "everybody"
	case st.Mode&0o020 == 0:
		return ""
	case hasList(path):
		return "users in its access control list"
	case privateGroup(st.Gid):
		return ""
	}
	name := strconv.FormatUint(uint64(st.Gid), 10)
	if g, err := user.LookupGroupId(name); err == nil {
		name = g.Name
	}
	return "the group " + name
}

// hasList reports whether a file has an access control list beyond its mode.
func hasList(path string) bool {
	n, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// privateGroup reports whether a group is our primary group, has our own name, and has no
// other member. On systems with such groups the umask is 002, and folders that the group
// can write are everywhere. Login scripts and pam_umask recognize them in the same way.
func privateGroup(gid uint32) bool { return int64(gid) == ownGroup() }

var ownGroup = sync.OnceValue(func() int64 {
	const none = -1
	me, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return none
	}
	g, err := user.LookupGroupId(me.Gid)
	if err != nil || g.Name != me.Username {
		return none
	}
	text, _ := os.ReadFile("/etc/group") // groups of a directory service are known by their name alone
	if hasOthers(text, g.Name, me.Username) {
		return none
	}
	gid, err := strconv.ParseInt(me.Gid, 10, 64)
	if err != nil {
		return none
	}
	return gid
})

// hasOthers reports whether a group of a group file has members other than one user.
func hasOthers(groupFile []byte, group, member string) bool {
	for line := range bytes.Lines(groupFile) {
		fields := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(fields) < 4 || fields[0] != group {
			continue
		}
		for name := range strings.SplitSeq(fields[3], ",") {
			if name != "" && name != member {
				return true
			}
		}
	}
	return false
}

// userName returns the name of a user for errors.
func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return fmt.Sprintf("the user %s (uid %s)", u.Username, id)
	}
	return "another user (uid " + id + ")"
}
