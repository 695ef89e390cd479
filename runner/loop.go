package runner

import (
	"context"
	"fmt"
	"time"
)

// loop owns the runner's state. It returns when the runner is done, with the error that
// ended it, if any.
func (r *Runner) loop(ctx context.Context) error {
	requests, abort := context.WithCancel(context.Background())
	defer func() {
		abort()
		r.requests.Wait()
	}()
	r.active = time.Now()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	done := ctx.Done()
	var spare []any
	for {
		messages := r.box.take(spare)
		for i, m := range messages {
			r.handle(m)
			messages[i] = nil
		}
		spare = messages
		now := time.Now()
		r.leaving.checkTime(now)
		r.work.signalSteps()
		r.slurmReasons.poll(requests, now)
		r.accounts.poll(requests, now)
		r.pause.probe(requests, now)
		r.queue.startDue(now)
		r.repairs.startRepairs()
		r.actions.startDue(requests, now)
		if over, err := r.done(requests, now); over {
			return err
		}
		r.turns.sendDue(requests, now)
		timer.Reset(r.untilNext(now))
		select {
		case <-r.box.ready:
		case <-timer.C:
		case <-r.abandoned:
			return errAbandoned
		case kind := <-r.stopping:
			r.leaving.stop(kind)
		case <-done:
			done = nil
			r.leaving.stop(StopCancel)
		}
	}
}

// handle processes one message.
func (r *Runner) handle(message any) {
	switch m := message.(type) {
	case startedMsg:
		r.work.onStarted(m)
	case outputLostMsg:
		r.restore.onOutputLost(m)
	case exitedMsg:
		r.work.onExited(m.attempt, m.exit)
	case goneMsg:
		r.work.onGone(m.attempt, m.left)
	case finishedMsg:
		r.work.onFinished(m)
	case overdueMsg:
		r.work.onOverdue(m.attempt)
	case overLimitMsg:
		r.work.onOverLimit(m)
	case answerMsg:
		r.turns.onAnswer(m)
	case registeredMsg:
		r.turns.onRegisteredAgain(m)
	case stepOverdueMsg:
		r.work.onStepOverdue(m.attempt)
	case slurmReasonsMsg:
		r.slurmReasons.onAnswer(m)
	case probedMsg:
		r.pause.onProbed(m)
	case accountedMsg:
		r.accounts.onAccounted(m)
	case actionsDoneMsg:
		r.actions.onDone(m)
	case Event:
		r.emit(m)
	default:
		panic(fmt.Sprintf("runner: unknown message %T", message))
	}
}
