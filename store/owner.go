package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The owner of a database shows every beatInterval that it lives. Another host
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
	return process{host, int64(os.Getpid()), strings.TrimSpace(string(boot)), strings.TrimSpace(string(machine))}, nil
}

// ownerRow is who owns the database, or owned it last.
type ownerRow struct {
	process
	epoch  int64
	beatMS int64
}

// released reports whether the owner has given the database back.
func (r ownerRow) released() bool { return r.pid == 0 }

// lives reports whether somebody who wants the database must take the owner
// for alive. Locked says that the newcomer holds the file's lock, which works
// between the processes of one machine.
func (r ownerRow) lives(newcomer process, locked bool, now time.Time, exists func(pid int64) bool) bool {
	recent := now.UnixMilli()-r.beatMS <= beatLimit.Milliseconds()
	switch {
	case r.released():
		return false
	case r.bootID == newcomer.bootID:
		return !locked && exists(r.pid) && recent
	case r.host == newcomer.host && r.machineID == newcomer.machineID && r.machineID != "":
		return false // the machine was started again since
	}
	return recent
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

// pidExists reports whether a process of that id is on this machine.
func pidExists(pid int64) bool {
	return !errors.Is(syscall.Kill(int(pid), 0), syscall.ESRCH)
}

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readOwner returns the owner row, the zero row if there never was one.
func readOwner(ctx context.Context, q rowQuerier) (r ownerRow, err error) {
	err = q.QueryRowContext(ctx, `SELECT host, pid, boot_id, machine_id, epoch, beat_ms FROM owner WHERE id = 1`).
		Scan(&r.host, &r.pid, &r.bootID, &r.machineID, &r.epoch, &r.beatMS)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("read the owner of the database: %w", err)
	}
	return r, nil
}

// refuseOwned is an error if the database has a living owner.
func refuseOwned(ctx context.Context, q rowQuerier, o *Options, locked bool) error {
	row, err := readOwner(ctx, q)
	if err != nil {
		return err
	}
	if now := o.Now(); row.lives(o.process, locked, now, pidExists) {
		return row.refusal(o.Path, now)
	}
	return nil
}

// takeOwnership makes this process the owner and returns its epoch.
func takeOwnership(ctx context.Context, conn *sql.Conn, o *Options, locked bool) (epoch int64, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("own database %s: %w", o.Path, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	if err := refuseOwned(ctx, tx, o, locked); err != nil {
		return 0, err
	}
	now := o.Now().UnixMilli()
	err = tx.QueryRowContext(ctx, `INSERT INTO owner (id, host, pid, boot_id, machine_id, epoch, started_ms, beat_ms) VALUES (1, ?1, ?2, ?3, ?5, 1, ?4, ?4)
		ON CONFLICT (id) DO UPDATE SET host = ?1, pid = ?2, boot_id = ?3, machine_id = ?5, epoch = epoch + 1, started_ms = ?4, beat_ms = ?4 RETURNING epoch`,
		o.process.host, o.process.pid, o.process.bootID, now, o.process.machineID).Scan(&epoch)
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
	w.lostErr = workflow.Errorf(workflow.CodeConflict, "database %s was taken over by torc-slurm on %s, pid %d", w.path, by.host, by.pid).
		WithHint("this process was out of touch with it for more than %s; it must end", beatLimit)
	close(w.lost)
	return w.lostErr
}

// beat shows at intervals that the owner lives, until ctx ends or the ownership
// is lost.
func (s *Store) beat(ctx context.Context) {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.writer.lost:
			return
		case <-ticker.C:
		}
		err := s.writer.do("owner's beat", func(tx *Tx) error {
			return tx.execOne(`UPDATE owner SET beat_ms = ? WHERE id = 1`, tx.nowMS)
		})
		if err != nil {
			s.log.Error("cannot show that this process owns the database", "path", s.path, "error", err)
		}
	}
}

// release gives the ownership back, so that nobody needs to wait for it.
func (s *Store) release() error {
	err := s.writer.do("release database", func(tx *Tx) error {
		return tx.execOne(`UPDATE owner SET pid = 0, beat_ms = ? WHERE id = 1`, tx.nowMS)
	})
	select {
	case <-s.Lost():
		return nil // it is somebody else's
	default:
		return err
	}
}

// Lost is closed when another process has taken the database over. From then
// on every change fails with Err.
func (s *Store) Lost() <-chan struct{} { return s.writer.lost }

// Err says who has taken the database over; nil if nobody has.
func (s *Store) Err() error {
	select {
	case <-s.writer.lost:
		return s.writer.lostErr
	default:
		return nil
	}
}
