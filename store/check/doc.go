// Package check checks whether a database is intact, and whether its records satisfy what
// the engine guarantees. It only reads, and imports no use case.
package check
