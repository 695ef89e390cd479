package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// NotifyOptions configure how messages about alerts are sent. Zero values have defaults.
type NotifyOptions struct {
	// Default is who is notified about workflows without a setting of their own.
	Default *workflow.NotifyPolicy
	// MailCommand sends mail: {subject} and {address} are replaced in its arguments, and
	// the text is its standard input. An argument that is {address} stands for one
	// argument per address. DefaultMailCommand if empty.
	MailCommand []string
	// Interval is the least time between two messages about one workflow to an address.
	Interval time.Duration
}

// DefaultMailCommand sends mail if NotifyOptions has no other command.
var DefaultMailCommand = []string{"mail", "-s", "{subject}", "{address}"}

// Times of the notifier.
const (
	sendTime  = 30 * time.Second // for one try
	partTime  = 5 * time.Second  // for the last round before the daemon ends
	maxDetail = 300              // bytes of what a program or server reports about a failure
)

// notifier sends messages about alerts. Its goroutine owns its fields.
type notifier struct {
	store *store.Store
	o     NotifyOptions
	log   *slog.Logger
	now   func() time.Time
	woken <-chan struct{} // there are messages to send
	http  *retryablehttp.Client
}

func newNotifier(st *store.Store, o NotifyOptions, woken <-chan struct{}, log *slog.Logger, now func() time.Time) *notifier {
	if len(o.MailCommand) == 0 {
		o.MailCommand = DefaultMailCommand
	}
	if o.Interval <= 0 {
		o.Interval = workflow.MessageInterval
	}
	c := retryablehttp.NewClient()
	c.Logger, c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = nil, 2, time.Second, 5*time.Second // its log would show URLs
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &notifier{store: st, o: o, log: log, now: now, woken: woken, http: c}
}

// Run sends messages until ctx ends, and then briefly those that are due. What is not
// sent by then is sent by the next daemon.
func (n *notifier) Run(ctx context.Context) {
	defer n.http.HTTPClient.CloseIdleConnections()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), partTime)
			defer cancel()
			n.sendDue(last)
			return
		case <-n.woken:
		case <-timer.C:
		}
		timer.Reset(n.sendDue(ctx))
	}
}

// sendDue sends the messages that are due, and returns how long to wait for the next
// ones.
func (n *notifier) sendDue(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		m, next, err := n.store.Alerts.TakeMessage(ctx, n.o.Interval)
		switch {
		case err != nil && ctx.Err() != nil:
			return noDelay
		case err != nil:
			n.log.Error("cannot list messages about alerts", "error", err)
			return time.Minute
		case m == nil && next == 0:
			return noDelay
		case m == nil:
			return max(time.Second, time.Duration(next-n.now().UnixMilli())*time.Millisecond)
		}
		if err := n.deliver(ctx, m); err != nil {
			n.log.Error("cannot record the result of a message", "message", m.ID, "error", err)
			return time.Minute
		}
	}
	return noDelay
}

// deliver tries to send a message and records the result.
func (n *notifier) deliver(ctx context.Context, m *store.Outgoing) error {
	bounded, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	err := n.send(bounded, m)
	switch {
	case err == nil:
		return n.store.Alerts.MessageSent(ctx, m.Batch)
	case ctx.Err() != nil:
		return n.store.Alerts.MessageInterrupted(context.WithoutCancel(ctx), m.Batch)
	}
	n.log.Warn("a message about alerts could not be delivered", "message", m.ID, "workflow_id", m.WorkflowID, "way", m.Target.Channel,
		"address", m.Target.Redacted(), "try", m.Try, "error", err)
	return n.store.Alerts.MessageFailed(ctx, m.Batch, err.Error())
}

func (n *notifier) send(ctx context.Context, m *store.Outgoing) error {
	if m.Target.Channel == workflow.NotifyMail {
		return n.mail(ctx, m)
	}
	return n.post(ctx, m)
}

// mail runs the command that sends mail, in a process group of its own. It stays in our
// session: a runner in this process considers dead children in other sessions to be
// leftovers of a job.
func (n *notifier) mail(ctx context.Context, m *store.Outgoing) error {
	var args []string
	for _, a := range n.o.MailCommand {
		if a == "{address}" {
			args = append(args, workflow.MailAddresses(m.Target.Address)...)
			continue
		}
		args = append(args, strings.NewReplacer("{subject}", m.Subject, "{address}", m.Target.Address).Replace(a))
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(m.Text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], err, detail(out))
	}
	return nil
}

// post sends a message to a webhook. Errors do not contain the URL.
func (n *notifier) post(ctx context.Context, m *store.Outgoing) error {
	form, address := m.Target.Form()
	body, header, err := posted(form, &m.Message)
	if err != nil {
		return fmt.Errorf("write message %s: %w", m.ID, err)
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return errors.New("its URL cannot be used")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Idempotency-Key", m.ID)
	resp, err := n.http.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		return errors.New(strings.ReplaceAll(err.Error(), address, m.Target.Redacted()))
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return nil
	}
	said := make([]byte, maxDetail)
	read, _ := resp.Body.Read(said) // an empty text is fine, it is only for people
	return fmt.Errorf("it answered %s: %s", resp.Status, detail(said[:read]))
}

// posted returns the body and the header of a request with a message.
func posted(form workflow.WebhookForm, m *workflow.Message) (body []byte, header map[string]string, err error) {
	switch form {
	case workflow.FormSlack:
		// A user's text must not become a mention or a link.
		text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace("*" + m.Subject + "*\n" + m.Text)
		body, err = json.Marshal(struct {
			Text string `json:"text"`
		}{text})
		return body, map[string]string{"Content-Type": "application/json"}, err
	case workflow.FormNtfy:
		return []byte(m.Text), map[string]string{"Content-Type": "text/plain; charset=utf-8", "Title": mime.BEncoding.Encode("utf-8", m.Subject)}, nil
	}
	body, err = json.Marshal(m)
	return body, map[string]string{"Content-Type": "application/json"}, err
}

// detail returns the output of a program or server, in one line.
func detail(said []byte) string {
	said = bytes.TrimSpace(said)
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(said[:min(len(said), maxDetail)]), "?")), " ")
}
