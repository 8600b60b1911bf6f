package witness

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/smtp"
	"net/url"
	"time"

	"dialler/engine/anchor"
	"dialler/http/egress"
)

// letter is a mailbox; the message is the receipt.
type letter struct {
	to, from string
	host     string // and port
	user     string
	cfg      Config
}

func openMail(u *url.URL, c Config) (Witness, error) {
	to, err := mail.ParseAddress(u.Opaque)
	if err != nil {
		return nil, errors.New("a mailbox as witness is mailto:name@example.org")
	}
	s, err := url.Parse(c.SMTP)
	if err != nil || s.Scheme != "smtp" || s.Host == "" {
		return nil, errors.New("a mailbox as witness needs --anchor-smtp smtp://user@host:port")
	}
	l := &letter{to: to.Address, from: "dialler@" + s.Hostname(), host: s.Host, user: s.User.Username(), cfg: c}
	if from, err := mail.ParseAddress(l.user); err == nil {
		l.from = from.Address
	}
	if s.Port() == "" {
		l.host = net.JoinHostPort(s.Hostname(), "587")
	}
	if l.user != "" && c.Password == "" {
		return nil, errors.New("--anchor-smtp names a user: give its password in DIALLER_ANCHOR_SMTP_PASSWORD")
	}
	return l, nil
}

// Kind implements Witness.
func (*letter) Kind() anchor.Kind { return anchor.Mail }

// URL implements Witness.
func (l *letter) URL() string { return "mailto:" + l.to }

// Show implements Witness.
func (l *letter) Show(ctx context.Context, s anchor.Seal) ([]byte, error) {
	host, _, err := net.SplitHostPort(l.host)
	if err != nil {
		return nil, err
	}
	conn, err := egress.Dialer(l.cfg.AllowPrivate).DialContext(ctx, "tcp", l.host)
	if err != nil {
		return nil, errors.New(egress.Problem(err))
	}
	defer func() { _ = conn.Close() }()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return nil, err
		}
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return nil, err
	}
	switch ok, _ := c.Extension("STARTTLS"); {
	case ok:
		err = c.StartTLS(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	case !l.cfg.AllowPrivate:
		err = errors.New("the mail server offers no TLS")
	}
	if err == nil && l.user != "" {
		err = c.Auth(smtp.PlainAuth("", l.user, l.cfg.Password, host))
	}
	if err != nil {
		return nil, err
	}
	text := l.text(s)
	if err := errors.Join(c.Mail(l.from), c.Rcpt(l.to)); err != nil {
		return nil, err
	}
	w, err := c.Data()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil { // the server's word that it has the message
		return nil, err
	}
	_ = c.Quit()
	return text, nil
}

func (l *letter) text(s anchor.Seal) []byte {
	var b bytes.Buffer
	_, host, _ := bytes.Cut([]byte(l.from), []byte("@"))
	for _, line := range []string{"From: " + l.from, "To: " + l.to,
		fmt.Sprintf("Subject: seal %d %s", s.N, s.Hash.String()[:16]),
		"Date: " + l.cfg.Now().Format(time.RFC1123Z), fmt.Sprintf("Message-ID: <seal-%d-%s@%s>", s.N,
			s.Hash.String()[:16], host),
		"MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "",
		"The newest seal of a dialler's history. Keep this message:",
		"dialler db audit --anchors compares it with what the database says later.", "",
		string(anchor.Statement(s, l.cfg.Installation)),
	} {
		b.WriteString(line + "\r\n")
	}
	return b.Bytes()
}
