package anchor

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // older authorities name their certificate by it
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/smallstep/pkcs7"
)

var (
	oidSHA256        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidTSTInfo       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidSigningCert   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
	oidSigningCertV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
)

// imprint is a MessageImprint (RFC 3161 §2.4.1).
type imprint struct {
	Algorithm pkix.AlgorithmIdentifier
	Message   []byte
}

// Request is a TimeStampReq for a hash: the time-stamp authority's certificate is asked for.
func Request(h Hash, nonce *big.Int) ([]byte, error) {
	return asn1.Marshal(struct {
		Version int
		Imprint imprint
		Nonce   *big.Int
		CertReq bool
	}{1, imprint{pkix.AlgorithmIdentifier{Algorithm: oidSHA256, Parameters: asn1.NullRawValue}, h[:]}, nonce, true})
}

// tstInfo is a TSTInfo (RFC 3161 §2.4.2) up to the nonce.
type tstInfo struct {
	Version  int
	Policy   asn1.ObjectIdentifier
	Imprint  imprint
	Serial   *big.Int
	At       time.Time `asn1:"generalized"`
	Accuracy accuracy  `asn1:"optional"`
	Ordering bool      `asn1:"optional"`
	Nonce    *big.Int  `asn1:"optional"`
}

type accuracy struct {
	Seconds int `asn1:"optional"`
	Millis  int `asn1:"optional,tag:0"`
	Micros  int `asn1:"optional,tag:1"`
}

// Stamp is what a time stamp says.
type Stamp struct {
	At time.Time
	// Signer is the SHA-256 of the certificate that it was signed with.
	Signer Hash
}

// Verify reads an authority's answer, a TimeStampResp: it must have been granted, for that hash, with the
// nonce unless that is nil, and signed with a certificate for time stamps that comes with it. With roots
// unless nil, they must vouch for the certificate as of the stamp's time; without, whoever trusts the
// certificate may trust the stamp.
func Verify(answer []byte, h Hash, nonce *big.Int, roots *x509.CertPool) (stamp Stamp, err error) {
	var resp struct {
		Status struct {
			Status int
			Text   asn1.RawValue `asn1:"optional"`
		}
		Token asn1.RawValue `asn1:"optional"`
	}
	if rest, err := asn1.Unmarshal(answer, &resp); err != nil || len(rest) > 0 {
		return stamp, errors.New("it is not the answer of a time-stamp authority")
	}
	const granted, grantedWithMods = 0, 1
	if s := resp.Status.Status; s != granted && s != grantedWithMods {
		return stamp, fmt.Errorf("the authority refused: status %d", s)
	}
	token, err := pkcs7.Parse(resp.Token.FullBytes)
	if err != nil {
		return stamp, errors.New("there is no time stamp in the answer")
	}
	var info tstInfo
	if _, err := asn1.Unmarshal(token.Content, &info); err != nil {
		return stamp, errors.New("the time stamp cannot be read")
	}
	switch {
	case !info.Imprint.Algorithm.Algorithm.Equal(oidSHA256) || !bytes.Equal(info.Imprint.Message, h[:]):
		return stamp, errors.New("it is the time stamp of another hash")
	case nonce != nil && (info.Nonce == nil || info.Nonce.Cmp(nonce) != 0):
		return stamp, errors.New("it is the answer to another request")
	}
	signer, err := signerOf(token)
	if err != nil {
		return stamp, err
	}
	if roots == nil {
		roots = x509.NewCertPool()
		roots.AddCert(signer)
	}
	others := x509.NewCertPool()
	for _, c := range token.Certificates {
		others.AddCert(c)
	}
	if _, err := signer.Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, CurrentTime: info.At,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}}); err != nil {
		return stamp, fmt.Errorf("nobody among the trusted vouches for its certificate as of %s: %w",
			info.At.UTC().Format(time.RFC3339), err)
	}
	return Stamp{info.At, sha256.Sum256(signer.Raw)}, nil
}

// SignerOf is the certificate that a receipt was signed with, if it is a time stamp whose signature is
// right; the zero hash if not.
func SignerOf(r *Receipt) Hash {
	if r.Kind != TimeStamp {
		return Hash{}
	}
	stamp, _ := Verify(r.Data, r.Hash, nil, nil)
	return stamp.Signer
}

// signerOf checks the signature of a token, and that it names the certificate that it was made with.
func signerOf(token *pkcs7.PKCS7) (*x509.Certificate, error) {
	signer := token.GetOnlySigner()
	if signer == nil {
		return nil, errors.New("the certificate that signed it is not with it")
	}
	if err := token.Verify(); err != nil {
		return nil, fmt.Errorf("it is not as it was signed: %w", err)
	}
	var what asn1.ObjectIdentifier
	if err := token.UnmarshalSignedAttribute(pkcs7.OIDAttributeContentType, &what); err != nil ||
		!what.Equal(oidTSTInfo) {
		return nil, errors.New("what was signed is no time stamp")
	}
	// RFC 5816 §2.2.1: SigningCertificateV2, or the older SigningCertificate with SHA-1.
	var v2 struct{ Certs []essCertIDv2 }
	if err := token.UnmarshalSignedAttribute(oidSigningCertV2, &v2); err == nil {
		if len(v2.Certs) > 0 && v2.Certs[0].names(signer.Raw) {
			return signer, nil
		}
		return nil, errOtherSigner
	}
	var v1 struct{ Certs []essCertID }
	sum := sha1.Sum(signer.Raw) //nolint:gosec // the signature itself is checked with the algorithm of the certificate
	if err := token.UnmarshalSignedAttribute(oidSigningCert, &v1); err != nil || len(v1.Certs) == 0 ||
		!bytes.Equal(v1.Certs[0].Hash, sum[:]) {
		return nil, errOtherSigner
	}
	return signer, nil
}

var errOtherSigner = errors.New("it names another certificate than the one that signed it")

type essCertID struct {
	Hash   []byte
	Issuer asn1.RawValue `asn1:"optional"`
}

// essCertIDv2 is an ESSCertIDv2 (RFC 5035 §4); its algorithm is SHA-256 unless it says so.
type essCertIDv2 struct {
	Algorithm pkix.AlgorithmIdentifier `asn1:"optional"`
	Hash      []byte
	Issuer    asn1.RawValue `asn1:"optional"`
}

func (id *essCertIDv2) names(cert []byte) bool {
	var sum []byte
	switch oid := id.Algorithm.Algorithm; {
	case len(oid) == 0 || oid.Equal(oidSHA256):
		h := sha256.Sum256(cert)
		sum = h[:]
	case oid.Equal(pkcs7.OIDDigestAlgorithmSHA384):
		h := sha512.Sum384(cert)
		sum = h[:]
	case oid.Equal(pkcs7.OIDDigestAlgorithmSHA512):
		h := sha512.Sum512(cert)
		sum = h[:]
	}
	return bytes.Equal(id.Hash, sum)
}
