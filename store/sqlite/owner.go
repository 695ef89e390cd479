package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/torc-slurm/torc-slurm/store/dbfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// The owner of a database updates its heartbeat every beatInterval. Another host considers
// it dead after beatLimit, because on some file systems a lock proves nothing there.
const (
	beatInterval = 10 * time.Second
	beatLimit    = 2 * time.Minute
)

// process identifies a process and its machine.
type process struct {
	host   string
	pid    int64
	bootID string
	// machineID does not change when the machine reboots; empty if it has none. Hosts of
	// two clusters may have the same name.
	machineID string
	// life distinguishes it from later processes with the same pid.
	life string
}

// thisProcess returns the identity of this process.
func thisProcess() (process, error) {
	host, err := os.Hostname()
	if err != nil {
		return process{}, fmt.Errorf("host name: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return process{}, fmt.Errorf("boot id: %w", err)
	}
	machine, _ := os.ReadFile("/etc/machine-id") // without it, a reboot looks like another host
	pid := int64(os.Getpid())
	return process{host, pid, strings.TrimSpace(string(boot)), strings.TrimSpace(string(machine)), dbfile.Life(pid)}, nil
}

// ownerRow is the current or last owner of the database.
type ownerRow struct {
	process
	file      string // identity of the file; a copy has another one
	epoch     int64
	startedMS int64
	beatMS    int64
	takeover  string // why the previous owner was considered dead
}

// released reports whether the owner has given up the ownership.
func (r ownerRow) released() bool { return r.pid == 0 }

// death returns why a newcomer may consider the owner dead; empty: it may not. Locked says
// that the newcomer holds the file's lock, which works between processes of one machine
// unless somebody removes it. Lives checks a process of this machine.
func (r ownerRow) death(newcomer process, locked bool, now time.Time, lives func(pid int64, life string) (lives, known bool)) string {
	silence := now.Sub(time.UnixMilli(r.beatMS))
	recent := silence <= beatLimit
	switch {
	case r.bootID == newcomer.bootID:
		alive, known := lives(r.pid, r.life)
		switch {
		case alive:
			return ""
		case known:
			return fmt.Sprintf("its process %d is no longer on the machine", r.pid)
		case locked:
			return "its lock on the database had been released"
		case recent:
			return ""
		}
	case r.host == newcomer.host && r.machineID == newcomer.machineID && r.machineID != "":
		return "the machine has been rebooted since"
	case recent:
		return ""
	}
	return fmt.Sprintf("its last heartbeat was %s ago", silence.Round(time.Second))
}

// refusal returns the error for a second daemon.
func (r ownerRow) refusal(path string, now time.Time) error {
	ago := time.Duration(now.UnixMilli()-r.beatMS) * time.Millisecond
	return inUse(path, r.host, r.pid).WithHint("its last heartbeat was %s ago; another host may take over after %s",
		ago.Round(time.Second), beatLimit)
}

func inUse(path, host string, pid int64) *workflow.Error {
	return workflow.Errorf(workflow.CodeConflict, "database %s is in use by torc-slurm on %s, pid %d", path, host, pid)
}

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readOwner returns the owner row; the zero row if there was no owner. It also reads that
// of the first schema version, since it is called before the migration.
func readOwner(ctx context.Context, q rowQuerier) (r ownerRow, err error) {
	err = q.QueryRowContext(ctx, `SELECT host, pid, boot_id, machine_id, life, file, epoch, started_ms, beat_ms, takeover FROM owner WHERE id = 1`).
		Scan(&r.host, &r.pid, &r.bootID, &r.machineID, &r.life, &r.file, &r.epoch, &r.startedMS, &r.beatMS, &r.takeover)
	var lacking sqlite3.Error
	if errors.As(err, &lacking) && lacking.Code == sqlite3.ErrError { // the column does not exist
		err = q.QueryRowContext(ctx, `SELECT host, pid, boot_id, machine_id, epoch, started_ms, beat_ms FROM owner WHERE id = 1`).
			Scan(&r.host, &r.pid, &r.bootID, &r.machineID, &r.epoch, &r.startedMS, &r.beatMS)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("read the owner of the database: %w", err)
	}
	return r, nil
}

// refuseOwned returns an error if the database has a living owner. Otherwise it returns why
// the owner is considered dead; empty if there is none.
func refuseOwned(ctx context.Context, q rowQuerier, o *Options, locked bool) (death string, err error) {
	row, err := readOwner(ctx, q)
	if err != nil || row.released() {
		return "", err
	}
	now := o.Now()
	lives := dbfile.IsAlive
	if row.file != "" && row.file != dbfile.Identity(o.Path) { // a copy: the owner has another file
		lives = func(int64, string) (lives, known bool) { return false, false }
	}
	if death = row.death(o.process, locked, now, lives); death == "" {
		return "", row.refusal(o.Path, now)
	}
	return death, nil
}

// takeOwnership makes this process the owner, and returns its epoch.
func takeOwnership(ctx context.Context, conn *sql.Conn, o *Options, locked bool) (epoch int64, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("own database %s: %w", o.Path, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	death, err := refuseOwned(ctx, tx, o, locked)
	if err != nil {
		return 0, err
	}
	p := o.process
	err = tx.QueryRowContext(ctx, `INSERT INTO owner (id, host, pid, boot_id, machine_id, life, file, epoch, started_ms, beat_ms, takeover)
		VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?7, ?8)
		ON CONFLICT (id) DO UPDATE SET host = ?1, pid = ?2, boot_id = ?3, machine_id = ?4, life = ?5, file = ?6, epoch = epoch + 1,
			started_ms = ?7, beat_ms = ?7, takeover = ?8 RETURNING epoch`,
		p.host, p.pid, p.bootID, p.machineID, p.life, dbfile.Identity(o.Path), o.Now().UnixMilli(), death).Scan(&epoch)
	if err == nil {
		err = tx.Commit()
	}
	return epoch, Wrap(err, "own database %s", o.Path)
}

// owns returns an error if another process has taken over the database.
func (w *writer) owns() error {
	s, err := w.stmt(`SELECT epoch FROM owner WHERE id = 1`)
	if err != nil {
		return err
	}
	var epoch int64
	if err := s.QueryRowContext(context.Background()).Scan(&epoch); err != nil {
		return fmt.Errorf("read the owner of the database: %w", err)
	}
	if epoch == w.epoch {
		return nil
	}
	by, err := readOwner(context.Background(), w.conn)
	if err != nil {
		return err
	}
	return w.halt.stop(takenOver(w.path, w.epoch, by))
}

// takenOver returns the error for an owner that finds another one.
func takenOver(path string, epoch int64, by ownerRow) *workflow.Error {
	at := time.UnixMilli(by.startedMS).Format(time.DateTime)
	if by.released() { // and it has ended since
		return workflow.Errorf(workflow.CodeConflict, "database %s was taken over by another torc-slurm on %s (epoch %d after %d, at %s), which has ended since", path, by.host, by.epoch, epoch, at).
			WithHint("this process must end; start it again")
	}
	e := workflow.Errorf(workflow.CodeConflict, "database %s was taken over by torc-slurm on %s, pid %d (epoch %d after %d, at %s)", path, by.host, by.pid, by.epoch, epoch, at)
	switch {
	case by.epoch > epoch+1:
		return e.WithHint("it had other owners in between; this process must end")
	case by.takeover == "":
		return e.WithHint("it found no owner in the database; this process must end")
	}
	return e.WithHint("it considered this process dead: %s; this process must end", by.takeover)
}

// beat updates the heartbeat at intervals, until ctx ends or the ownership is lost.
func (d *DB) beat(ctx context.Context) {
	ticker := time.NewTicker(d.beatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.Lost():
			return
		case <-ticker.C:
		}
		err := d.writer.do("owner's heartbeat", func(tx *Tx) error {
			return tx.ExecOne(`UPDATE owner SET beat_ms = ? WHERE id = 1`, tx.NowMS)
		})
		if err != nil {
			d.log.Error("cannot update the heartbeat of the database's owner", "path", d.path, "error", err)
		}
	}
}

// release gives up the ownership, so that others need not wait.
func (d *DB) release() error {
	err := d.writer.do("release database", func(tx *Tx) error {
		return tx.ExecOne(`UPDATE owner SET pid = 0, beat_ms = ? WHERE id = 1`, tx.NowMS)
	})
	if d.Err() != nil && !errors.Is(err, errClosed) {
		return nil // it has another owner, or is gone
	}
	return err
}

// Lost is closed when the database must not be written any more: it has another owner, its
// file is gone, or it is damaged. From then on every change fails with Err.
func (d *DB) Lost() <-chan struct{} { return d.writer.halt.lost }

// Err returns why the database must not be written any more; nil if it may.
func (d *DB) Err() error { return d.writer.halt.reason() }
