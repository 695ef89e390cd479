package workflow

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// NotifyPolicy says which alerts lead to messages, and where these go. The configuration
// of the daemon has the defaults.
type NotifyPolicy struct {
	// On names the kinds of alerts: timeout, deadline, circuit_breaker, max_failures and decision by
	// default; run_failed, run_completed, first_failure and job_held are possible too, or none.
	On []AlertKind `json:"on,omitempty" jsonschema:"enum=timeout,enum=deadline,enum=circuit_breaker,enum=max_failures,enum=decision,enum=run_failed,enum=run_completed,enum=first_failure,enum=job_held,enum=none"`
	// Mail is a mail address, or several separated by commas.
	Mail string `json:"mail,omitempty"`
	// Webhook is the URL, http or https, to which a JSON object is posted. With slack+ in front
	// (slack+https://…, for Slack and Mattermost) the object is one that these show; with ntfy+ the
	// text is posted with a title.
	Webhook string `json:"webhook,omitempty"`
}

// AlertNone means no kind of alert.
const AlertNone AlertKind = "none"

// NotifyChannel is how a message is sent.
type NotifyChannel string

// The channels.
const (
	NotifyMail    NotifyChannel = "mail"
	NotifyWebhook NotifyChannel = "webhook"
)

// Target is where messages go.
type Target struct {
	Channel NotifyChannel
	Address string
}

// WithDefaults returns the policy, completed from another one; both may be nil. If the
// policy has an address, no address of the other one is used.
func (p *NotifyPolicy) WithDefaults(defaults *NotifyPolicy) *NotifyPolicy {
	switch {
	case p == nil:
		return defaults
	case defaults == nil:
		return p
	}
	merged := *p
	if len(merged.On) == 0 {
		merged.On = defaults.On
	}
	if merged.Mail == "" && merged.Webhook == "" {
		merged.Mail, merged.Webhook = defaults.Mail, defaults.Webhook
	}
	return &merged
}

// Targets returns where messages about an alert of a kind go; nil if nowhere. An alert of
// the kind test goes to all addresses.
func (p *NotifyPolicy) Targets(k AlertKind) []Target {
	if p == nil || !p.wants(k) {
		return nil
	}
	var all []Target
	if p.Mail != "" {
		all = append(all, Target{NotifyMail, p.Mail})
	}
	if p.Webhook != "" {
		all = append(all, Target{NotifyWebhook, p.Webhook})
	}
	return all
}

func (p *NotifyPolicy) wants(k AlertKind) bool {
	on := p.On
	if len(on) == 0 {
		on = defaultAlerts
	}
	return k == AlertTest || slices.Contains(on, k)
}

// mailAddress matches a mail address, or a user of this host. A program that sends mail
// cannot mistake it for an option, a file or a command.
var mailAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._%=+-]*(@[A-Za-z0-9][A-Za-z0-9.-]*)?$`)

// MailAddresses returns the addresses of a list that is separated by commas.
func MailAddresses(list string) []string {
	var all []string
	for a := range strings.SplitSeq(list, ",") {
		all = append(all, strings.TrimSpace(a))
	}
	return all
}

// Validate returns all problems of the policy.
func (p *NotifyPolicy) Validate() []Problem {
	var found problems
	found.notify("", p)
	return found
}

// notify checks a policy for messages.
func (p *problems) notify(at string, n *NotifyPolicy) {
	if n == nil {
		return
	}
	for i, k := range n.On {
		where := fmt.Sprintf("%s.on[%d]", at, i)
		switch {
		case k == AlertNone && len(n.On) > 1:
			p.add(where, "write on: [none], or remove none", "none cannot be combined with other kinds")
		case k != AlertNone && !slices.Contains(AlertKinds(), k):
			p.add(where, "use "+alertKindList()+" or none", "unknown kind of alert %q", string(k))
		case slices.Contains(n.On[:i], k):
			p.add(where, "remove one of them", "duplicate %s", k)
		}
	}
	if n.Mail != "" {
		for _, a := range MailAddresses(n.Mail) {
			if !mailAddress.MatchString(a) {
				p.add(at+".mail", "write user@example.org, several separated by commas", "invalid mail address %q", a)
			}
		}
	}
	if n.Webhook != "" {
		_, address := Target{NotifyWebhook, n.Webhook}.Form()
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			p.add(at+".webhook", "write https://host/path, slack+https://host/path or ntfy+https://host/topic", "invalid URL of a webhook")
		}
	}
	if n.On != nil && len(n.On) == 0 {
		p.add(at+".on", "write on: [none] for no alerts, or remove it for the default ones", "an empty list")
	}
	if n.On == nil && n.Mail == "" && n.Webhook == "" {
		p.add(at, "write mail, webhook or on", "it is empty")
	}
}

func alertKindList() string {
	var names []string
	for _, k := range AlertKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// WebhookForm is what is posted to a webhook.
type WebhookForm string

// The forms.
const (
	FormJSON  WebhookForm = "json"  // a Message
	FormSlack WebhookForm = "slack" // an object with a text, for Slack and Mattermost
	FormNtfy  WebhookForm = "ntfy"  // the text, with a title
)

// Form returns what is posted to a webhook, and its URL.
func (t Target) Form() (form WebhookForm, address string) {
	for _, form := range [...]WebhookForm{FormSlack, FormNtfy} {
		if address, ok := strings.CutPrefix(t.Address, string(form)+"+"); ok {
			return form, address
		}
	}
	return FormJSON, t.Address
}

// Redacted returns the address without secret parts: a URL without its user, path and
// query.
func (t Target) Redacted() string {
	if t.Channel != NotifyWebhook {
		return t.Address
	}
	form, address := t.Form()
	u, err := url.Parse(address)
	if err != nil {
		return "a webhook"
	}
	shown := u.Scheme + "://" + u.Host
	if form != FormJSON {
		shown = string(form) + "+" + shown
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		shown += "/…"
	}
	return shown
}
