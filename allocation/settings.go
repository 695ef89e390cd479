package allocation

import "time"

// Settings are the intervals of this package; zero means the default.
type Settings struct {
	// Poll is the time between two polls of Slurm; Hurry is that while something is
	// ending, which never exceeds half of MinJobAge.
	Poll      time.Duration // default 60 s
	Hurry     time.Duration // default 15 s
	Least     time.Duration // between any two polls; default 3 s
	MinJobAge time.Duration // how long Slurm remembers what has ended; default 300 s, as Slurm's

	// AbsentFor is how far apart the two polls must be that do not find an
	// allocation before it counts as gone; AskedFor is how long after its
	// sbatch the job of an intent may still appear.
	AbsentFor time.Duration // default 60 s
	AskedFor  time.Duration // default 2 min
	// AccountingPatience is how long to wait for an accounting database that
	// gives no answer, or an outdated one.
	AccountingPatience time.Duration // default 5 min
	// CausePatience is how long to wait for the accounting record to say why an
	// allocation ended that has certainly ended.
	CausePatience time.Duration // default 60 s
	// KillWait is the time that Slurm gives processes between SIGTERM and SIGKILL.
	KillWait time.Duration // default 30 s, as Slurm's
	// CompletingFor is how long an allocation may be completing.
	CompletingFor time.Duration // default 10 min

	Lease     time.Duration // a runner that called within this time is alive; default 60 s
	Heartbeat time.Duration // silence after which an allocation is canceled; default 10 min
	NoRunner  time.Duration // time without a runner after which an allocation is canceled; default 10 min
	NeverFor  time.Duration // how long Slurm may say that an allocation never starts before it is canceled; default 5 min
	StopFor   time.Duration // how long runners may take to leave an allocation that is over; default 2 min

	CancelAgain time.Duration // before a scancel without effect is repeated; doubles each time; default 30 s

	Comments     int           // how many one poll updates at most; default 1, negative: none
	CommentEvery time.Duration // between polls that update some; default 2 min

	Owner string // our user id, as sacct writes it
	User  string // our name, as squeue takes it
}

// withDefaults returns the settings with defaults for zero values.
func (s Settings) withDefaults() Settings {
	for field, value := range map[*time.Duration]time.Duration{
		&s.Poll: time.Minute, &s.Hurry: 15 * time.Second, &s.Least: 3 * time.Second, &s.MinJobAge: 5 * time.Minute,
		&s.AbsentFor: time.Minute, &s.AskedFor: 2 * time.Minute, &s.AccountingPatience: 5 * time.Minute, &s.CausePatience: time.Minute,
		&s.KillWait: 30 * time.Second, &s.CompletingFor: 10 * time.Minute, &s.Lease: time.Minute, &s.Heartbeat: 10 * time.Minute, &s.NoRunner: 10 * time.Minute, &s.NeverFor: 5 * time.Minute,
		&s.StopFor: 2 * time.Minute, &s.CancelAgain: 30 * time.Second, &s.CommentEvery: 2 * time.Minute,
	} {
		if *field == 0 {
			*field = value
		}
	}
	if s.Comments == 0 {
		s.Comments = 1
	}
	return s
}

// cancelAgain returns how long to wait after a number of scancels before the next.
func (s *Settings) cancelAgain(tries int64) time.Duration {
	const most = 10 * time.Minute
	wait := s.CancelAgain
	for ; tries > 1 && wait < most; tries-- {
		wait *= 2
	}
	return min(wait, most)
}
