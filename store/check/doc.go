// Package check looks whether a database is whole, and whether what is recorded in it
// keeps what the engine promises. It reads only, and imports no use case.
package check
