package anchor

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"time"
)

var (
	oidSHA256     = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidSignedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidTSTInfo    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
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

// Verify reads an authority's answer, a TimeStampResp: it must have been granted, for that hash, and
// with the nonce unless that is nil. It returns the time in it. The signature is not checked: that
// needs the authority's certificate (docs/evidence.md).
func Verify(answer []byte, h Hash, nonce *big.Int) (at time.Time, err error) {
	var resp struct {
		Status struct {
			Status int
			Text   asn1.RawValue `asn1:"optional"`
		}
		Token asn1.RawValue `asn1:"optional"`
	}
	if rest, err := asn1.Unmarshal(answer, &resp); err != nil || len(rest) > 0 {
		return at, errors.New("it is not the answer of a time-stamp authority")
	}
	const granted, grantedWithMods = 0, 1
	if s := resp.Status.Status; s != granted && s != grantedWithMods {
		return at, fmt.Errorf("the authority refused: status %d", s)
	}
	info, err := infoOf(resp.Token.FullBytes)
	switch {
	case err != nil:
		return at, err
	case !info.Imprint.Algorithm.Algorithm.Equal(oidSHA256) || !bytes.Equal(info.Imprint.Message, h[:]):
		return at, errors.New("it is the time stamp of another hash")
	case nonce != nil && (info.Nonce == nil || info.Nonce.Cmp(nonce) != 0):
		return at, errors.New("it is the answer to another request")
	}
	return info.At, nil
}

// infoOf takes the TSTInfo out of a token, which is CMS SignedData.
func infoOf(token []byte) (info tstInfo, err error) {
	var content struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"explicit,tag:0"`
	}
	var signed struct {
		Version int
		Digests asn1.RawValue
		Encap   struct {
			Type    asn1.ObjectIdentifier
			Content []byte `asn1:"explicit,tag:0"`
		}
	}
	if _, err := asn1.Unmarshal(token, &content); err != nil || !content.Type.Equal(oidSignedData) {
		return info, errors.New("there is no time stamp in the answer")
	}
	if _, err := asn1.Unmarshal(content.Content.Bytes, &signed); err != nil {
		return info, errors.New("the time stamp cannot be read")
	}
	if !signed.Encap.Type.Equal(oidTSTInfo) {
		return info, errors.New("what was signed is no time stamp")
	}
	if _, err := asn1.Unmarshal(signed.Encap.Content, &info); err != nil {
		return info, errors.New("the time stamp cannot be read")
	}
	return info, nil
}
