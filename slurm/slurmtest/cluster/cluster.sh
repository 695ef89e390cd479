#!/bin/bash
# A real Slurm for tests: slurmctld, slurmdbd with MariaDB, munge and four
# slurmd on this machine, with settings that make faults quick.
#
#   cluster.sh up             start it, or restart its dead parts
#   cluster.sh down           stop it; its state directory stays
#   cluster.sh purge          down, and remove the state directory and the user
#   cluster.sh status         exit 0 if all of it runs
#   cluster.sh state          print the state directory
#   cluster.sh start|stop|kill PART...   munged mariadbd slurmdbd slurmctld n1 … n4
#   cluster.sh hide FOLDER NODE...   start stopped nodes so that they find it empty
#
# It needs root and Debian's packages, which it installs unless
# TORC_TEST_INSTALL=0. It needs no systemd. Exit status 77 means that it cannot
# be done on this machine. Outside of its state directory it
# writes /etc/slurm/slurm.conf (a link; an existing file is left alone and ends
# the attempt), the cgroups slurm_n1 … slurm_n4, and the user torctest.
set -euo pipefail
export LC_ALL=C

STATE=${TORC_TEST_SLURM:-/var/lib/torc-slurm-test}
NODES=4
PACKAGES="slurmctld slurmd slurmdbd slurm-client munge mariadb-server"
TESTUSER=torctest
CTLD_PORT=17817 DBD_PORT=17819 SQL_PORT=17820 NODE_PORT=17900 # n1 has 17901
LINK=/etc/slurm/slurm.conf
PARTS="munged mariadbd slurmdbd slurmctld $(seq -f n%g $NODES | tr '\n' ' ')"
export SLURM_CONF=$STATE/etc/slurm.conf
PATH=$PATH:/usr/sbin:/sbin

say() { echo "slurm-test: $*" >&2; }
die() { say "$*"; exit 1; }
cannot() { say "$*"; exit 77; } # not an error, but not possible on this machine

# until_ok SECONDS COMMAND...: repeats until the command succeeds.
until_ok() {
	local end=$((SECONDS + $1)); shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

## Requirements ###############################################################

need_root() {
	[ "$(id -u)" = 0 ] || cannot "needs root: it runs Slurm's daemons; try: sudo make slurm-up"
}

need_no_other() {
	[ -e "$LINK" ] || [ -L "$LINK" ] || return 0
	[ "$(readlink "$LINK")" = "$SLURM_CONF" ] ||
		cannot "$LINK belongs to another Slurm; it is not changed, and no test cluster is started"
}

need_packages() {
	local missing
	missing=$(for p in $PACKAGES; do
		dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q '^install ok installed' || echo "$p"
	done) || true
	[ -n "$missing" ] || return 0
	missing=$(echo $missing)
	command -v apt-get >/dev/null || cannot "needs Debian's packages $missing, and there is no apt-get here"
	[ "${TORC_TEST_INSTALL:-1}" != 0 ] || cannot "needs the packages $missing, and TORC_TEST_INSTALL=0 forbids installing them"
	say "installing Debian's packages $missing (TORC_TEST_INSTALL=0 forbids it)"
	install_packages $missing
}

# install_packages does not let the packages start their services.
install_packages() {
	local policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
		trap "rm -f $policy" EXIT
	fi
	local log=$STATE/log/install.log
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1 ||
		{ apt-get update -q >>"$log" 2>&1 && apt-get install -y -q --no-install-recommends "$@" >>"$log" 2>&1; } ||
		{ tail -3 "$log" >&2; die "could not install $* (see $log)"; }
	if [ -n "$(trap -p EXIT)" ]; then rm -f $policy; trap - EXIT; fi
}

# cgroups prints which version has a memory controller here: v2, v1 or none.
cgroups() {
	if grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
		echo v2
	elif [ -d /sys/fs/cgroup/memory ] && [ -d /sys/fs/cgroup/freezer ]; then
		echo v1
	else
		echo none
	fi
}

## Configuration ###############################################################

write_config() {
	local host tracking=proctrack/cgroup task=task/cgroup
	host=$(hostname -s)
	case $(cgroups) in
	none)
		tracking=proctrack/linuxproc task=task/none
		say "no cgroup memory controller here: memory limits are not enforced, tests of out-of-memory kills are skipped"
		;;
	esac
	{
		echo "CgroupPlugin=cgroup/$(cgroups | sed 's/none/disabled/')"
		# With v2 slurmd would want a unit of systemd for each node.
		[ "$(cgroups)" != v2 ] || printf 'IgnoreSystemd=yes\nEnableControllers=yes\n'
		# Cores can be bound only where a node has no more than the machine.
		[ "$(nproc)" -lt 4 ] || echo ConstrainCores=yes
		echo ConstrainRAMSpace=yes
		echo ConstrainSwapSpace=yes
		echo AllowedSwapSpace=0
	} | put "$STATE/etc/cgroup.conf"
	[ "$(cgroups)" != none ] || rm -f "$STATE/etc/cgroup.conf"

	put "$STATE/etc/slurmdbd.conf" 600 <<-EOF
	AuthType=auth/munge
	AuthInfo=socket=$STATE/munge/socket
	DbdHost=localhost
	DbdPort=$DBD_PORT
	SlurmUser=root
	StorageType=accounting_storage/mysql
	StorageHost=127.0.0.1
	StoragePort=$SQL_PORT
	StorageUser=slurm
	StoragePass=slurm
	StorageLoc=slurm_acct_db
	LogFile=$STATE/log/slurmdbd.log
	PidFile=$STATE/run/slurmdbd.pid
	EOF

	put "$STATE/etc/gres.conf" <<-EOF
	NodeName=n$NODES Name=gpu Type=test File=$STATE/gpu/[0-1]
	EOF

	put "$STATE/etc/slurm.conf" <<-EOF
	ClusterName=torctest
	SlurmctldHost=$host(127.0.0.1)
	SlurmctldPort=$CTLD_PORT
	SlurmUser=root
	SlurmdUser=root
	AuthType=auth/munge
	AuthInfo=socket=$STATE/munge/socket
	StateSaveLocation=$STATE/ctld
	SlurmdSpoolDir=$STATE/spool/%n
	SlurmctldPidFile=$STATE/run/slurmctld.pid
	SlurmdPidFile=$STATE/run/%n.pid
	SlurmctldLogFile=$STATE/log/slurmctld.log
	SlurmdLogFile=$STATE/log/%n.log
	SlurmctldDebug=info
	SlurmdDebug=info
	ProctrackType=$tracking
	TaskPlugin=$task
	JobAcctGatherType=jobacct_gather/linux
	JobAcctGatherFrequency=task=1
	AccountingStorageType=accounting_storage/slurmdbd
	AccountingStorageHost=localhost
	AccountingStoragePort=$DBD_PORT
	AccountingStoragePass=$STATE/munge/socket
	AccountingStorageEnforce=associations,limits,qos
	AccountingStoreFlags=job_comment
	SchedulerType=sched/backfill
	SchedulerParameters=sched_interval=1,bf_interval=2,sched_min_interval=0,batch_sched_delay=0
	SelectType=select/cons_tres
	SelectTypeParameters=CR_Core_Memory
	PreemptType=preempt/partition_prio
	PreemptMode=REQUEUE
	ReturnToService=2
	SlurmdTimeout=10
	SlurmctldTimeout=10
	KillWait=3
	MinJobAge=60
	InactiveLimit=0
	MpiDefault=none
	MaxArraySize=1001
	EnforcePartLimits=ALL
	SlurmdParameters=config_overrides
	DefMemPerCPU=256
	GresTypes=gpu
	NodeName=DEFAULT CPUs=4 RealMemory=4000 State=UNKNOWN
	$(for i in $(seq $NODES); do
		echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((NODE_PORT + i))$([ "$i" != $NODES ] || echo ' Gres=gpu:test:2')"
	done)
	PartitionName=DEFAULT Nodes=ALL MaxTime=1-00:00:00 DefaultTime=10:00
	PartitionName=debug Default=YES PriorityTier=10 PreemptMode=OFF
	PartitionName=standby PriorityTier=1 PreemptMode=REQUEUE GraceTime=2
	PartitionName=scavenge PriorityTier=1 PreemptMode=CANCEL GraceTime=2
	EOF
}

# put FILE [MODE]: writes a file from standard input if it would change.
CHANGED=0
put() {
	local new=$1.new
	(umask "$([ "${2:-644}" = 600 ] && echo 077 || echo 022)"; cat >"$new")
	if cmp -s "$new" "$1"; then rm "$new"; else mv "$new" "$1"; CHANGED=1; fi
}

make_folders() {
	mkdir -p "$STATE"/{etc,log,run,munge,mariadb,ctld,spool,gpu,home}
	chmod 755 "$STATE" "$STATE"/{etc,home,run,munge,log}
	local i
	for i in 0 1; do # what a job sees as GPUs are two null devices
		[ -c "$STATE/gpu/$i" ] || mknod "$STATE/gpu/$i" c 1 3
	done
}

make_user() {
	id $TESTUSER >/dev/null 2>&1 ||
		useradd --system --no-create-home --home-dir "$STATE/home/$TESTUSER" --shell /bin/bash \
			--comment "made by torc-slurm's tests" $TESTUSER
	mkdir -p "$STATE/home/$TESTUSER"
	chown $TESTUSER: "$STATE/home/$TESTUSER"
}

## Daemons #####################################################################

# alive PART: its pid file has the id of a running process of that program.
alive() {
	local pid program=$1
	case $1 in n[0-9]*) program=slurmd ;; esac
	pid=$(cat "$STATE/run/$1.pid" 2>/dev/null) && [ -n "$pid" ] &&
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$program" ] &&
		! grep -q '^State:.Z' "/proc/$pid/status"
}

start() {
	alive "$1" && return 0
	rm -f "$STATE/run/$1.pid"
	launch "$1" 9>&- # a daemon must not keep the lock
	until_ok 20 alive "$1" || { tail -3 "$STATE/log/$1.log" >&2; die "$1 does not start (see $STATE/log/$1.log)"; }
}

launch() {
	case $1 in
	munged) start_munged ;;
	mariadbd) start_mariadbd ;;
	slurmdbd | slurmctld) "$1" 2>>"$STATE/log/$1.log" ;;
	n[1-$NODES]) start_node "$1" ;;
	*) die "unknown part $1 (parts: $PARTS)" ;;
	esac
}

start_munged() {
	[ -s "$STATE/munge/key" ] || head -c 128 /dev/urandom >"$STATE/munge/key"
	chown -R munge: "$STATE/munge"
	chmod 600 "$STATE/munge/key"
	install -d -o munge "$STATE/run/munge"
	runuser -u munge -- munged --key-file="$STATE/munge/key" --socket="$STATE/munge/socket" \
		--pid-file="$STATE/run/munge/pid" --log-file="$STATE/munge/log" --seed-file="$STATE/munge/seed"
	until_ok 10 test -s "$STATE/run/munge/pid"
	ln -sf munge/pid "$STATE/run/munged.pid"
}

start_mariadbd() {
	chown -R mysql: "$STATE/mariadb"
	[ -d "$STATE/mariadb/data/mysql" ] || mariadb-install-db --no-defaults --user=mysql --skip-test-db \
		--datadir="$STATE/mariadb/data" >"$STATE/log/mariadbd.log" 2>&1
	setsid mariadbd --no-defaults --user=mysql --datadir="$STATE/mariadb/data" \
		--socket="$STATE/mariadb/socket" --pid-file="$STATE/mariadb/pid" \
		--bind-address=127.0.0.1 --port=$SQL_PORT \
		--innodb-buffer-pool-size=64M --innodb-log-file-size=16M --innodb-lock-wait-timeout=900 \
		--innodb-flush-log-at-trx-commit=0 --performance-schema=OFF \
		>>"$STATE/log/mariadbd.log" 2>&1 </dev/null &
	until_ok 30 sql 'select 1' || die "MariaDB does not answer (see $STATE/log/mariadbd.log)"
	ln -sf ../mariadb/pid "$STATE/run/mariadbd.pid"
	sql "create database if not exists slurm_acct_db;
		create user if not exists slurm@'127.0.0.1' identified by 'slurm';
		create user if not exists slurm@localhost identified by 'slurm';
		grant all on slurm_acct_db.* to slurm@'127.0.0.1';
		grant all on slurm_acct_db.* to slurm@localhost"
}

sql() { mariadb --no-defaults --socket="$STATE/mariadb/socket" -u root -e "$1"; }

start_node() {
	mkdir -p "$STATE/spool/$1"
	slurmd -N "$1" 2>>"$STATE/log/$1.log"
}

# hide FOLDER NODE...: makes the folder empty for jobs of the nodes, as if a file
# system were not mounted there. The nodes must have been stopped.
hide() {
	local folder=$1 node; shift
	for node in "$@"; do
		rm -f "$STATE/run/$node.pid"
		unshare --mount --propagation private sh -c 'mount -t tmpfs none "$1" && exec slurmd -N "$2"' - "$folder" "$node" \
			2>>"$STATE/log/$node.log" 9>&-
		until_ok 20 alive "$node" || die "$node does not start (see $STATE/log/$node.log)"
	done
}

# end SIGNAL PART...: stops parts and waits for their end.
end() {
	local signal=$1 part pid; shift
	for part in "$@"; do
		alive "$part" || continue
		pid=$(cat "$STATE/run/$part.pid")
		kill "-$signal" "$pid"
		until_ok 15 gone "$pid" || { kill -KILL "$pid"; until_ok 5 gone "$pid"; } || die "$part ($pid) does not end"
	done
}

gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"; }

## Accounting ##################################################################

account() { sacctmgr -i "$@" >>"$STATE/log/sacctmgr.log" 2>&1 || true; }

# make_accounts runs in each up; it does not change what exists.
# research has no limits, limited may submit four jobs and run two of them.
make_accounts() {
	account add cluster torctest
	account add qos small set MaxSubmitJobsPerUser=4 MaxJobsPerUser=2 MaxWall=00:30:00 Flags=DenyOnLimit
	account add account research Description=research Organization=torctest
	account add account limited Description=limited Organization=torctest QOS=small DefaultQOS=small
	local user
	for user in root $TESTUSER; do
		account add user $user DefaultAccount=research
		account add user $user Account=limited
	done
	account modify user root set AdminLevel=Administrator
	touch "$STATE/accounts"
}

## Commands ####################################################################

up() {
	make_folders
	need_packages
	make_user
	write_config
	[ -d /etc/slurm ] || mkdir /etc/slurm
	ln -sfn "$SLURM_CONF" "$LINK"
	if ((CHANGED)); then end TERM $(seq -f n%g $NODES) slurmctld slurmdbd; fi
	start munged
	start mariadbd
	start slurmdbd
	until_ok 30 sacctmgr -n list cluster || die "slurmdbd does not answer (see $STATE/log/slurmdbd.log)"
	[ -e "$STATE/accounts" ] || make_accounts
	start slurmctld
	until_ok 20 scontrol ping || die "slurmctld does not answer (see $STATE/log/slurmctld.log)"
	local node
	for node in $(seq -f n%g $NODES); do start "$node"; done
	until_ok 30 all_usable || { sinfo -N >&2; die "some nodes do not become usable (see $STATE/log)"; }
	say "up: $(sinfo -V), 4 nodes of 4 CPUs and 4000 MB, cgroup $(cgroups), state in $STATE"
}

# all_usable resumes nodes that a fault has left down.
all_usable() {
	local bad
	bad=$(sinfo -h -N -o '%N %t' | awk '$2 !~ /^(idle|mix|alloc|comp)$/ {print $1}' | sort -u | paste -sd,)
	[ -n "$bad" ] || return 0
	scontrol update nodename="$bad" state=resume 2>/dev/null || true
	return 1
}

down() {
	if [ -d "$STATE/run" ]; then
		if alive slurmctld && timeout 5 squeue -h -o %A | sort -u | xargs -r timeout 5 scancel 2>/dev/null; then
			until_ok 10 no_jobs || true
		fi
		end TERM $(seq -f n%g $NODES) slurmctld slurmdbd mariadbd munged
	fi
	remove_cgroups
	[ "$(readlink "$LINK" 2>/dev/null)" != "$SLURM_CONF" ] || rm -f "$LINK"
	say "down"
}

no_jobs() { [ -z "$(squeue -h)" ]; }

# remove_cgroups ends the processes that slurmd has left in its cgroups.
remove_cgroups() {
	local top
	for top in /sys/fs/cgroup/slurm_n[1-$NODES]* /sys/fs/cgroup/*/slurm_n[1-$NODES]* \
		/sys/fs/cgroup/system.slice/n[1-$NODES]_slurm*; do
		[ -d "$top" ] || continue
		find "$top" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u | xargs -r kill -KILL 2>/dev/null || true
		until_ok 5 remove_tree "$top" || say "could not remove the cgroup $top"
	done
}

remove_tree() {
	find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$1" ]
}

purge() {
	down
	if [ "$(getent passwd $TESTUSER | cut -d: -f6)" = "$STATE/home/$TESTUSER" ]; then userdel $TESTUSER; fi
	rm -rf "$STATE"
	say "removed $STATE; the packages stay ($PACKAGES)"
}

status() {
	local part bad=
	for part in $PARTS; do alive "$part" || bad="$bad $part"; done
	[ -z "$bad" ] || die "not running:$bad"
	scontrol ping >/dev/null || die "slurmctld does not answer"
}

# close_inherited closes the caller's open files, above all its locks, for the
# daemons.
close_inherited() {
	local path fd
	for path in /proc/$$/fd/*; do
		fd=${path##*/}
		if ((fd > 2 && fd < 255)); then eval "exec $fd>&-"; fi
	done
}

main() {
	local command=${1:-}
	[ $# = 0 ] || shift
	exec </dev/null
	close_inherited
	case $command in
	up | down | purge | start | stop | kill | hide)
		need_root
		need_no_other
		mkdir -p "$STATE"
		exec 9>"$STATE/lock"
		flock 9
		;;
	esac
	local part
	case $command in
	up | down | purge | status) "$command" ;;
	state) echo "$STATE" ;;
	start) for part in "$@"; do start "$part"; done ;;
	stop) end TERM "$@" ;;
	kill) end KILL "$@" ;;
	hide) hide "$@" ;;
	*)
		sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]:-/dev/null}" >&2
		exit 2
		;;
	esac
}

main "$@"; exit # on one line: the script may come from a pipe
