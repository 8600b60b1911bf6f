package process

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"dialler/engine/anchor"
	"dialler/engine/spine"
	"dialler/engine/webhook"
	"dialler/http"
	"dialler/persistence"
	"dialler/process/witness"
)

// seals is where witnesses meet the seals of the history. Of several nodes the one that sealed last
// shows its seal.
func (p *Process) seals() witness.Port {
	if p.tuning.seals.Latest != nil {
		return p.tuning.seals
	}
	return witness.Port{
		Latest: func(ctx context.Context) (anchor.Seal, bool, error) {
			e, ok, err := p.store.Spine.LastSeal(ctx)
			if err != nil || !ok {
				return anchor.Seal{}, false, err
			}
			var made spine.Seal
			err = json.Unmarshal(e.Data, &made)
			return anchor.Seal{N: e.N, Hash: anchor.Hash(e.Hash()), At: e.At}, made.Process == p.sealing.life, err
		},
		Keep: p.keep,
	}
}

// sealHash looks a seal up.
func sealHash(ctx context.Context, s *persistence.Store) func(n int64) (anchor.Hash, bool, error) {
	return func(n int64) (anchor.Hash, bool, error) {
		e, ok, err := s.Spine.At(ctx, n)
		return anchor.Hash(e.Hash()), ok, err
	}
}

// openAnchors opens the witnesses of --anchor.
func (p *Process) openAnchors() error {
	if len(p.flags.Anchor) == 0 {
		return nil
	}
	key, err := p.signingKey()
	if err != nil {
		return err
	}
	list, err := p.flags.witnesses(key.Public().Fingerprint(), p.clock.Now)
	if err != nil {
		return err
	}
	p.anchorer = witness.New(p.seals(), list, p.clock.Now, p.log)
	return nil
}

// witnesses reads the addresses of --anchor.
func (f *Flags) witnesses(installation string, now func() time.Time) (list []witness.Witness, err error) {
	c := witness.Config{Installation: installation, SMTP: f.AnchorSMTP, Password: f.AnchorSMTPPassword,
		Store: witness.Keys{ID: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY"),
			Session: os.Getenv("AWS_SESSION_TOKEN")},
		AllowPrivate: f.AnchorAllowPrivate, Now: now}
	if f.AnchorSecret != "" {
		if c.Secret, err = webhook.ReadSecret(f.AnchorSecret); err != nil {
			return nil, fmt.Errorf("--anchor-secret, or DIALLER_ANCHOR_SECRET, %w", err)
		}
	}
	if c.Roots, err = AnchorRoots(f.AnchorRoots); err != nil {
		return nil, err
	}
	for i, address := range f.Anchor {
		w, err := witness.Open(address, c)
		if err != nil {
			if u, bad := url.Parse(address); bad == nil {
				address = u.Scheme // the rest may hold a secret
			}
			return nil, fmt.Errorf("--anchor, number %d (%s): %w", i+1, address, err)
		}
		list = append(list, w)
	}
	return list, nil
}

// AnchorRoots reads the certificates that time-stamp authorities are trusted by, from a file in PEM; nil
// without a file.
func AnchorRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("--anchor-roots: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--anchor-roots: %s has no certificate in PEM", file)
	}
	return pool, nil
}

// keep stores a receipt. A time stamp that is signed with another certificate than the one before is
// said: without --anchor-roots nothing else tells whether it is the authority's.
func (p *Process) keep(ctx context.Context, r anchor.Receipt) error {
	if r.Kind == anchor.TimeStamp {
		before, ok, err := p.store.Spine.LastReceipt(ctx, r.URL)
		if err != nil {
			return err
		}
		if was, is := anchor.SignerOf(&before), anchor.SignerOf(&r); ok && was != is {
			p.log.Warn().Str("anchor", r.URL).Str("before", was.String()).Str("now", is.String()).
				Msg("the time-stamp authority signs with another certificate than before (SHA-256)")
		}
	}
	_, err := p.store.Spine.Append(ctx, p.store.Spine.Signer(), spine.KindAnchor, r)
	return err
}

// anchorCheck tells of a witness that gives no receipts; calls do not depend on it.
func (p *Process) anchorCheck() http.Check {
	c := http.Check{Name: "anchors", OK: true}
	if address, since, why := p.anchorer.Failing(); address != "" {
		since = since.UTC()
		c.Since, c.Detail = &since, "the witness "+address+" gives no receipts: "+why
	}
	return c
}

// AuditAnchors prints which receipts name a seal that is gone or has another hash now, and up to which seal
// they hold. The spine must have been audited: a receipt holds for what the seal's hash covers, all that
// came before.
func AuditAnchors(ctx context.Context, s *persistence.Store, in io.Reader, roots *x509.CertPool, out io.Writer,
	asJSON bool) error {
	return auditAnchors(sealHash(ctx, s), in, roots, out, asJSON)
}

func auditAnchors(lookup func(n int64) (anchor.Hash, bool, error), in io.Reader, roots *x509.CertPool, out io.Writer,
	asJSON bool) error {
	count, wrong := 0, []string{}
	signers, notes := map[string]anchor.Hash{}, []string{}
	var holds *anchor.Receipt // of the newest seal
	var unread error
	known := func(n int64) (anchor.Hash, bool) {
		h, ok, err := lookup(n)
		unread = errors.Join(unread, err)
		return h, ok
	}
	err := anchor.Read(in, func(r anchor.Receipt) {
		count++
		what := anchor.Compare([]anchor.Receipt{r}, roots, known)
		if is := anchor.SignerOf(&r); is != (anchor.Hash{}) && roots == nil {
			if was := signers[r.URL]; was != is {
				notes = append(notes, fmt.Sprintf("the time stamps of %s from %s on are signed with the certificate %s (SHA-256): "+
					"with --anchor-roots it is checked whose that is", r.URL, r.At.UTC().Format(time.RFC3339), is))
			}
			signers[r.URL] = is
		}
		if wrong = append(wrong, what...); len(what) == 0 && (holds == nil || r.N > holds.N) {
			holds = &r
		}
	})
	switch {
	case err != nil:
		return err
	case unread != nil:
		return unread
	case count == 0:
		return errors.New("--anchors: the file has no receipt")
	}
	if asJSON {
		type held struct {
			N  int64     `json:"n"`
			At time.Time `json:"at"`
		}
		var to *held
		if holds != nil {
			to = &held{holds.N, holds.At.UTC()}
		}
		_ = json.NewEncoder(out).Encode(map[string]any{"anchors": map[string]any{"receipts": count, "findings": wrong,
			"holds": to, "notes": notes}})
	} else {
		for _, n := range notes {
			_, _ = fmt.Fprintln(out, n)
		}
		for _, w := range wrong {
			_, _ = fmt.Fprintf(out, "DIFFERS: %s\n", w)
		}
		_, _ = fmt.Fprintf(out, "%d receipts compared; %s\n", count, upTo(holds, len(wrong) > 0))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of %d receipts do not match the seals", len(wrong), count)
	}
	return nil
}

// upTo says for how much of the history receipts vouch.
func upTo(holds *anchor.Receipt, broken bool) string {
	if holds == nil {
		return "none of them vouches for anything"
	}
	seal := fmt.Sprintf("seal %d, of which the receipt is of %s", holds.N, holds.At.UTC().Format(time.RFC3339))
	if broken {
		return "the history is as it was then up to " + seal + ", and was changed after it"
	}
	return "the newest is of " + seal + ": no receipt vouches for what came later"
}
