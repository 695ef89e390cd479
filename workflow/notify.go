package workflow

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// NotifyPolicy says who is told of which alerts. What a workflow leaves out, the
// configuration of the daemon says.
type NotifyPolicy struct {
	// On names the kinds of alerts: timeout, deadline, circuit_breaker and
	// max_failures by default; run_failed and job_held as well, or none.
	On []AlertKind `json:"on,omitempty" jsonschema:"enum=timeout,enum=deadline,enum=circuit_breaker,enum=max_failures,enum=run_failed,enum=job_held,enum=none"`
	// Mail is who gets mail: an address, or several that are separated by commas.
	Mail string `json:"mail,omitempty"`
	// Webhook is the URL, http or https, to which a JSON object is posted.
	Webhook string `json:"webhook,omitempty"`
}

// AlertNone stands for no kind of alert at all.
const AlertNone AlertKind = "none"

// NotifyWay is how somebody is told.
type NotifyWay string

// The ways.
const (
	NotifyMail    NotifyWay = "mail"
	NotifyWebhook NotifyWay = "webhook"
)

// Target is where messages go.
type Target struct {
	Way     NotifyWay
	Address string
}

// Or is the policy with what it leaves out taken from another one. Who names an
// address means only that one.
func (p *NotifyPolicy) Or(other *NotifyPolicy) *NotifyPolicy {
	switch {
	case p == nil:
		return other
	case other == nil:
		return p
	}
	merged := *p
	if len(merged.On) == 0 {
		merged.On = other.On
	}
	if merged.Mail == "" && merged.Webhook == "" {
		merged.Mail, merged.Webhook = other.Mail, other.Webhook
	}
	return &merged
}

// Targets are who is told of an alert of a kind. A test goes to everybody.
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

// mailAddress is an address, or a user of this host. It cannot be taken for an
// option, a file or a program by what sends mail.
var mailAddress = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._%=+-]*(@[A-Za-z0-9][A-Za-z0-9.-]*)?$`)

// MailAddresses are the addresses of a list with commas.
func MailAddresses(list string) []string {
	var all []string
	for a := range strings.SplitSeq(list, ",") {
		all = append(all, strings.TrimSpace(a))
	}
	return all
}

// Validate returns everything that is wrong with it.
func (p *NotifyPolicy) Validate() []Problem {
	var found problems
	found.notify("", p)
	return found
}

// notify checks such a policy.
func (p *problems) notify(at string, n *NotifyPolicy) {
	if n == nil {
		return
	}
	for i, k := range n.On {
		where := fmt.Sprintf("%s.on[%d]", at, i)
		switch {
		case k == AlertNone && len(n.On) > 1:
			p.add(where, "write on: [none], or leave it out", "none goes with no other kind")
		case k != AlertNone && !slices.Contains(AlertKinds(), k):
			p.add(where, "use "+alertKindList()+" or none", "there is no kind of alert %q", string(k))
		case slices.Contains(n.On[:i], k):
			p.add(where, "remove one of them", "%s is already there", k)
		}
	}
	if n.Mail != "" {
		for _, a := range MailAddresses(n.Mail) {
			if !mailAddress.MatchString(a) {
				p.add(at+".mail", "write user@example.org, several separated by commas", "%q is not an address for mail", a)
			}
		}
	}
	if n.Webhook != "" {
		u, err := url.Parse(n.Webhook)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			p.add(at+".webhook", "write https://host/path", "that is not a URL to which something can be posted")
		}
	}
	if n.On != nil && len(n.On) == 0 {
		p.add(at+".on", "write on: [none] for no alert at all, or leave it out for the usual ones", "an empty list names no kind")
	}
	if n.On == nil && n.Mail == "" && n.Webhook == "" {
		p.add(at, "give mail, webhook or on", "it says nothing")
	}
}

func alertKindList() string {
	var names []string
	for _, k := range AlertKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// Shown is the address without what is secret in it: of a URL the path, the
// query and the user are left out.
func (t Target) Shown() string {
	if t.Way != NotifyWebhook {
		return t.Address
	}
	u, err := url.Parse(t.Address)
	if err != nil {
		return "a webhook"
	}
	shown := u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		shown += "/…"
	}
	return shown
}
