// Command prepare makes what the control plane of one test run needs before it starts: a CA, a serving certificate for
// loopback signed by it, a key pair for service account tokens, and ports that nothing listens on.
//
//	prepare DIR    -> ca.crt, server.crt, server.key, sa.key, sa.pub; prints six ports
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: prepare DIR")
		os.Exit(2)
	}
	ports, err := freePorts(6)
	if err == nil {
		err = write(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Trim(fmt.Sprint(ports), "[]"))
}

// freePorts finds ports on loopback below those that systems hand to outgoing connections: a server that is stopped
// and started again finds its port still free.
func freePorts(n int) ([]int, error) {
	var ports []int
	for attempt := 0; attempt < 1000 && len(ports) < n; attempt++ {
		port := 16384 + rand.IntN(32768-16384)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close() // all at once at the end, so that no port comes twice
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("no %d free ports on 127.0.0.1", n)
	}
	return ports, nil
}

func write(dir string) error {
	// Clocks of machines that were asleep: valid since yesterday.
	from, until := time.Now().Add(-24*time.Hour), time.Now().Add(365*24*time.Hour)
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "phaseline-test-ca"},
		NotBefore:             from,
		NotAfter:              until,
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:    from,
		NotAfter:     until,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1)},
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return err
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return err
	}
	accountKey, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return err
	}
	caCert, err := x509.CreateCertificate(crand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	serverCert, err := x509.CreateCertificate(crand.Reader, server, ca, &serverKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	serverDER, err := x509.MarshalECPrivateKey(serverKey)
	if err != nil {
		return err
	}
	accountDER, err := x509.MarshalECPrivateKey(accountKey)
	if err != nil {
		return err
	}
	accountPub, err := x509.MarshalPKIXPublicKey(&accountKey.PublicKey)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name, kind string
		der        []byte
	}{
		{"ca.crt", "CERTIFICATE", caCert},
		{"server.crt", "CERTIFICATE", serverCert},
		{"server.key", "EC PRIVATE KEY", serverDER},
		{"sa.key", "EC PRIVATE KEY", accountDER},
		{"sa.pub", "PUBLIC KEY", accountPub},
	} {
		text := pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der})
		if err := os.WriteFile(filepath.Join(dir, f.name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
