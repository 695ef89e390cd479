package siteconfigs

import "cmp"

// Refresh returns a described site with current data from Slurm: the user's accounts and
// limits, and the state and size of partitions. If they have no partition in common, they
// are different clusters, and the description is returned unchanged.
func Refresh(described, live *Site) *Site {
	common := false
	for i := range described.Partitions {
		common = common || live.Partition(described.Partitions[i].Name) != nil
	}
	if !common {
		return described
	}
	s := described.clone()
	s.DefaultAccount = cmp.Or(s.DefaultAccount, live.DefaultAccount)
	if len(s.Accounts) == 0 {
		s.Accounts = live.Accounts
	}
	if len(s.QOS) == 0 {
		s.QOS = live.QOS
	}
	s.SlurmVersion = cmp.Or(live.SlurmVersion, s.SlurmVersion)
	s.MinJobAge = cmp.Or(live.MinJobAge, s.MinJobAge)
	s.KillWait = cmp.Or(live.KillWait, s.KillWait)
	s.SlurmdTimeout = cmp.Or(live.SlurmdTimeout, s.SlurmdTimeout)
	for i := range s.Partitions {
		s.Partitions[i].refresh(live.Partition(s.Partitions[i].Name))
	}
	return s
}

func (p *Partition) refresh(live *Partition) {
	if live == nil {
		p.Closed = cmp.Or(p.Closed, "Slurm has no partition with this name")
		return
	}
	p.Closed = cmp.Or(p.Closed, live.Closed)
	p.TotalNodes = cmp.Or(live.TotalNodes, p.TotalNodes)
	p.NodeList = cmp.Or(live.NodeList, p.NodeList)
	p.MaxJob = cmp.Or(p.MaxJob, live.MaxJob)
	p.MaxMemPerNodeMB = cmp.Or(p.MaxMemPerNodeMB, live.MaxMemPerNodeMB)
	p.MaxMemPerCPUMB = cmp.Or(p.MaxMemPerCPUMB, live.MaxMemPerCPUMB)
	p.DefMemPerCPUMB = cmp.Or(p.DefMemPerCPUMB, live.DefMemPerCPUMB)
	if len(p.AllowAccounts)+len(p.DenyAccounts) == 0 {
		p.AllowAccounts, p.DenyAccounts = live.AllowAccounts, live.DenyAccounts
	}
	if len(p.AllowQOS)+len(p.DenyQOS) == 0 {
		p.AllowQOS, p.DenyQOS = live.AllowQOS, live.DenyQOS
	}
	p.RequiresReservation = p.RequiresReservation || live.RequiresReservation
}
