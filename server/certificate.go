package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// certificateLife is how long a certificate of the daemon is valid. Clients that pin it
// compare its fingerprint, so it need not be renewed for safety.
const certificateLife = 10 * 365 * 24 * time.Hour

// ownCertificate returns the certificate in a file that only its owner can read, or
// creates it: self-signed, for clients that know its fingerprint or use CertificatePath
// as their authority. host is the address of the daemon.
func ownCertificate(path, host string, now time.Time) (tls.Certificate, error) {
	text, err := trustedfile.ReadSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeCertificate(path, host, now)
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read certificate: %w", err)
	}
	cert, err := tls.X509KeyPair(text, text)
	if err != nil {
		return tls.Certificate{}, workflow.Errorf(workflow.CodeCorrupt, "certificate in %s: %v", path, err).
			WithHint("delete the file; a new certificate is created when the daemon starts")
	}
	if now.After(cert.Leaf.NotAfter) || cert.Leaf.VerifyHostname(host) != nil {
		return makeCertificate(path, host, now)
	}
	return cert, nil
}

// CertificatePath returns the file with the public half of a certificate file, for
// programs that accept authorities to trust.
func CertificatePath(path string) string { return strings.TrimSuffix(path, ".pem") + "-cert.pem" }

// makeCertificate creates a certificate and writes it and its key to path.
func makeCertificate(path, host string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "torc-slurm daemon"},
		DNSNames:     []string{"torc-slurm"},
		NotBefore:    now.Add(-24 * time.Hour), // clocks of nodes differ
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// It is its own authority, for programs that are given CertificatePath.
		IsCA: true, BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create certificate: %w", err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), public...)
	if err := trustedfile.Write(path, text, 0o600); err != nil {
		return tls.Certificate{}, err
	}
	if err := trustedfile.Write(CertificatePath(path), public, 0o600); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(text, text)
}

// fingerprint returns the SHA-256 of a certificate in hexadecimal.
func fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return hex.EncodeToString(sum[:])
}
