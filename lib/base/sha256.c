// SPDX-License-Identifier: GPL-2.0-or-later
/* See sha256.h. */
#include <bwl/sha256.h>
#include <threads.h>

static EVP_MD *fetched;

static void fetch(void)
{
	fetched = EVP_MD_fetch(NULL, "SHA2-256", NULL);
}

const EVP_MD *bwl_sha256(void)
{
	static once_flag once = ONCE_FLAG_INIT;

	call_once(&once, fetch);
	return fetched ? fetched : EVP_sha256();
}
