package runner

import (
	"context"
	"fmt"
	"time"
)

// loop owns the runner's state until there is nothing left to do.
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
		r.checkEnd(now)
		r.signalSteps()
		r.askSlurm(requests, now)
		r.accountSteps(requests, now)
		r.probeSlurm(requests, now)
		r.startQueued(now)
		r.startRepairs()
		r.stepActions(requests, now)
		if over, err := r.over(requests, now); over {
			return err
		}
		r.takeTurn(requests, now)
		timer.Reset(r.untilNext(now))
		select {
		case <-r.box.ready:
		case <-timer.C:
		case <-r.abandoned:
			return errAbandoned
		case kind := <-r.stopping:
			r.stop(kind)
		case <-done:
			done = nil
			r.stop(StopCancel)
		}
	}
}

// handle takes in one message.
func (r *Runner) handle(message any) {
	switch m := message.(type) {
	case startedMsg:
		r.onStarted(m)
	case outputLostMsg:
		r.onOutputLost(m)
	case exitedMsg:
		r.onExited(m.attempt, m.exit)
	case goneMsg:
		r.onGone(m.attempt, m.left)
	case finishedMsg:
		r.onFinished(m)
	case overdueMsg:
		r.onOverdue(m.attempt)
	case overLimitMsg:
		r.onOverLimit(m)
	case answerMsg:
		r.onAnswer(m)
	case greetedMsg:
		r.onGreeted(m)
	case hurryMsg:
		r.onHurry(m.attempt)
	case slurmWordsMsg:
		r.onSlurmWords(m)
	case probedMsg:
		r.onProbed(m)
	case accountedMsg:
		r.onAccounted(m)
	case actedMsg:
		r.onActed(m)
	case Event:
		r.emit(m)
	default:
		panic(fmt.Sprintf("runner: unknown message %T", message))
	}
}
