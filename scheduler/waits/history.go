// Package waits keeps how long allocations were pending on a cluster, across workflows and
// daemons: in a file of the user's state folder, one line per wait.
//
// The file only helps to choose allocations. Whatever is wrong with it, the scheduler goes
// on: lines that cannot be read are skipped and counted, a file of another cluster is moved
// aside, and without a file the history is kept in memory.
package waits

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
)

// How much is kept.
const (
	MaxAge     = 90 * 24 * time.Hour
	MaxRecords = 2000
	MaxBytes   = 1 << 20

	// A file that has grown beyond that is rewritten with less, so that this is rare.
	compactRecords = MaxRecords * 3 / 4
	compactBytes   = MaxBytes * 3 / 4

	// clockTolerance is how far the clocks of hosts may differ.
	clockTolerance = 10 * time.Minute
)

// Path returns the file for a cluster in the user's state folder.
func Path(stateFolder, cluster string) string {
	return filepath.Join(stateFolder, "waits-"+strings.ReplaceAll(cluster, "/", "_")+".jsonl")
}

// Fingerprint identifies a cluster by its name, its controllers and its partitions.
func Fingerprint(f *siteconfigs.Facts) string {
	var controllers, partitions []string
	for key, value := range f.Config.Values {
		if strings.HasPrefix(key, "SlurmctldHost") || key == "ControlMachine" {
			controllers = append(controllers, key+"="+value)
		}
	}
	for i := range f.Partitions {
		partitions = append(partitions, f.Partitions[i].Name)
	}
	slices.Sort(controllers)
	slices.Sort(partitions)
	sum := sha256.Sum256([]byte(f.Config.Cluster + "\n" + strings.Join(controllers, ",") + "\n" + strings.Join(partitions, ",")))
	return hex.EncodeToString(sum[:16])
}

// Options are what a History works with; the zero value will do.
type Options struct {
	Log *slog.Logger     // nil: slog.Default
	Now func() time.Time // nil: time.Now
}

// History has the waits of a cluster. It is safe for concurrent use, also by several
// daemons of a user with the same file.
type History struct {
	file        file
	fingerprint string
	options     Options

	mu      sync.Mutex // for all that follows
	records []record   // in no order
	index   map[identity]int
	unsaved []record
	seen    stamp // of the file when it was read or written last
	lines   int   // in it, as far as they can be read
	skipped int   // lines of the file when it was read last
	foreign bool  // the file belongs to another cluster: it is left alone
	reason  string
	warned  bool
}

// Open returns the history in a file, which need not exist. If the file is from another
// cluster, which the fingerprint tells, it is moved to the same name with ".old", and the
// history is empty: Reason says why.
func Open(path, fingerprint string, o Options) *History {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &History{file: file(path), fingerprint: fingerprint, options: o}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replace(nil)
	if err := h.load(true); err != nil {
		h.warn(err)
	}
	return h
}

// Add adds a wait, unless it is known. One that ended with a start replaces one of the same
// job that did not. A wait that cannot be true is ignored.
func (h *History) Add(k Key, p forecast.Past) {
	r := recordOf(k, &p)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !r.sane() || !r.current(h.options.Now()) || !h.put(r) {
		return
	}
	h.unsaved = append(h.unsaved, r)
	h.trim()
	if err := h.save(); err != nil {
		h.warn(err)
	}
}

// List returns the waits that are not older than MaxAge, oldest request first. It includes
// those that other daemons have added meanwhile.
func (h *History) List(now time.Time) []forecast.Past {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file.stamp() != h.seen {
		if err := h.load(false); err != nil {
			h.warn(err)
		}
	}
	var all []forecast.Past
	for _, r := range sorted(h.records) {
		if r.current(now) {
			all = append(all, r.past())
		}
	}
	return all
}

// Skipped returns how many lines of the file, when it was last read, do not count: they
// cannot be read, cannot be true, or are too old or from the future.
func (h *History) Skipped(now time.Time) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.skipped
	for i := range h.records {
		if !h.records[i].current(now) {
			n++
		}
	}
	return n
}

// Reason returns why the file, or an earlier one in its place, is not used; "" if it is.
func (h *History) Reason() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}

// replace makes these all records.
func (h *History) replace(records []record) {
	h.records, h.index = nil, map[identity]int{}
	for _, r := range records {
		h.put(r)
	}
}

// put adds a record; false if it says nothing new.
func (h *History) put(r record) bool {
	id := r.identity()
	i, known := h.index[id]
	switch {
	case !known:
		h.index[id] = len(h.records)
		h.records = append(h.records, r)
	case h.records[i].NotStarted && !r.NotStarted:
		h.records[i] = r
	default:
		return false
	}
	return true
}

// trim bounds the memory.
func (h *History) trim() {
	if len(h.records) > MaxRecords {
		h.replace(newest(h.current(), compactRecords, compactBytes))
	}
	if len(h.unsaved) > compactRecords {
		h.unsaved = newest(h.unsaved, compactRecords, compactBytes)
	}
}

// current returns the records that count now.
func (h *History) current() []record {
	now := h.options.Now()
	return slices.DeleteFunc(slices.Clone(h.records), func(r record) bool { return !r.current(now) })
}

// load reads the file. One that cannot be used is moved aside at the beginning, and left
// alone later: then another program uses it.
func (h *History) load(atOpen bool) error {
	text, stamp, err := h.file.read()
	if err != nil {
		h.seen = stamp
		return err
	}
	return h.take(text, stamp, atOpen)
}

// take uses the contents of the file.
func (h *History) take(text []byte, stamp stamp, atOpen bool) error {
	h.seen, h.lines, h.skipped, h.foreign = stamp, 0, 0, false
	if len(text) == 0 {
		return nil
	}
	records, skipped, problem := parseFile(text, h.fingerprint)
	if problem != "" {
		return h.reject(problem, atOpen)
	}
	h.lines, h.skipped = len(records), skipped
	h.replace(records)
	h.unsaved = slices.DeleteFunc(h.unsaved, func(r record) bool { return !h.put(r) }) // another daemon has saved it
	h.trim()
	return nil
}

// reject moves a file aside, or leaves it alone.
func (h *History) reject(problem string, atOpen bool) error {
	h.reason = "the history of waits in " + string(h.file) + " is not used: " + problem
	if !atOpen {
		h.foreign = true
		return rejected(h.reason)
	}
	h.seen = stamp{}
	if err := h.file.moveAside(); err != nil {
		h.foreign = true
		return err
	}
	h.options.Log.Warn("the history of waits starts anew", "path", string(h.file), "moved_to", h.file.old(), "reason", problem)
	return nil
}

// rejected is the error of a file that is not used.
type rejected string

func (r rejected) Error() string { return string(r) }

// warn says once that the history is kept in memory only.
func (h *History) warn(err error) {
	if h.warned {
		return
	}
	h.warned = true
	h.options.Log.Warn("the history of waits is kept in memory only", "path", string(h.file), "error", err)
}

// save appends what is not saved, after it has read what others have added. If the file
// is too large then, it is rewritten.
func (h *History) save() error {
	return h.file.locked(func(f *locked) error {
		if f.stamp != h.seen || h.foreign {
			text, err := f.read()
			if err != nil {
				return err
			}
			if err := h.take(text, f.stamp, false); err != nil {
				return err
			}
		}
		if h.foreign {
			return rejected(h.reason)
		}
		if len(h.unsaved) == 0 {
			return nil
		}
		lines := f.beginning(h.fingerprint)
		for i := range h.unsaved {
			lines = append(lines, h.unsaved[i].line()...)
		}
		if err := f.append(lines); err != nil {
			return err
		}
		h.lines += len(h.unsaved)
		h.unsaved, h.seen = nil, f.stamp
		if f.stamp.size <= MaxBytes && h.lines <= MaxRecords {
			return nil
		}
		return h.compact()
	})
}

// compact rewrites the file. The caller holds its lock.
func (h *History) compact() error {
	keep := newest(h.current(), compactRecords, compactBytes)
	text := headerLine(h.fingerprint)
	for i := range keep {
		text = append(text, keep[i].line()...)
	}
	if err := h.file.write(text); err != nil {
		return err
	}
	h.replace(keep)
	h.lines, h.skipped, h.seen = len(keep), 0, h.file.stamp()
	return nil
}
