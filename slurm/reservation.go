package slurm

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Reservation keeps nodes, or a part of them, for some users or for maintenance.
type Reservation struct {
	Name       string
	State      string // ACTIVE, INACTIVE
	Start, End time.Time
	Nodes      string // see ExpandNodes; "" for one of licenses, for example
	NodeCount  int
	Cores      int
	Partition  string   // "" if none is given
	Flags      []string // MAINT, IGNORE_JOBS, FLEX, …
	// Users, Groups and Accounts may use it. "-" before a name excludes it.
	Users, Groups, Accounts []string
}

// Has reports whether the reservation has a flag.
func (r *Reservation) Has(flag string) bool { return slices.Contains(r.Flags, flag) }

// Maintenance reports whether the reservation is for maintenance.
func (r *Reservation) Maintenance() bool { return r.Has("MAINT") }

// Reservations returns all reservations that the user may see. The error is an *Error.
func (c *Client) Reservations(ctx context.Context) ([]Reservation, error) {
	out, err := c.ask(ctx, Scontrol, "--local", "--oneliner", "show", "reservation")
	if err != nil {
		return nil, err
	}
	return parseReservations(string(out.Stdout))
}

// noReservations is the answer when there are none.
const noReservations = "No reservations in the system"

// parseReservations rejects an answer in which one of them cannot be read: without it
// its nodes would seem to be free.
func parseReservations(text string) ([]Reservation, error) {
	if !strings.HasSuffix(text, "\n") {
		return nil, garbled(Scontrol, "the answer is empty or truncated")
	}
	var all []Reservation
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line == noReservations {
			continue
		}
		kv := parseKeyValues(line)
		var r reader
		reservation := Reservation{
			Name:      kv.text("ReservationName"),
			State:     kv.text("State"),
			Start:     parsed(&r, ParseTime, kv["StartTime"]),
			End:       parsed(&r, ParseTime, kv["EndTime"]),
			Nodes:     kv.text("Nodes"),
			NodeCount: int(r.optional(kv["NodeCnt"])),
			Cores:     int(r.optional(kv["CoreCnt"])),
			Partition: kv.text("PartitionName"),
			Flags:     listOf(kv["Flags"]),
			Users:     listOf(kv["Users"]), Groups: listOf(kv["Groups"]), Accounts: listOf(kv["Accounts"]),
		}
		if r.err != nil || reservation.Name == "" {
			return nil, garbled(Scontrol, "the answer does not describe reservations")
		}
		all = append(all, reservation)
	}
	return all, nil
}
