// SPDX-License-Identifier: GPL-2.0-or-later

// A verifier, and witnesses, that share no code with bwlimit: Go's sumdb/note and sumdb/tlog. Built by
// tests/netns/proof_test.sh.
//
//	tlog_check proof FILE LOG-KEY RECORD [K WITNESS-KEY…]   a c2sp.org/tlog-proof of the bytes of RECORD
//	tlog_check tiles DIR LOG-KEY                            a c2sp.org/tlog-tiles folder: every hash, and record
//	tlog_check grown DIR LOG-KEY OLD-CHECKPOINT             the tree of DIR begins with an older one
//	tlog_check entry DIR N                                  record N of DIR
//	tlog_check key NAME                                     the key of the witness of that name
//	tlog_check cosign NAME CHECKPOINT                       its line (c2sp.org/tlog-cosignature)
//
// A key is a file, or its text.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "tlog_check:", err)
		os.Exit(1)
	}
	return v
}

func fail(format string, args ...any) { must(0, fmt.Errorf(format, args...)) }

func keyText(s string) string {
	if b, err := os.ReadFile(s); err == nil {
		s = string(b)
	}
	return strings.TrimSpace(s)
}

// What a witness signs: a time, and the text.
func cosigned(time uint64, text []byte) []byte {
	return append([]byte(fmt.Sprintf("cosignature/v1\ntime %d\n", time)), text...)
}

func keyID(name string, key []byte) uint32 {
	h := sha256.Sum256(append([]byte(name+"\n"), key...))
	return binary.BigEndian.Uint32(h[:])
}

type witness struct {
	name string
	key  ed25519.PublicKey
}

func (w witness) Name() string    { return w.name }
func (w witness) KeyHash() uint32 { return keyID(w.name, append([]byte{4}, w.key...)) }
func (w witness) Verify(msg, sig []byte) bool {
	return len(sig) == 8+ed25519.SignatureSize &&
		ed25519.Verify(w.key, cosigned(binary.BigEndian.Uint64(sig), msg), sig[8:])
}

func parseWitness(s string) witness {
	part := strings.SplitN(keyText(s), "+", 3)
	if len(part) != 3 {
		fail("not a key: %s", s)
	}
	raw := must(base64.StdEncoding.DecodeString(part[2]))
	if len(raw) != 33 || raw[0] != 4 {
		fail("not a witness's key: %s", s)
	}
	w := witness{part[0], raw[1:]}
	if fmt.Sprintf("%08x", w.KeyHash()) != part[1] {
		fail("a key with another id: %s", s)
	}
	return w
}

func secretOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("a witness of tests " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// A checkpoint that the log has signed, and how many of the witnesses.
func open(text []byte, logKey string, witnesses []string) (tlog.Tree, int) {
	log := must(note.NewVerifier(keyText(logKey)))
	known := []note.Verifier{log}
	for _, w := range witnesses {
		known = append(known, parseWitness(w))
	}
	n := must(note.Open(text, note.VerifierList(known...)))
	byLog := false
	for _, s := range n.Sigs {
		byLog = byLog || s.Name == log.Name() && s.Hash == log.KeyHash()
	}
	line := strings.Split(n.Text, "\n")
	if !byLog || len(line) < 4 || line[0] != log.Name() {
		fail("not a checkpoint of %s", log.Name())
	}
	size := must(strconv.ParseInt(line[1], 10, 64))
	return tlog.Tree{N: size, Hash: must(tlog.ParseHash(line[2]))}, len(n.Sigs) - 1
}

func checkProof(file, logKey, record string, demanded []string) {
	text := must(os.ReadFile(file))
	data := bytes.TrimSuffix(must(os.ReadFile(record)), []byte("\n"))
	head, checkpoint, ok := bytes.Cut(text, []byte("\n\n"))
	line := strings.Split(string(head), "\n")
	if !ok || line[0] != "c2sp.org/tlog-proof@v1" {
		fail("not a proof")
	}
	line = line[1:]
	if len(line) > 0 && strings.HasPrefix(line[0], "extra ") {
		line = line[1:]
	}
	if len(line) == 0 || !strings.HasPrefix(line[0], "index ") {
		fail("no index")
	}
	index := must(strconv.ParseInt(line[0][len("index "):], 10, 64))
	var proof tlog.RecordProof
	for _, l := range line[1:] {
		proof = append(proof, must(tlog.ParseHash(l)))
	}
	k := 0
	if len(demanded) > 0 {
		k = must(strconv.Atoi(demanded[0]))
		demanded = demanded[1:]
	}
	tree, have := open(checkpoint, logKey, demanded)
	if have < k {
		fail("cosigned by %d, not %d", have, k)
	}
	if index >= tree.N {
		fail("record %d is not in a tree of %d", index, tree.N)
	}
	must(0, tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(data)))
	fmt.Printf("record %d of %d, %d cosignatures\n", index, tree.N, have)
}

// Tiles on disk: of 8 levels each, so without that number in the path.
type folder string

func (f folder) Height() int                                { return 8 }
func (f folder) SaveTiles(tiles []tlog.Tile, data [][]byte) {}
func (f folder) path(t tlog.Tile) string {
	return filepath.Join(string(f), strings.Replace(t.Path(), "tile/8/", "tile/", 1))
}
func (f folder) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, t := range tiles {
		data, err := os.ReadFile(f.path(t))
		if errors.Is(err, os.ErrNotExist) && t.W < 256 {
			whole := t
			whole.W = 256
			data, err = os.ReadFile(f.path(whole))
			if err == nil {
				data = data[:t.W*tlog.HashSize]
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

func (f folder) open(logKey string) (tlog.Tree, tlog.HashReader) {
	tree, _ := open(must(os.ReadFile(filepath.Join(string(f), "checkpoint"))), logKey, nil)
	return tree, tlog.TileHashReader(tree, f)
}

// The records of a bundle; nil: it is not there.
func (f folder) bundle(n int64, width int) [][]byte {
	t := tlog.Tile{H: 8, L: 0, N: n, W: width}
	path := strings.Replace(f.path(t), "/tile/0/", "/tile/entries/", 1)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must(0, err)
	var all [][]byte
	for len(data) > 0 {
		if len(data) < 2 || len(data)-2 < int(binary.BigEndian.Uint16(data)) {
			fail("%s is cut", path)
		}
		size := 2 + int(binary.BigEndian.Uint16(data))
		all = append(all, data[2:size])
		data = data[size:]
	}
	if len(all) != width {
		fail("%s has %d records", path, len(all))
	}
	return all
}

func checkTiles(dir, logKey string) {
	f := folder(dir)
	tree, hashes := f.open(logKey)
	records, lacking := 0, 0
	for first := int64(0); first < tree.N; first += 256 {
		width := 256
		if tree.N-first < 256 {
			width = int(tree.N - first)
		}
		entries := f.bundle(first/256, width)
		for i := int64(0); i < int64(width); i++ {
			n := first + i
			leaf := must(hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, n)}))[0]
			if entries != nil && tlog.RecordHash(entries[i]) != leaf {
				fail("record %d is not the one that is hashed", n)
			}
			proof := must(tlog.ProveRecord(tree.N, n, hashes))
			must(0, tlog.CheckRecord(proof, tree.N, tree.Hash, n, leaf))
			if entries != nil {
				records++
			} else {
				lacking++
			}
		}
	}
	fmt.Printf("%d records proved, %d by their hash alone\n", records, lacking)
}

func checkGrown(dir, logKey, old string) {
	before, _ := open(must(os.ReadFile(old)), logKey, nil)
	tree, hashes := folder(dir).open(logKey)
	proof := must(tlog.ProveTree(tree.N, before.N, hashes))
	must(0, tlog.CheckTree(proof, tree.N, tree.Hash, before.N, before.Hash))
	fmt.Printf("%d begin with %d\n", tree.N, before.N)
}

func printEntry(dir, number string) {
	n := must(strconv.ParseInt(number, 10, 64))
	for width := 256; width > int(n%256); width-- {
		if all := folder(dir).bundle(n/256, width); all != nil {
			fmt.Printf("%s\n", all[n%256])
			return
		}
	}
	fail("record %d is not in %s", n, dir)
}

func cosign(name, file string) {
	text := must(os.ReadFile(file))
	end := bytes.LastIndex(text, []byte("\n\n"))
	if end < 0 {
		fail("%s is no note", file)
	}
	const time = 1790000000
	secret := secretOf(name)
	w := witness{name, secret.Public().(ed25519.PublicKey)}
	sig := binary.BigEndian.AppendUint32(nil, w.KeyHash())
	sig = binary.BigEndian.AppendUint64(sig, time)
	sig = append(sig, ed25519.Sign(secret, cosigned(time, text[:end+1]))...)
	fmt.Printf("— %s %s\n", name, base64.StdEncoding.EncodeToString(sig))
}

func main() {
	a := append(os.Args[1:], make([]string, 5)...)
	switch n := len(os.Args) - 1; {
	case a[0] == "proof" && (n == 4 || n > 5):
		checkProof(a[1], a[2], a[3], os.Args[5:])
	case a[0] == "tiles" && n == 3:
		checkTiles(a[1], a[2])
	case a[0] == "grown" && n == 4:
		checkGrown(a[1], a[2], a[3])
	case a[0] == "entry" && n == 3:
		printEntry(a[1], a[2])
	case a[0] == "key" && n == 2:
		key := append([]byte{4}, secretOf(a[1]).Public().(ed25519.PublicKey)...)
		fmt.Printf("%s+%08x+%s\n", a[1], keyID(a[1], key), base64.StdEncoding.EncodeToString(key))
	case a[0] == "cosign" && n == 3:
		cosign(a[1], a[2])
	default:
		fmt.Fprintln(os.Stderr, "Usage: see the head of tlog_check.go")
		os.Exit(2)
	}
}
