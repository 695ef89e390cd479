package slurmtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Reservation keeps nodes of the fake cluster for some users and accounts. Jobs that do
// not name it do not start there if they could still run while it lasts.
type Reservation struct {
	Name            string
	Start, End      time.Time
	Nodes           []string
	Flags           []string // MAINT, IGNORE_JOBS, …
	Users, Accounts []string
}

// Reserve adds a reservation, or replaces one of the same name.
func (c *Cluster) Reserve(r Reservation) {
	c.do(func() { c.scheduler.reserve(&r) })
}

// Unreserve removes a reservation.
func (c *Cluster) Unreserve(name string) {
	c.do(func() { c.scheduler.unreserve(name) })
}

func (s *scheduler) reserve(r *Reservation) {
	s.unreserve(r.Name)
	s.reservations = append(s.reservations, r)
	for _, at := range []time.Time{r.Start, r.End} { // jobs may start then
		s.clock.after(max(at.Sub(s.clock.now), 0), func() {})
	}
}

// unreserve reports whether there was such a reservation.
func (s *scheduler) unreserve(name string) bool {
	before := len(s.reservations)
	s.reservations = slices.DeleteFunc(s.reservations, func(r *Reservation) bool { return r.Name == name })
	return len(s.reservations) < before
}

// reservation returns one that is not over; nil if there is none.
func (s *scheduler) reservation(name string) *Reservation {
	for _, r := range s.reservations {
		if r.Name == name && s.clock.now.Before(r.End) {
			return r
		}
	}
	return nil
}

// active returns the reservation that has a node now; nil if none has.
func (s *scheduler) active(n *node) *Reservation {
	for _, r := range s.reservations {
		if slices.Contains(r.Nodes, n.Name) && !s.clock.now.Before(r.Start) && s.clock.now.Before(r.End) {
			return r
		}
	}
	return nil
}

// admits reports whether a job may be on a node from a time until its limit, as far as
// reservations are concerned.
func (s *scheduler) admits(j *job, n *node, from time.Time) bool {
	to := from.Add(j.time)
	for _, r := range s.reservations {
		if r.Name != j.reservation && slices.Contains(r.Nodes, n.Name) && from.Before(r.End) && to.After(r.Start) {
			return false
		}
	}
	if j.reservation == "" {
		return true
	}
	r := s.reservation(j.reservation)
	return r != nil && slices.Contains(r.Nodes, n.Name) && !from.Before(r.Start) && !to.After(r.End)
}

// admitting returns an offer of no room where reservations keep a job from starting now.
func (s *scheduler) admitting(j *job, offer func(*node) room) func(*node) room {
	return func(n *node) room {
		if !s.admits(j, n, s.clock.now) {
			return noRoom
		}
		return offer(n)
	}
}

// allows reports whether a user, or an account, may use the reservation.
func (r *Reservation) allows(user, account string) bool {
	return slices.Contains(r.Users, user) || slices.Contains(r.Accounts, account)
}

// showReservations answers scontrol show reservation.
func (s scontrol) showReservations() slurm.Output {
	var out strings.Builder
	for _, r := range s.scheduler.reservations {
		if !s.scheduler.clock.now.Before(r.End) {
			continue
		}
		state, cpus := "INACTIVE", 0
		if !s.scheduler.clock.now.Before(r.Start) {
			state = "ACTIVE"
		}
		for _, name := range r.Nodes {
			if n := s.nodes.named(name); n != nil {
				cpus += n.CPUs
			}
		}
		fmt.Fprintf(&out, "ReservationName=%s StartTime=%s EndTime=%s Duration=%s Nodes=%s NodeCnt=%d CoreCnt=%d Features=(null) PartitionName=(null) "+
			"Flags=%s TRES=cpu=%d Users=%s Groups=(null) Accounts=%s Licenses=(null) State=%s BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n",
			r.Name, stamp(r.Start), stamp(r.End), slurm.FormatDuration(r.End.Sub(r.Start)), slurm.JoinNodes(r.Nodes), len(r.Nodes), cpus,
			strings.Join(append(slices.Clone(r.Flags), "SPEC_NODES"), ","), cpus,
			orWord(strings.Join(r.Users, ","), "(null)"), orWord(strings.Join(r.Accounts, ","), "(null)"), state)
	}
	if out.Len() == 0 {
		return say("No reservations in the system\n")
	}
	return say("%s", out.String())
}

// changeReservation answers scontrol create reservation and delete reservation.
func (s scontrol) changeReservation(command string, words []string, uid int) slurm.Output {
	values := map[string]string{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		values[strings.ToLower(key)] = value
	}
	name := orWord(values["reservationname"], values["reservation"])
	switch {
	case uid != 0:
		return refusal("Error creating the reservation: Access/permission denied")
	case command == "delete" && !s.scheduler.unreserve(name):
		return refusal("delete_reservation reservation=" + name + ": Requested reservation is invalid")
	case command == "delete":
		return slurm.Output{}
	}
	start, err := s.reservationStart(values["starttime"])
	if err != nil {
		return refusal("scontrol: error: Invalid start time StartTime=" + values["starttime"] + ".  No reservation created.")
	}
	length, err := slurm.ParseDuration(values["duration"])
	if err != nil || length <= 0 {
		return refusal("scontrol: error: Invalid duration.  No reservation created.")
	}
	hosts, err := slurm.ExpandNodes(values["nodes"])
	if err != nil || slices.ContainsFunc(hosts, func(host string) bool { return s.nodes.named(host) == nil }) {
		return refusal("Error creating the reservation: Invalid node name specified")
	}
	r := &Reservation{Name: name, Start: start, End: start.Add(length), Nodes: hosts}
	for key, list := range map[string]*[]string{"flags": &r.Flags, "users": &r.Users, "accounts": &r.Accounts} {
		if values[key] != "" {
			*list = strings.Split(values[key], ",")
		}
	}
	s.scheduler.reserve(r)
	return say("Reservation created: %s\n", name)
}

// reservationStart parses now, now+SECONDS, and now+N with minutes, hours or days.
func (s scontrol) reservationStart(text string) (time.Time, error) {
	offset, ok := strings.CutPrefix(text, "now")
	if !ok {
		return time.Time{}, refused("Invalid time specification")
	}
	number := strings.TrimRight(strings.TrimPrefix(offset, "+"), "abcdefghijklmnopqrstuvwxyz")
	unit := time.Second
	for word, length := range map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour} {
		if strings.Contains(offset, word) {
			unit = length
		}
	}
	if offset == "" {
		number = "0"
	}
	n, err := strconv.Atoi(number)
	return s.scheduler.clock.now.Add(time.Duration(n) * unit), err
}
