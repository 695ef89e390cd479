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

// privateMode is that of a database and of what lies beside it: environments and
// commands of jobs are in it, which may have secrets.
const privateMode fs.FileMode = 0o600

// companions end the names of the files that SQLite and the lock have beside a
// database.
var companions = []string{"", "-wal", "-shm", "-journal", ".lock"}

// TrustPlace refuses a database that others could replace, or to which they could
// give a journal: what is in it is run in our name.
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

// CloseToOthers makes an existing database one that only its owner can read, and says
// so. It goes by names: to open a database and to close it would free the locks that
// this process has on it.
func CloseToOthers(path string, log *slog.Logger) {
	for _, end := range companions {
		info, err := os.Lstat(path + end)
		if err != nil || info.Mode()&fs.ModeSymlink != 0 || info.Mode().Perm()&^privateMode == 0 {
			continue // it is not there, or closed
		}
		mode := fmt.Sprintf("%04o", info.Mode().Perm())
		if err := os.Chmod(path+end, privateMode); err != nil {
			log.Warn("others can open a file of the database", "path", path+end, "mode", mode, "error", err)
			continue
		}
		log.Warn("others could open a file of the database; now its owner alone can", "path", path+end, "mode", mode)
	}
}

// CreatePrivate makes an empty file, which SQLite takes for a new database, and
// gives what it makes beside it the same mode. One that is there stays as it is.
// Where it cannot be made SQLite says why.
func CreatePrivate(path string) {
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateMode); err == nil {
		_ = f.Close() // nothing was written
	}
}
