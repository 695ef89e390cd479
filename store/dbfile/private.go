package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

// privateMode is for a database and the files beside it: environments and commands of jobs
// may contain secrets.
const privateMode fs.FileMode = 0o600

// companions are the suffixes of the files beside a database.
var companions = []string{"", "-wal", "-shm", "-journal", ".lock"}

// TrustPlace returns an error for a database that others could replace or add a journal to:
// its commands run as this user.
func TrustPlace(path string) error {
	if err := trustedfile.CheckFolder(filepath.Dir(path)); err != nil {
		return err
	}
	for _, end := range companions {
		if err := trustedfile.CheckOwner(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// CloseToOthers makes existing files of a database accessible only to their owner, and logs
// that. It works by name, since closing a file would release this process's locks on it.
func CloseToOthers(path string, log *slog.Logger) {
	for _, end := range companions {
		info, err := os.Lstat(path + end)
		if err != nil || info.Mode()&fs.ModeSymlink != 0 || info.Mode().Perm()&^privateMode == 0 {
			continue // it does not exist, or is private
		}
		mode := fmt.Sprintf("%04o", info.Mode().Perm())
		if err := os.Chmod(path+end, privateMode); err != nil {
			log.Warn("a file of the database is accessible to other users", "path", path+end, "mode", mode, "error", err)
			continue
		}
		log.Warn("a file of the database was accessible to other users; now only its owner can open it", "path", path+end, "mode", mode)
	}
}

// CreatePrivate creates an empty private file, which SQLite takes for a new database and
// whose mode it copies. An existing file is kept. If it fails, SQLite's error will say why.
func CreatePrivate(path string) {
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateMode); err == nil {
		_ = f.Close() // nothing was written
	}
}
