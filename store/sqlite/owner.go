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

// The owner of a database shows every beatInterval, unless told otherwise, that it lives. Another host
// believes it dead after beatLimit: there a lock proves nothing on some file
// systems.
const (
	beatInterval = 10 * time.Second
	beatLimit    = 2 * time.Minute
)

// process says which process on which machine it is.
type process struct {
	host   string
	pid    int64
	bootID string
	// machineID stays when the machine is started again; empty where the system has
	// none. Hosts of two clusters may have the same name.
	machineID string
	// life tells it from later processes of the same number.
	life string
}

// thisProcess asks the system.
func thisProcess() (process, error) {
	host, err := os.Hostname()
	if err != nil {
		return process{}, fmt.Errorf("host name: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return process{}, fmt.Errorf("boot id: %w", err)
	}
	machine, _ := os.ReadFile("/etc/machine-id") // without it a restart is as another host
	pid := int64(os.Getpid())
	return process{host, pid, strings.TrimSpace(string(boot)), strings.TrimSpace(string(machine)), dbfile.Life(pid)}, nil
}

// ownerRow is who owns the database, or owned it last.
type ownerRow struct {
	process
	file      string // its identity; a copy of it has another one
	epoch     int64
	startedMS int64
	beatMS    int64
	takeover  string // why the owner before it was taken for dead
}

// released reports whether the owner has given the database back.
func (r ownerRow) released() bool { return r.pid == 0 }

// death says why somebody who wants the database may take its owner for dead;
// empty: the owner must be taken for alive. Locked says that the newcomer holds the
// file's lock, which works between the processes of one machine as long as nobody
// removes it. Lives asks the system of this machine for a process.
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
			return fmt.Sprintf("there is no process %d of it on the machine any more", r.pid)
		case locked:
			return "its lock on the database was free"
		case recent:
			return ""
		}
	case r.host == newcomer.host && r.machineID == newcomer.machineID && r.machineID != "":
		return "the machine was started again since"
	case recent:
		return ""
	}
	return fmt.Sprintf("its last sign of life was %s old", silence.Round(time.Second))
}

// refusal is what a second daemon is told.
func (r ownerRow) refusal(path string, now time.Time) error {
	ago := time.Duration(now.UnixMilli()-r.beatMS) * time.Millisecond
	return inUse(path, r.host, r.pid).WithHint("its last sign of life is %s old; another host may take over when it is older than %s",
		ago.Round(time.Second), beatLimit)
}

func inUse(path, host string, pid int64) *workflow.Error {
	return workflow.Errorf(workflow.CodeConflict, "database %s is in use by torc-slurm on %s, pid %d", path, host, pid)
}

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readOwner returns the owner row, the zero row if there never was one. It also
// reads that of the first version of the schema, since the owner is asked before a
// migration.
func readOwner(ctx context.Context, q rowQuerier) (r ownerRow, err error) {
	err = q.QueryRowContext(ctx, `SELECT host, pid, boot_id, machine_id, life, file, epoch, started_ms, beat_ms, takeover FROM owner WHERE id = 1`).
		Scan(&r.host, &r.pid, &r.bootID, &r.machineID, &r.life, &r.file, &r.epoch, &r.startedMS, &r.beatMS, &r.takeover)
	var lacking sqlite3.Error
	if errors.As(err, &lacking) && lacking.Code == sqlite3.ErrError { // no such column
		err = q.QueryRowContext(ctx, `SELECT host, pid, boot_id, machine_id, epoch, started_ms, beat_ms FROM owner WHERE id = 1`).
			Scan(&r.host, &r.pid, &r.bootID, &r.machineID, &r.epoch, &r.startedMS, &r.beatMS)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("read the owner of the database: %w", err)
	}
	return r, nil
}

// refuseOwned is an error if the database has a living owner. Otherwise it says why
// the owner is taken for dead; empty if there is none.
func refuseOwned(ctx context.Context, q rowQuerier, o *Options, locked bool) (death string, err error) {
	row, err := readOwner(ctx, q)
	if err != nil || row.released() {
		return "", err
	}
	now := o.Now()
	lives := dbfile.Lives
	if row.file != "" && row.file != dbfile.Identity(o.Path) { // a copy: the process has another file
		lives = func(int64, string) (lives, known bool) { return false, false }
	}
	if death = row.death(o.process, locked, now, lives); death == "" {
		return "", row.refusal(o.Path, now)
	}
	return death, nil
}

// takeOwnership makes this process the owner and returns its epoch.
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
	if err != nil {
		return 0, fmt.Errorf("own database %s: %w", o.Path, err)
	}
	return epoch, nil
}

// owns makes sure within a transaction that nobody has taken the database over.
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

// takenOver is what the owner of an epoch is told when it finds another one.
func takenOver(path string, epoch int64, by ownerRow) *workflow.Error {
	at := time.UnixMilli(by.startedMS).Format(time.DateTime)
	if by.released() { // and it has ended since
		return workflow.Errorf(workflow.CodeConflict, "database %s was taken over by another torc-slurm on %s (epoch %d after %d, at %s), which has ended since", path, by.host, by.epoch, epoch, at).
			WithHint("this process must end; start it again")
	}
	e := workflow.Errorf(workflow.CodeConflict, "database %s was taken over by torc-slurm on %s, pid %d (epoch %d after %d, at %s)", path, by.host, by.pid, by.epoch, epoch, at)
	switch {
	case by.epoch > epoch+1:
		return e.WithHint("others had it between; this process must end")
	case by.takeover == "":
		return e.WithHint("it found no owner in the database; this process must end")
	}
	return e.WithHint("it took this process for dead: %s; this process must end", by.takeover)
}

// beat shows at intervals that the owner lives, until ctx ends or the ownership
// is lost.
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
		err := d.writer.do("owner's beat", func(tx *Tx) error {
			return tx.ExecOne(`UPDATE owner SET beat_ms = ? WHERE id = 1`, tx.NowMS)
		})
		if err != nil {
			d.log.Error("cannot show that this process owns the database", "path", d.path, "error", err)
		}
	}
}

// release gives the ownership back, so that nobody needs to wait for it.
func (d *DB) release() error {
	err := d.writer.do("release database", func(tx *Tx) error {
		return tx.ExecOne(`UPDATE owner SET pid = 0, beat_ms = ? WHERE id = 1`, tx.NowMS)
	})
	if d.Err() != nil && !errors.Is(err, errClosed) {
		return nil // it is somebody else's, or not there to be given back
	}
	return err
}

// Lost is closed when the database must not be written any more: another process
// has taken it over, its file is gone, or it is damaged. From then on every change
// fails with Err.
func (d *DB) Lost() <-chan struct{} { return d.writer.halt.lost }

// Err says why the database must not be written any more; nil if it may.
func (d *DB) Err() error { return d.writer.halt.reason() }
