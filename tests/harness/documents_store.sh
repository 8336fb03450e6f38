# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A lab whose bwlimitd takes signed documents by a real etcd and the real bwlimit-sync, as tray-7. Source it after
# tap.sh, lab.sh and lab_up; then documents_store_up. ETCD_N: so many members, one if it is not set; AT: the one that is
# published at. Debian's etcd has known holes: --accept-etcd-holes.

# shellcheck source=people.sh
. "$LAB_HERE/people.sh"
# shellcheck source=signed_documents.sh
. "$LAB_HERE/signed_documents.sh"
ETCD_DIR=$LAB_TMP/etcd PREFIX=/bwl/v1 ETCD_N=${ETCD_N:-1}
mkdir "$ETCD_DIR"
# shellcheck source=etcd.sh
. "$LAB_HERE/etcd.sh"
SYNC_PID=
documents_store_finish() {
	[[ -z $SYNC_PID ]] || kill "$SYNC_PID"
	etcd_down
	lab_down
} 2>/dev/null
trap documents_store_finish EXIT

publish() { # KIND NAME, what is signed
	in_net "$LAB_BUILD/tests/harness/bwl-store" "$(etcd_url "${AT:-1}")" "$ETCD_DIR/pki/ca.pem" "$ETCD_DIR/pki/root.pem" \
		"$ETCD_DIR/pki/root.key" "$PREFIX" publish - "$@" <"$FLEET/$2" >/dev/null
}
sync_up() {
	[[ -z $SYNC_PID ]] || { kill "$SYNC_PID"; wait "$SYNC_PID"; } 2>/dev/null
	local i urls=
	for ((i = 1; i <= ETCD_N; i++)); do urls+=${urls:+,}$(etcd_url "$i"); done
	nsenter --net="/run/netns/$(etcd_ns net)" "$LAB_BUILD/sync/bwlimit-sync" --servers "$urls" --tray tray-7 \
		--ca "$ETCD_DIR/pki/ca.pem" --cert "$ETCD_DIR/pki/tray-7.pem" --key "$ETCD_DIR/pki/tray-7.key" \
		--agent "$SOCKET" --accept-etcd-holes --json >>"$LAB_TMP/sync" 2>&1 &
	SYNC_PID=$!
}
time_published() { sign timestamp time controller <<<'{}' && publish timestamp time; }
documents_store_up() { # enrolled, with a first signed time in the store
	docs_begin || exit 1
	check "control: etcd is up" eval 'etcd_up >/dev/null && etcd_auth >/dev/null && etcd_tray tray-7 >/dev/null'
	"$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" >/dev/null 2>&1
	sync_up
	time_published
}
