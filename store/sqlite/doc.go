// Package sqlite is an SQLite database on a file that this process owns: one writer with
// group commit, read-only readers, migrations, backups and snapshots. It knows nothing of
// jobs.
package sqlite
