// Package sqlite is a database in SQLite on a file that this process owns: one writer
// with group commit, read-only readers beside it, migrations, backups and snapshots. It
// knows nothing of jobs.
package sqlite
