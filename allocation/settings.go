package allocation

import "time"

// Settings are the intervals of this package; zero means the default.
type Settings struct {
	// Poll is the time between two looks at Slurm while all is well, Hurry
	// while something is ending; what MinJobAge says is never exceeded then.
	Poll      time.Duration // default 60 s
	Hurry     time.Duration // default 15 s
	Least     time.Duration // between two looks, whoever asks for them; default 3 s
	MinJobAge time.Duration // how long Slurm remembers what has ended; default 300 s, as Slurm's

	// AbsentFor is how far apart the two looks must be that do not find an
	// allocation before it counts as gone; AskedFor is how long after its
	// sbatch an intent may still turn up.
	AbsentFor time.Duration // default 60 s
	AskedFor  time.Duration // default 2 min
	// AccountingPatience is how long to wait for an accounting database that
	// gives no answer, or one that is out of date.
	AccountingPatience time.Duration // default 5 min
	// CausePatience is how long to wait for accounting to say why something
	// ended that is certain to have ended.
	CausePatience time.Duration // default 60 s
	// KillWait is what Slurm leaves processes between SIGTERM and SIGKILL.
	KillWait time.Duration // default 30 s, as Slurm's
	// CompletingFor is how long an allocation may take to leave its nodes.
	CompletingFor time.Duration // default 10 min

	Lease     time.Duration // a runner that was heard within this time lives; default 60 s
	Heartbeat time.Duration // silence after which an allocation is canceled; default 10 min
	NoRunner  time.Duration // time without a runner after which an allocation is canceled; default 10 min
	NeverFor  time.Duration // time with a reason for which Slurm never starts it, after which an allocation is canceled; default 5 min
	StopFor   time.Duration // how long runners may take to leave what Slurm has taken away; default 2 min

	CancelAgain time.Duration // before a scancel without effect is repeated; doubles each time; default 30 s

	Comments     int           // how many one poll sets at most; default 1, less than 0: none
	CommentEvery time.Duration // between polls that set some; default 2 min

	Owner string // our user id, as sacct writes it
	User  string // our name, as squeue takes it
}

// withDefaults fills in what is not set.
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

// cancelAgain is how long to wait before the scancel after so many.
func (s *Settings) cancelAgain(tries int64) time.Duration {
	const most = 10 * time.Minute
	wait := s.CancelAgain
	for ; tries > 1 && wait < most; tries-- {
		wait *= 2
	}
	return min(wait, most)
}
