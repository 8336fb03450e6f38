# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A lab whose bwlimitd gets signed documents (signed_documents.sh) through a real etcd and the real bwlimit-sync, as tray-7. Source
# it first: it skips the test if there is no etcd; then documents_store_up. ETCD_N: number of members (1); MEMBER: the one to
# publish at; SYNC: another bwlimit-sync. Debian's etcd has known vulnerabilities: --accept-etcd-holes.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
etcd_wanted
# shellcheck source=../harness/signed_documents.sh
. "$here/signed_documents.sh"
ETCD_DIR=$LAB_TMP/etcd PREFIX=/bwl/v1 ETCD_N=${ETCD_N:-1}
mkdir "$ETCD_DIR"
# shellcheck source=../harness/etcd.sh
. "$LAB_HERE/etcd.sh"
SYNC_PID=
documents_store_finish() {
	[[ -z $SYNC_PID ]] || kill "$SYNC_PID"
	etcd_down
	lab_down
} 2>/dev/null
trap documents_store_finish EXIT

publish() { etcd_publish - "$@" <"$FLEET/$2"; } # KIND NAME, what is signed
sync_up() {
	[[ -z $SYNC_PID ]] || { kill "$SYNC_PID"; wait "$SYNC_PID"; } 2>/dev/null
	local urls
	urls=$(etcd_urls)
	nsenter --net="/run/netns/$(etcd_ns net)" "${SYNC:-$LAB_BUILD/sync/bwlimit-sync}" --servers "$urls" --tray tray-7 --prefix "$PREFIX" \
		--ca "$ETCD_DIR/pki/ca.pem" --cert "$ETCD_DIR/pki/tray-7.pem" --key "$ETCD_DIR/pki/tray-7.key" \
		--agent "$SOCKET" --accept-etcd-holes --json >>"$LAB_TMP/sync" 2>&1 &
	SYNC_PID=$!
}
enrolment_put() { etcdctl_as root put "$PREFIX/node/tray-7/in/doc/enrolment/tray-7" <"$FLEET/enrolment" >/dev/null; }
time_published() { sign timestamp time controller <<<'{}' && publish timestamp time; }
documents_store_up() { # enrols the tray, and puts a first signed time into the store
	docs_begin || exit 1
	check "control: etcd is up" eval 'etcd_up >/dev/null && etcd_auth >/dev/null && etcd_tray tray-7 >/dev/null'
	docs_enrol
	sync_up
	time_published
}
