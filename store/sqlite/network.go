package sqlite

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// networkFileSystems are the file systems whose files may be open on several machines, by
// statfs type. FUSE may be local, which cannot be determined.
var networkFileSystems = map[int64]string{
	unix.NFS_SUPER_MAGIC:   "NFS",
	unix.SMB_SUPER_MAGIC:   "SMB",
	unix.CIFS_SUPER_MAGIC:  "CIFS",
	unix.SMB2_SUPER_MAGIC:  "SMB",
	unix.AFS_SUPER_MAGIC:   "AFS",
	unix.AFS_FS_MAGIC:      "AFS",
	unix.CODA_SUPER_MAGIC:  "Coda",
	unix.CEPH_SUPER_MAGIC:  "Ceph",
	unix.V9FS_MAGIC:        "9P",
	unix.FUSE_SUPER_MAGIC:  "FUSE",
	unix.OCFS2_SUPER_MAGIC: "OCFS2",
	0x01161970:             "GFS2",
	0x0BD00BD0:             "Lustre",
	0x47504653:             "GPFS",
	0x19830326:             "BeeGFS",
	0xAAD7AAEA:             "PanFS",
	0x20030528:             "OrangeFS",
	0x18031977:             "WekaFS",
}

// networkOf returns the network file system of a path; "" for a local one.
func networkOf(path string) (string, error) {
	var s unix.Statfs_t
	dir := filepath.Dir(path)
	for {
		err := unix.Statfs(dir, &s)
		if err == nil {
			return networkFileSystems[int64(s.Type)&0xFFFFFFFF], nil
		}
		if err != unix.EINTR { //nolint:errorlint // a plain errno
			return "", fmt.Errorf("determine the file system of %s: %w", dir, err)
		}
	}
}
