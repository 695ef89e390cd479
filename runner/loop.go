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
		r.leaving.checkTime(now)
		r.work.signalSteps()
		r.words.ask(requests, now)
		r.accounts.poll(requests, now)
		r.pause.probe(requests, now)
		r.queue.startDue(now)
		r.repairs.startRepairs()
		r.actions.step(requests, now)
		if over, err := r.over(requests, now); over {
			return err
		}
		r.turns.take(requests, now)
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

// handle takes in one message.
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
		r.turns.onGreeted(m)
	case hurryMsg:
		r.work.onHurry(m.attempt)
	case slurmWordsMsg:
		r.words.told(m)
	case probedMsg:
		r.pause.probed(m)
	case accountedMsg:
		r.accounts.accounted(m)
	case actedMsg:
		r.actions.acted(m)
	case Event:
		r.emit(m)
	default:
		panic(fmt.Sprintf("runner: unknown message %T", message))
	}
}
