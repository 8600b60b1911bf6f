package witness

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	nethttp "net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dialler/engine/anchor"
	"dialler/engine/webhook"
	"dialler/http/egress"
)

// Config is what witnesses need beside their address.
type Config struct {
	// Installation is the fingerprint of the signing key.
	Installation string
	// Secret signs what webhooks get, as other webhooks' secrets do.
	Secret []byte
	// SMTP is smtp://user@host:port, of the server that sends mail; Password its user's.
	SMTP, Password string
	// Store are the keys of object stores.
	Store Keys
	// Roots vouch for time-stamp authorities; nil: whatever certificate comes with a time stamp.
	Roots *x509.CertPool
	// AllowPrivate also allows addresses of private networks, and webhooks without TLS.
	AllowPrivate bool
	Now          func() time.Time
}

// receiptCap bounds what is kept of an answer, in bytes; answerCap what is read of a time stamp.
const (
	receiptCap = 4 << 10
	answerCap  = 64 << 10
)

// Open makes the witness of an address.
func Open(address string, c Config) (Witness, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no address of a witness", address)
	}
	if u.User != nil {
		return nil, errors.New("the address of a witness contains no user and no password")
	}
	plain := c.AllowPrivate
	base := remote{kind: anchor.Webhook, address: u, cfg: c,
		client: egress.New(egress.Config{Timeout: tryTimeout, AllowPrivate: c.AllowPrivate})}
	switch u.Scheme {
	case "https", "http":
		if err := webhook.CheckURL(address, plain); err != nil {
			return nil, err
		}
		if len(c.Secret) == 0 {
			return nil, errors.New("a webhook as witness needs --anchor-secret, which signs what it is sent")
		}
		return &hook{base}, nil
	case "tsa+https", "tsa+http": // the answer is signed: TLS adds nothing to its truth
		base.kind = anchor.TimeStamp
		base.address.Scheme = strings.TrimPrefix(u.Scheme, "tsa+")
		return &authority{base}, nil
	case "s3+https", "s3+http":
		if u.Scheme == "s3+http" && !plain {
			return nil, errors.New("an object store is reached by s3+https")
		}
		return openStore(base)
	case "file":
		if !filepath.IsAbs(u.Path) || u.Host != "" {
			return nil, errors.New("the file of a witness is file:///absolute/path")
		}
		return &file{path: u.Path, cfg: c}, nil
	case "mailto":
		return openMail(u, c)
	}
	return nil, fmt.Errorf("%s is no kind of witness: https, file, mailto, s3+https or tsa+https", u.Scheme)
}

// remote is what witnesses by HTTP share.
type remote struct {
	kind    anchor.Kind
	address *url.URL
	cfg     Config
	client  *nethttp.Client
}

// Kind implements Witness.
func (r *remote) Kind() anchor.Kind { return r.kind }

// URL implements Witness: without the query, which may hold a secret.
func (r *remote) URL() string {
	u := *r.address
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

// answer is what is kept of an HTTP answer.
type answer struct {
	Date    string `json:"date,omitempty"`
	ETag    string `json:"etag,omitempty"`
	Version string `json:"version_id,omitempty"`
	Body    string `json:"body,omitempty"`
}

// do sends a request, and returns the first bytes of a good answer.
func (r *remote) do(req *nethttp.Request, limit int64) (*nethttp.Response, []byte, error) {
	req.Header.Set("User-Agent", "dialler")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, nil, errors.New(egress.Problem(err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	switch {
	case resp.StatusCode/100 != 2:
		return nil, nil, fmt.Errorf("it answered %d", resp.StatusCode)
	case err != nil:
		return nil, nil, errors.New(egress.Problem(err))
	}
	return resp, body, nil
}

func (r *remote) request(ctx context.Context, method, address string, body []byte, kind string) (*nethttp.Request,
	error) {
	req, err := nethttp.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its address cannot be requested")
	}
	req.Header.Set("Content-Type", kind)
	return req, nil
}

// hook is a webhook; its answer is the receipt.
type hook struct{ remote }

// Show implements Witness.
func (h *hook) Show(ctx context.Context, s anchor.Seal) ([]byte, error) {
	body := anchor.Statement(s, h.cfg.Installation)
	id := "seal_" + strconv.FormatInt(s.N, 10) + "_" + s.Hash.String()[:16] // the same for each try
	m := webhook.NewRequest(h.address.String(), id, body, h.cfg.Now(), h.cfg.Secret)
	req, err := h.request(ctx, nethttp.MethodPost, m.URL, m.Body, "application/json")
	if err != nil {
		return nil, err
	}
	req.Header.Set(webhook.HeaderID, m.ID)
	req.Header.Set(webhook.HeaderTimestamp, webhook.Timestamp(m.At))
	req.Header.Set(webhook.HeaderSignature, m.Signature)
	resp, got, err := h.do(req, receiptCap)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer{Date: resp.Header.Get("Date"), Body: string(got)})
}

// authority is an RFC 3161 time-stamp authority; its answer is the receipt.
type authority struct{ remote }

// Show implements Witness.
func (a *authority) Show(ctx context.Context, s anchor.Seal) ([]byte, error) {
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, err
	}
	query, err := anchor.Request(s.Hash, nonce)
	if err != nil {
		return nil, err
	}
	req, err := a.request(ctx, nethttp.MethodPost, a.address.String(), query, "application/timestamp-query")
	if err != nil {
		return nil, err
	}
	_, got, err := a.do(req, answerCap)
	if err == nil {
		_, err = anchor.Verify(got, s.Hash, nonce, a.cfg.Roots)
	}
	return got, err
}

// file is an append-only file, of receipts without data.
type file struct {
	path string
	cfg  Config
}

// Kind implements Witness.
func (*file) Kind() anchor.Kind { return anchor.File }

// URL implements Witness.
func (f *file) URL() string { return (&url.URL{Scheme: "file", Path: f.path}).String() }

// Show implements Witness.
func (f *file) Show(_ context.Context, s anchor.Seal) ([]byte, error) {
	line, err := json.Marshal(anchor.Receipt{Kind: anchor.File, URL: f.URL(), N: s.N, Hash: s.Hash,
		At: f.cfg.Now().UTC()})
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the operator's
	if err != nil {
		return nil, err
	}
	_, err = out.Write(append(line, '\n'))
	return nil, errors.Join(err, out.Sync(), out.Close())
}

// store is an object store with the interface of S3: an object for each seal, locked in compliance
// mode, which nobody can remove or replace before its time.
type store struct {
	remote
	region string
	days   int
}

// retainDays is for how long an object is locked unless the address says so: ten years.
const retainDays = 3650

func openStore(r remote) (Witness, error) {
	s := &store{remote: r, region: "us-east-1", days: retainDays}
	s.kind, s.address.Scheme = anchor.Object, strings.TrimPrefix(r.address.Scheme, "s3+")
	q := r.address.Query()
	if v := q.Get("region"); v != "" {
		s.region = v
	}
	if v := q.Get("days"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return nil, errors.New("days of an object store is a number of days")
		}
		s.days = n
	}
	if r.cfg.Store.ID == "" || r.cfg.Store.Secret == "" {
		return nil, errors.New("an object store needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
	}
	s.address.RawQuery = ""
	if strings.Trim(s.address.Path, "/") == "" {
		return nil, errors.New("an object store is s3+https://host/bucket/prefix")
	}
	return s, nil
}

// Show implements Witness.
func (s *store) Show(ctx context.Context, seal anchor.Seal) ([]byte, error) {
	body := anchor.Statement(seal, s.cfg.Installation)
	now := s.cfg.Now().UTC()
	to := s.address.JoinPath(fmt.Sprintf("%012d-%s.json", seal.N, seal.Hash))
	req, err := s.request(ctx, nethttp.MethodPut, to.String(), body, "application/json")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	h := req.Header
	h.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:])) // a lock requires a checksum
	h.Set("X-Amz-Object-Lock-Mode", "COMPLIANCE")
	h.Set("X-Amz-Object-Lock-Retain-Until-Date", now.AddDate(0, 0, s.days).Format(time.RFC3339))
	sign(req, hex.EncodeToString(sum[:]), s.cfg.Store, s.region, now)
	resp, _, err := s.do(req, receiptCap)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer{Date: resp.Header.Get("Date"), ETag: resp.Header.Get("ETag"),
		Version: resp.Header.Get("X-Amz-Version-Id")})
}
