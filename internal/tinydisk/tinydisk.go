// Package tinydisk gives tests a small file system of their own.
package tinydisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// TB is the part of testing.TB that is needed.
type TB interface {
	Helper()
	TempDir() string
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Skipf(format string, args ...any)
}

// Disk is a mounted file system. It is unmounted at the end of the test.
type Disk struct {
	Dir string
	tb  TB
}

// New mounts a file system of so many bytes. It skips the test if that is not permitted.
func New(tb TB, bytes int64) *Disk {
	tb.Helper()
	dir := tb.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,mode=0755", bytes))
	if err != nil {
		tb.Skipf("no full disk here: mount a tmpfs: %v (it takes root in the mount namespace)", err)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			tb.Errorf("unmount %s: %v", dir, err)
		}
	})
	return &Disk{Dir: dir, tb: tb}
}

const filler = "filler"

// Fill fills the file system.
func (d *Disk) Fill() {
	d.tb.Helper()
	f, err := os.OpenFile(filepath.Join(d.Dir, filler), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, os.Getpagesize())
	for {
		if _, err := f.Write(page); errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil {
			d.tb.Fatal(err)
		}
	}
}

// Free removes what Fill has written.
func (d *Disk) Free() {
	d.tb.Helper()
	if err := os.Remove(filepath.Join(d.Dir, filler)); err != nil {
		d.tb.Fatal(err)
	}
}
