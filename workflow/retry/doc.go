// Package retry decides what happens after an attempt. Decide makes all decisions; the
// simulator applies it to recorded attempts.
package retry
