// Package retry decides what happens after an attempt. Decide does all of it; the
// simulator asks it about recorded attempts.
package retry
