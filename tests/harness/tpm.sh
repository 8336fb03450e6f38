# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# A TPM 2.0 (swtpm) for the tools of the lab: source lab.sh, call tpm_begin after lab_up.

tpm_begin() {
	TPM=$LAB_TMP/tpm
	export BWLIMIT_TPM_TCTI=swtpm:path=$TPM/sock
	mkdir "$TPM"
	tpm_up
}
tpm_up() {
	lab_bg swtpm dpu swtpm socket --tpm2 --tpmstate "dir=$TPM" --flags not-need-init,startup-clear \
		--server "type=unixio,path=$TPM/sock" --ctrl "type=unixio,path=$TPM/sock.ctrl"
	TPM_PID=$LAB_PID
	lab_wait_for 20 test -S "$TPM/sock.ctrl"
}
tpm_down() {
	kill -KILL "$TPM_PID"
	wait "$TPM_PID" 2>/dev/null
	rm -f "$TPM"/sock*
}
# What bwlimitd has logged to $LAB_TMP/agent.
said() { grep -q "\"level\":\"$1\".*\"event\":\"$2\".*$3" "$LAB_TMP/agent"; }
